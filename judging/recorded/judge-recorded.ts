/**
 * Judges recorded traffic in one pass. Each exchange joins the groups in which rules can be judged
 * (`recorded-rules.ts`), and the judges of the harness look at each group as if it were a case.
 * What came before the recording is unknown. Exchanges may also be missing, except with
 * `--traffic-complete`.
 */
import { lacksBody, type TrafficEvent, type TrafficExchange } from '#contract/exchange.ts';
import { type RuleId, rules } from '#contract/rules.ts';
import { minuteMs } from '#contract/time.ts';
import { grouped } from '#io/grouped.ts';
import { type Ahead, around } from '../evidence/clock-offset.ts';
import {
  type Exchange,
  isMessageSend,
  isSend,
  messageIdOf,
  requestIdOf,
} from '../evidence/exchange.ts';
import { judges } from '../service/all.ts';
import { Lacking, type RuleBroken } from '../service/expectations.ts';
import { Findings, type Judge, type Recorded } from '../service/judge.ts';
import { Buckets, byOneClock, Groups, GroupTraces, inOrder } from './groups.ts';
import { TrafficKnowledge } from './knowledge.ts';
import type { Observations } from './observations.ts';
import { type GroupKind, type RecordedRule, recordedRules } from './recorded-rules.ts';

/** What all groups together show about a rule. */
export interface RuleFinding {
  /** How often the rule applied and held. */
  exercised: number;
  /** True if an exchange was about the rule, even if it decided nothing. */
  isTouched?: boolean;
  /** The failure with the shortest proof. */
  broken?: RuleBroken;
  /** The exchanges that prove the failure. */
  proof: readonly Exchange[];
  /** Why a group could not be judged, as a phrase: what it would need. */
  missing?: string | undefined;
}

export interface TrafficOptions {
  /** True if the files hold all traffic of their accounts and addresses. */
  readonly isComplete: boolean;
  /** Lists of keys; the keys of a list belong to one account. */
  readonly joined: readonly (readonly string[])[];
  readonly rules: readonly RuleId[];
  /** Observes each exchange, and the groups of messages and of request ids. */
  readonly observations?: Observations;
}

/** Rules that share a filter (`fits`), and so a trace. */
type RulesOfFilter = Omit<RecordedRule, 'group'> & {
  readonly rules: { readonly judge: Judge; readonly finding: RuleFinding }[];
};

/** Whether a message of this length is too long depends on the unit of length (SEND-6). */
const longMessage = 1_400;
const mostLongSends = 1_000;
/** If clocks may differ by more, a bucket may be judged before the other clock's part of it is read. */
const mostSpreadMs = minuteMs;

