/**
 * Judges recorded traffic in one pass: each exchange joins the groups in which rules can be judged,
 * and the judges of the harness look at each group as at a case of its own. What came before the
 * recording is unknown, and lines may be missing unless the files are said to hold all.
 */

import { lacksBody, type TrafficEvent } from '../../src/commands/recorded-traffic.ts';
import { type RuleId, rules } from '../../src/ledger/rules.ts';
import { minuteMs } from '../../src/ledger/time-units.ts';
import { judges } from '../judges/all.ts';
import { type Exchange, isMessageSend, isSend, messageIdOf } from '../judges/exchange.ts';
import { Findings, type Trace } from '../judges/judge.ts';
import type { RuleBroken } from '../verify.ts';
import { Groups, inOrder } from './groups.ts';
import { TrafficKnowledge } from './knowledge.ts';
import type { Observations } from './observations.ts';
import { type Shown, shown, type Together } from './shown.ts';

/** What all groups together showed of a rule. */
export interface RuleFinding {
  exercised: number;
  /** True if an exchange was about it, whether it decided anything or not. */
  isTouched?: boolean;
  broken?: RuleBroken;
  /** The exchanges that prove it. */
  proof: readonly Exchange[];
  missing?: string;
}

export interface TrafficOptions {
  /** The files hold all traffic of these accounts and addresses. */
  readonly isComplete: boolean;
  /** Lists of keys, each of one account. */
  readonly joined: readonly (readonly string[])[];
  readonly rules: readonly RuleId[];
  /** Sees each exchange, the exchanges of each message, and the sends under each id. */
  readonly observations?: Observations;
}

/** What spends from one limit; all of it is known since a time. */
interface OpenBucket {
  readonly exchanges: Exchange[];
  readonly since: number;
}

/** Longer messages have a length that depends on the unit. */
const longMessage = 1_400;
/** Exchanges of a limit that are judged at once, and how late one may be written. */
const mostInBucket = 1_500;
const latestMs = 2 * minuteMs;
const mostLong = 1_000;

