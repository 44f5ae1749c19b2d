/**
 * Judges recorded traffic in one pass. Each exchange joins the groups in which rules can be judged
 * (`shown-rules.ts`), and the judges of the harness look at each group as if it were a case. What
 * came before the recording is unknown. Exchanges may also be missing, except with
 * `--traffic-complete`.
 */

import { lacksBody, type TrafficEvent } from '#contract/exchange.ts';
import { type RuleId, rules } from '#contract/rules.ts';
import { minuteMs } from '#contract/time.ts';
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
import { Findings, type Judge, type Recorded, type Trace } from '../service/judge.ts';
import { Groups, inOrder } from './groups.ts';
import { TrafficKnowledge } from './knowledge.ts';
import type { Observations } from './observations.ts';
import { recordedRules, type Shown, type Together } from './shown-rules.ts';

/** What all groups together showed of a rule. */
export interface RuleFinding {
  /** How often the rule applied and held. */
  exercised: number;
  /** True if an exchange was about the rule, whether it decided anything or not. */
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

/** The exchanges of one limit that are not judged yet. */
interface OpenBucket {
  readonly exchanges: Exchange[];
  /** All traffic of the bucket is known from this time on. */
  readonly since: number;
}

/** Rules that share a filter (`fits`), and so a trace, with what was found of each so far. */
type SameRules = Omit<Shown, 'together'> & {
  readonly rules: { readonly judge: Judge; readonly finding: RuleFinding }[];
};

/** Whether a message of this length is too long depends on the unit of length (SEND-6). */
const longMessage = 1_400;
const mostLong = 1_000;
/** The exchanges of a bucket after which it is judged. */
const mostInBucket = 1_500;
/** A recorder may write an exchange this much later than others that were sent after it. */
const mostLateMs = 2 * minuteMs;

export class TrafficJudge {
  readonly findings = new Map<RuleId, RuleFinding>();
  exchanges = 0;
  throttled = 0;
  readonly #options: TrafficOptions;
  readonly #knowledge: TrafficKnowledge;
  readonly #rulesOf: Readonly<Record<Together, readonly SameRules[]>>;
  readonly #messages: Groups;
  readonly #requestIds: Groups;
  /** By host, endpoint and owner, in the order of their last use. */
  readonly #buckets = new Map<string, OpenBucket>();
  /** When idle buckets were last judged. */
  #idleEndedAt = Number.NEGATIVE_INFINITY;
  /** What a judge finds of one group; cleared for each rule. */
  readonly #found = new Findings();
  /** Sends of long messages. */
  readonly #long: Exchange[] = [];
  #firstHost: string | undefined;
  /** When the first exchange of the recording was sent. */
  #knownSince = Number.POSITIVE_INFINITY;
  /** The bounds of how far the recorder's date differed from its steady clock. */
  #dateShift: Ahead | undefined;
  /** When the latest exchange so far was sent. */
  #latest = Number.NEGATIVE_INFINITY;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#knowledge = new TrafficKnowledge(options.joined);
    const judged = rules.flatMap(({ id }): [RuleId, Shown][] => {
      const how = recordedRules[id];
      const isJudged = options.rules.includes(id) && (options.isComplete || !how?.needsAll);
      return how !== undefined && isJudged ? [[id, how]] : [];
    });
    const rulesOf = (together: Together) =>
      this.#sameRulesIn(judged.filter(([, how]) => how.together === together));
    this.#rulesOf = {
      message: rulesOf('message'),
      request_id: rulesOf('request_id'),
      bucket: rulesOf('bucket'),
      long: rulesOf('long'),
    };
    this.#messages = new Groups((group) => this.#judge('message', group));
    this.#requestIds = new Groups((group) => this.#judge('request_id', group));
  }

  #sameRulesIn(judged: readonly (readonly [RuleId, Shown])[]): readonly SameRules[] {
    const same = new Map<Shown['fits'], SameRules>();
    for (const [id, how] of judged) {
      const finding: RuleFinding = { exercised: 0, proof: [] };
      this.findings.set(id, finding);
      const rows = same.get(how.fits) ?? { ...how, rules: [] };
      rows.rules.push({ judge: judges[id], finding });
      same.set(how.fits, rows);
    }
    return [...same.values()];
  }

  /** Keys that `joined` names and that are not in the traffic. */
  get unseenKeys(): ReadonlySet<string> {
    return this.#knowledge.unseen;
  }

  /** Takes the next line of the recording; `cut` means that exchanges are missing here. */
  take(event: TrafficEvent): void {
    if (event === 'cut') {
      this.end();
      this.#knownSince = Number.POSITIVE_INFINITY;
      this.#dateShift = undefined;
      return;
    }
    this.exchanges++;
    // An injected fault is not a reply of the service.
    if (event.isForced) return;
    const exchange = this.#knowledge.exchangeOf(event);
    if (exchange.reply.status === 429) this.throttled++;
    this.#dateShift = around(this.#dateShift, {
      least: event.dateShiftMs ?? 0,
      most: event.dateShiftMs ?? 0,
    });
    this.#knownSince = Math.min(this.#knownSince, exchange.sentAt);
    this.#latest = Math.max(this.#latest, exchange.sentAt);
    this.#addToBucket(event.host, exchange);
    // An exchange without its body, the time of its reply or its wait counts only for limits.
    const lacksWait = event.reply?.lacksHeaders === true && event.reply.status === 429;
    if (lacksBody(event) || event.lacksEnd || lacksWait || event.isScripted) return;
    this.#options.observations?.note(exchange);
    this.#addToMessages(event.host, exchange);
    this.#addToRequestIds(event.host, exchange);
    const text = exchange.fields?.['message'];
    if (typeof text === 'string' && text.length > longMessage && this.#long.length < mostLong)
      this.#long.push(exchange);
  }

  /** The name with its host. The first host is left out: most recordings have no other. */
  #nameAt(host: string, name: string): string {
    this.#firstHost ??= host;
    return host === this.#firstHost ? name : `${host} ${name}`;
  }

  #addToMessages(host: string, exchange: Exchange): void {
    const { endpoint, id, reply } = exchange;
    if (endpoint === 'tasks')
      for (const taskId of idsIn(reply.text))
        this.#messages.add(this.#nameAt(host, taskId), exchange);
    const readId = endpoint === 'read' ? id : undefined;
    const messageId = isSend(exchange) ? messageIdOf(exchange) : readId;
    if (messageId === undefined || messageId === 'nothing') this.#judge('message', [exchange]);
    else this.#messages.add(this.#nameAt(host, messageId.toLowerCase()), exchange);
  }

  #addToRequestIds(host: string, exchange: Exchange): void {
    const { caller, headers } = exchange;
    const id = requestIdOf(exchange);
    if (!isMessageSend(exchange) || id === undefined) return;
    const owner = headers['authorization'] ?? caller.account;
    const isKnown = caller.account === undefined ? 'unknown' : '';
    // Only the id may have a line break.
    this.#requestIds.add(this.#nameAt(host, `${isKnown}${owner}\n${id}`), exchange);
  }

  /** Judges all groups that are still open. */
  end(): void {
    for (const name of [...this.#buckets.keys()]) this.#judgeBucket(name, Number.POSITIVE_INFINITY);
    this.#messages.endAll();
    this.#requestIds.endAll();
    this.#judge('long', inOrder(this.#long.splice(0)));
  }

  #addToBucket(host: string, exchange: Exchange): void {
    const { endpoint, caller } = exchange;
    if (endpoint === undefined) return;
    const owner = caller.account ?? caller.address ?? '';
    this.#knowledge.noteAccount(exchange);
    const name = `${host} ${endpoint} ${owner}`;
    const bucket = this.#buckets.get(name) ?? { exchanges: [], since: this.#knownSince };
    bucket.exchanges.push(exchange);
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (bucket.exchanges.length >= mostInBucket) this.#judgeBucket(name, this.#latest - mostLateMs);
    if (this.#latest - this.#idleEndedAt < minuteMs) return;
    this.#idleEndedAt = this.#latest;
    // An idle bucket gets no more exchanges of that time, however late the recorder writes.
    for (const [idle, { exchanges }] of this.#buckets) {
      const last = exchanges.at(-1)?.answeredAt ?? 0;
      if (last > this.#latest - 2 * mostLateMs) break;
      this.#judgeBucket(idle, Number.POSITIVE_INFINITY);
    }
  }

  /** Judges the exchanges up to a time, and keeps the last minutes, which explain later ones. */
  #judgeBucket(name: string, until: number): void {
    const { exchanges, since } = this.#buckets.get(name) ?? { exchanges: [], since: 0 };
    this.#buckets.delete(name);
    const all = inOrder(exchanges);
    const settled = all.filter(({ sentAt }) => sentAt <= until);
    // In a flood, most exchanges are so recent that others may still be written between them.
    const isFlood = settled.length < all.length / 2;
    this.#judge('bucket', isFlood ? all : settled, since, isFlood);
    if (until === Number.POSITIVE_INFINITY) return;
    const keptFrom = isFlood ? this.#latest : until - mostLateMs;
    const kept = all.filter(({ sentAt }) => sentAt > keptFrom);
    this.#buckets.set(name, { exchanges: kept, since: Math.max(since, keptFrom) });
  }

  /** Judges a group by all rules of its kind. `isFlood`: some of the group may be missing. */
  #judge(
    together: Together,
    group: readonly Exchange[],
    since = this.#knownSince,
    isFlood = false,
  ): void {
    if (group.length === 0) return;
    if (together === 'message' || together === 'request_id')
      this.#options.observations?.noteGroup(group);
    const recorded = this.#recorded();
    const whole = traceOf(group, group, since, recorded);
    let part = whole;
    for (const { fits, needsAll, rules: rows } of this.#rulesOf[together]) {
      if (needsAll && isFlood) continue;
      const exchanges = fittingIn(group, fits);
      if (exchanges.length === 0) continue;
      // Rules with the same exchanges share one trace, and what judges computed for it.
      const isPart = exchanges !== group && !areEqual(exchanges, part.exchanges);
      if (isPart) part = traceOf(exchanges, group, since, recorded);
      const trace = exchanges === group ? whole : part;
      for (const { judge, finding } of rows) {
        this.#found.clear();
        judge(trace, this.#found);
        noteIn(finding, this.#found);
      }
    }
  }

  /** How complete the recording is, as far as it was read. */
  #recorded(): Recorded {
    return {
      ahead: this.#knowledge.seenAhead,
      isComplete: this.#options.isComplete,
      isOneAccount: this.#knowledge.isOneAccount,
      spanErrorMs: this.#dateShift === undefined ? 0 : this.#dateShift.most - this.#dateShift.least,
    };
  }
}

/** The whole group if all of it fits, so that judges share what they computed for its trace. */
function fittingIn(group: readonly Exchange[], fits: Shown['fits']): readonly Exchange[] {
  const [only] = group;
  if (only !== undefined && group.length === 1) return fits(only) ? group : none;
  return group.every(fits) ? group : group.filter(fits);
}

function areEqual(some: readonly Exchange[], others: readonly Exchange[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at]);
}

function noteIn(finding: RuleFinding, found: Findings): void {
  const { exercised, broken, proof } = found;
  finding.exercised += exercised;
  finding.isTouched = true;
  finding.missing ??= reasonOf(found);
  if (broken === undefined) return;
  if (finding.broken !== undefined && proof.length >= finding.proof.length) return;
  finding.broken = broken;
  finding.proof = proof;
}

const none: readonly never[] = [];
const noAnswer = () => undefined;

/** What judges see of a group. */
function traceOf(
  exchanges: readonly Exchange[],
  log: readonly Exchange[],
  knownSince: number,
  recorded: Recorded,
): Trace {
  return {
    exchanges,
    log,
    listings: none,
    createdKeys: none,
    knownSince,
    hasExactTimes: false,
    recorded,
    assumption: noAnswer,
  };
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