export class TrafficJudge {
  readonly findings = new Map<RuleId, RuleFinding>();
  exchanges = 0;
  throttled = 0;
  readonly #options: TrafficOptions;
  readonly #knowledge: TrafficKnowledge;
  readonly #rulesOf: Readonly<Record<GroupKind, RulesOfFilter[]>> = {
    message: [],
    request_id: [],
    bucket: [],
    long: [],
  };
  readonly #messages = new Groups((group) => this.#judge('message', group));
  readonly #requestIds = new Groups((group) => this.#judge('request_id', group));
  readonly #buckets = new Buckets((bucket, since, isFlood) =>
    this.#judge('bucket', bucket, since, isFlood),
  );
  readonly #longSends: Exchange[] = [];
  /** What a judge finds of one group; cleared for each rule. */
  readonly #found = new Findings();
  #firstHost: string | undefined;
  /** When the first exchange of the recording was sent. */
  #knownSince = Number.POSITIVE_INFINITY;
  /** The bounds of how far the recorder's date differed from its steady clock. */
  #dateShift: Ahead | undefined;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#knowledge = new TrafficKnowledge(options.joined);
    for (const { id } of rules) if (options.rules.includes(id)) this.#addRule(id);
  }

  #addRule(id: RuleId): void {
    const rule = recordedRules[id];
    if (rule === undefined || (rule.needsAll && !this.#options.isComplete)) return;
    const finding: RuleFinding = { exercised: 0, proof: [] };
    this.findings.set(id, finding);
    const ofGroup = this.#rulesOf[rule.group];
    const byFilter = ofGroup.find(({ fits }) => fits === rule.fits);
    if (byFilter === undefined) ofGroup.push({ ...rule, rules: [{ judge: judges[id], finding }] });
    else byFilter.rules.push({ judge: judges[id], finding });
  }

  /** Keys that `joined` names and that are not in the traffic. */
  get unseenKeys(): ReadonlySet<string> {
    return this.#knowledge.unseen;
  }

  /** Takes the next line of the recording; `cut` means that exchanges are missing here. */
  take(event: TrafficEvent): void {
    if (event === 'cut') {
      this.#judgeOpen();
      this.#knownSince = Number.POSITIVE_INFINITY;
      this.#dateShift = undefined;
      return;
    }
    this.exchanges++;
    // An injected fault is not a reply of the service.
    if (event.isForced) return;
    const exchange = this.#knowledge.exchangeOf(event);
    if (exchange.reply.status === 429) this.throttled++;
    this.#noteTimes(event);
    if (exchange.endpoint !== undefined) this.#knowledge.noteAccount(exchange);
    // Like a request without a reply, a copy may have spent a token or not.
    const spender = event.mayBeCopy
      ? this.#knowledge.exchangeOf({ ...event, isScripted: true })
      : exchange;
    this.#buckets.add(event.host, spender, this.#knownSince);
    if (!isWhole(event)) return;
    this.#options.observations?.note(exchange);
    this.#addToMessages(event.host, exchange);
    this.#addToRequestIds(event.host, exchange);
    const text = exchange.fields?.['message'];
    const isLong = typeof text === 'string' && text.length > longMessage;
    if (isLong && this.#longSends.length < mostLongSends) this.#longSends.push(exchange);
  }

  #noteTimes({ dateShiftMs = 0, sentAt }: TrafficExchange): void {
    this.#dateShift = around(this.#dateShift, { least: dateShiftMs, most: dateShiftMs });
    this.#knownSince = Math.min(this.#knownSince, sentAt);
  }

  /** The name with its host before it, unless that is the first: most recordings have only one. */
  #nameAt(host: string, name: string): string {
    this.#firstHost ??= host;
    return host === this.#firstHost ? name : `${host} ${name}`;
  }

  #addToMessages(host: string, exchange: Exchange): void {
    const { endpoint, id, reply } = exchange;
    if (endpoint === 'tasks') {
      for (const taskId of idsIn(reply.text))
        this.#messages.add(this.#nameAt(host, taskId), exchange);
    }
    const readId = endpoint === 'read' ? id : undefined;
    const messageId = isSend(exchange) ? messageIdOf(exchange) : readId;
    // A send whose reply has no id shows 'nothing'.
    if (messageId === undefined || messageId === 'nothing') this.#judge('message', [exchange]);
    else this.#messages.add(this.#nameAt(host, messageId.toLowerCase()), exchange);
  }

  #addToRequestIds(host: string, exchange: Exchange): void {
    const { caller, headers } = exchange;
    const id = requestIdOf(exchange);
    if (!isMessageSend(exchange) || id === undefined) return;
    const owner = headers['authorization'] ?? caller.account;
    const prefix = caller.account === undefined ? 'unknown' : '';
    // Only the id may have a line break.
    this.#requestIds.add(this.#nameAt(host, `${prefix}${owner}\n${id}`), exchange);
  }

  /** Judges what is still open. Files whose clocks cannot be compared do not show who spent first. */
  end(): void {
    this.#judgeOpen();
    if (this.#knowledge.clocks.spreadMs <= mostSpreadMs) return;
    const missing = 'needs files whose clocks agree to a minute, as `Date` and `created_at` show';
    for (const id of this.findings.keys())
      if (recordedRules[id]?.needsAll) this.findings.set(id, { exercised: 0, proof: [], missing });
  }

  #judgeOpen(): void {
    this.#buckets.endAll();
    this.#messages.endAll();
    this.#requestIds.endAll();
    this.#judge('long', inOrder(this.#longSends.splice(0)));
  }

  /** Judges a group by all rules of its kind. `isFlood`: see `Buckets`. */
  #judge(
    kind: GroupKind,
    group: readonly Exchange[],
    since = this.#knownSince,
    isFlood = false,
  ): void {
    if (group.length === 0) return;
    if (kind === 'message' || kind === 'request_id') this.#options.observations?.noteGroup(group);
    const { clocks } = this.#knowledge;
    const knownSince = since + clocks.spreadMs;
    const clock = group[0]?.clock;
    if (group.every((one) => one.clock === clock))
      this.#judgeByOneClock(kind, group, knownSince, !isFlood);
    else {
      // What one clock shows is exact; of several, the times are as wide as the clocks may differ.
      for (const part of grouped(group, (one) => one.clock ?? '').values())
        this.#judgeByOneClock(kind, part, knownSince, false);
      this.#judgeByOneClock(kind, byOneClock(group, clocks), knownSince, !isFlood);
    }
  }

  #judgeByOneClock(
    kind: GroupKind,
    group: readonly Exchange[],
    since: number,
    isWhole: boolean,
  ): void {
    const traces = new GroupTraces(group, since, this.#recorded(group[0]?.clock, isWhole));
    for (const { fits, needsAll, rules: rulesOfFilter } of this.#rulesOf[kind]) {
      if (needsAll && !isWhole) continue;
      const trace = traces.of(fits);
      if (trace === undefined) continue;
      for (const { judge, finding } of rulesOfFilter) {
        this.#found.clear();
        judge(trace, this.#found);
        addTo(finding, this.#found);
      }
    }
  }

  /** What is known so far of the recording's completeness. */
  #recorded(clock: string | undefined, isWhole: boolean): Recorded {
    return {
      ahead: this.#knowledge.clocks.of(clock).ahead,
      isComplete: this.#options.isComplete && isWhole,
      isOneAccount: this.#knowledge.isOneAccount,
      spanErrorMs: this.#dateShift === undefined ? 0 : this.#dateShift.most - this.#dateShift.least,
    };
  }
}

/** True if an exchange shows what any rule but a limit needs: its body, its end and its wait. */
function isWhole(event: TrafficExchange): boolean {
  const lacksWait = event.reply?.lacksHeaders === true && event.reply.status === 429;
  return !(lacksBody(event) || event.lacksEnd || lacksWait || event.isScripted);
}

function addTo(finding: RuleFinding, found: Findings): void {
  const { exercised, broken, proof } = found;
  finding.exercised += exercised;
  finding.isTouched = true;
  finding.missing ??= reasonOf(found);
  if (broken === undefined) return;
  if (finding.broken !== undefined && proof.length >= finding.proof.length) return;
  finding.broken = broken;
  finding.proof = proof;
}

/** Why the judge of a rule decided nothing. */
function reasonOf({ missing }: Findings): string | undefined {
  return missing instanceof Lacking ? `needs ${missing.message}` : missing?.message;
}

const mostTasks = 100;

/** The ids of the messages in a reply to a device's poll. */
function idsIn(text: string): string[] {
  const ids = text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi) ?? [];
  return [...new Set(ids.map((id) => id.toLowerCase()))].slice(0, mostTasks);
}