export class TrafficJudge {
  readonly findings = new Map<RuleId, RuleFinding>();
  exchanges = 0;
  throttled = 0;
  readonly #options: TrafficOptions;
  readonly #knowledge: TrafficKnowledge;
  readonly #rulesOf: Readonly<Record<Together, readonly (readonly [RuleId, Shown])[]>>;
  readonly #messages: Groups;
  readonly #requestIds: Groups;
  readonly #buckets = new Map<string, OpenBucket>();
  /** Accounts that may be one and the same. */
  readonly #undeclared = new Set<string>();
  #declared = false;
  #long: Exchange[] = [];
  /** Since when all traffic is known. */
  #knownSince = Number.POSITIVE_INFINITY;
  #latest = Number.NEGATIVE_INFINITY;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#knowledge = new TrafficKnowledge(options.joined);
    const judged = rules.flatMap(({ id }): [RuleId, Shown][] => {
      const how = shown[id];
      const isJudged = options.rules.includes(id) && (options.isComplete || !how?.needsAll);
      return how !== undefined && isJudged ? [[id, how]] : [];
    });
    const of = (together: Together) => judged.filter(([, how]) => how.together === together);
    this.#rulesOf = {
      message: of('message'),
      request_id: of('request_id'),
      bucket: of('bucket'),
      long: of('long'),
    };
    for (const [id] of judged) this.findings.set(id, { exercised: 0, proof: [] });
    this.#messages = new Groups((group) => this.#judge('message', group));
    this.#requestIds = new Groups((group) => this.#judge('request_id', group));
  }

  /** Keys that were said to be of one account, and are not in the traffic. */
  get unseenKeys(): ReadonlySet<string> {
    return this.#knowledge.unseen;
  }

  take(event: TrafficEvent): void {
    if (event === 'cut') {
      this.end();
      this.#knownSince = Number.POSITIVE_INFINITY;
      return;
    }
    this.exchanges++;
    // A fault is not the service's.
    if (event.isForced) return;
    const one = this.#knowledge.exchangeOf(event);
    if (one.reply.status === 429) this.throttled++;
    this.#knownSince = Math.min(this.#knownSince, one.sentAt);
    this.#latest = Math.max(this.#latest, one.sentAt);
    const { host } = event;
    this.#spend(host, one);
    // A body that was not recorded is unknown: the exchange counts for limits alone.
    if (lacksBody(event)) return;
    this.#options.observations?.note(one);
    const readId = one.endpoint === 'read' ? one.id : undefined;
    const messageId = isSend(one) ? messageIdOf(one) : readId;
    if (one.endpoint === 'tasks')
      for (const id of idsIn(one.reply.text)) this.#messages.add(`${host} ${id}`, one);
    if (messageId === undefined || messageId === 'nothing') this.#judge('message', [one]);
    else this.#messages.add(`${host} ${messageId.toLowerCase()}`, one);
    const { request_id: id } = one.fields ?? {};
    if (isMessageSend(one) && typeof id === 'string' && id !== '')
      this.#requestIds.add(
        JSON.stringify([host, one.caller.account, one.headers['authorization'], id]),
        one,
      );
    const text = one.fields?.['message'];
    if (typeof text === 'string' && text.length > longMessage && this.#long.length < mostLong)
      this.#long.push(one);
  }

  /** Judges what is still open. */
  end(): void {
    for (const name of [...this.#buckets.keys()]) this.#judgeBucket(name, Number.POSITIVE_INFINITY);
    this.#messages.endAll();
    this.#requestIds.endAll();
    this.#judge('long', inOrder(this.#long));
    this.#long = [];
  }

  #spend(host: string, one: Exchange): void {
    const { endpoint, caller } = one;
    if (endpoint === undefined) return;
    const owner = caller.account ?? caller.address ?? '';
    if (caller.account !== undefined) {
      if (this.#knowledge.isDeclared(one)) this.#declared = true;
      else if (this.#undeclared.size < 2) this.#undeclared.add(caller.account);
    }
    const name = `${host} ${endpoint} ${owner}`;
    const bucket = this.#buckets.get(name) ?? { exchanges: [], since: this.#knownSince };
    bucket.exchanges.push(one);
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (bucket.exchanges.length >= mostInBucket) this.#judgeBucket(name, this.#latest - latestMs);
    // Idle buckets are judged as others go on.
    for (const [idle, { exchanges }] of this.#buckets) {
      const last = exchanges.at(-1)?.answeredAt ?? 0;
      if (last > this.#latest - 2 * latestMs) break;
      this.#judgeBucket(idle, Number.POSITIVE_INFINITY);
    }
  }

  /** Judges what came until then; the minutes before explain what comes next. */
  #judgeBucket(name: string, until: number): void {
    const { exchanges, since } = this.#buckets.get(name) ?? { exchanges: [], since: 0 };
    this.#buckets.delete(name);
    const all = inOrder(exchanges);
    const part = all.filter(({ sentAt }) => sentAt <= until);
    // So many in so little time that what belongs to them may still be written.
    const isFlood = part.length < all.length / 2;
    this.#judge('bucket', isFlood ? all : part, since, isFlood);
    if (until === Number.POSITIVE_INFINITY) return;
    const from = isFlood ? this.#latest : until - latestMs;
    const rest = all.filter(({ sentAt }) => sentAt > from);
    this.#buckets.set(name, { exchanges: rest, since: Math.max(since, from) });
  }

  #judge(
    together: Together,
    group: readonly Exchange[],
    since = this.#knownSince,
    isFlood = false,
  ): void {
    if (group.length === 0) return;
    if (together === 'message' || together === 'request_id')
      this.#options.observations?.noteGroup(group);
    for (const [rule, { fits, needsAll }] of this.#rulesOf[together]) {
      if (needsAll && isFlood) continue;
      const exchanges = group.filter(fits);
      if (exchanges.length === 0) continue;
      const findings = new Findings();
      judges[rule](this.#traceOf(exchanges, group, since), findings);
      this.#note(rule, findings);
    }
  }

  #traceOf(exchanges: readonly Exchange[], log: readonly Exchange[], since: number): Trace {
    return {
      exchanges,
      log,
      listings: [],
      createdKeys: [],
      knownSince: since,
      hasExactTimes: false,
      recorded: {
        ahead: this.#knowledge.seenAhead,
        isComplete: this.#options.isComplete,
        isOneAccount: this.#undeclared.size === (this.#declared ? 0 : this.#undeclared.size && 1),
      },
      assumption: () => undefined,
    };
  }

  #note(rule: RuleId, { exercised, broken, proof, missing }: Findings): void {
    const finding = this.findings.get(rule);
    if (finding === undefined) return;
    finding.exercised += exercised;
    finding.isTouched = true;
    if (missing !== undefined) finding.missing ??= missing.message;
    if (broken === undefined) return;
    const isSmaller = finding.broken === undefined || proof.length < finding.proof.length;
    if (!isSmaller) return;
    finding.broken = broken;
    finding.proof = proof;
  }
}

const mostTasks = 100;

/** The messages that a device was handed. */
function idsIn(text: string): string[] {
  const ids = text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi) ?? [];
  return [...new Set(ids.map((id) => id.toLowerCase()))].slice(0, mostTasks);
}
