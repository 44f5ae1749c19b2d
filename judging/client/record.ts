/**
 * The input of the rules: the exchanges of a record, its intents and the client's own reports. An
 * intent is one message that a client means to send once. Its attempts are the sends that try to
 * queue that message. `intent-grouping.ts` finds the intents of a record.
 */
import type { ClientRuleId } from '#contract/rules.ts';
import { dayMs, hourMs, isoTime, minuteMs } from '#contract/time.ts';
import { getOrAdd, push } from '#io/grouped.ts';
import { counted } from '#io/terminal.ts';
import { isSend } from '../evidence/exchange.ts';
import { type ClientExchange, messageIdIfAny } from './exchange.ts';
import type { ReportedIntent } from './intents-file.ts';

export interface Intent {
  /** In order of arrival; never empty. */
  readonly attempts: ClientExchange[];
  /** The `request_id` that the intent got last; undefined while no attempt has one. */
  requestId: string | undefined;
  /**
   * The index of the first attempt that may belong to another intent of the same content. All later
   * attempts are unattributable too. Infinity if every attempt belongs to this intent for certain.
   */
  unattributableFrom: number;
}

/** One `request_id` that a client used for two different messages (CLIENT-6). */
export interface Reuse {
  readonly first: ClientExchange;
  readonly second: ClientExchange;
}

/** The result of grouping a record. */
export interface Intents {
  readonly all: readonly Intent[];
  readonly reuses: readonly Reuse[];
  /** The number of attempts that may belong to another intent than the one that lists them. */
  readonly unattributable: number;
}

/** What is known about a record besides its exchanges. */
export interface Knowledge {
  /** True if more exchanges may follow: only what they cannot change is decided. */
  readonly isPartial: boolean;
  /** True if exchanges may be missing before the first one: only equal ids prove one intent. */
  readonly isCutAtStart: boolean;
  /** The sends of unknown content, of which any other send may be a retry. */
  readonly unclear: UnclearSends;
  /** What the client reported about its intents; undefined without an intents file. */
  readonly reports: readonly ReportedIntent[] | undefined;
  /**
   * By recipient and text: how many equal messages the client sends where nothing fails, or names in
   * its file. That many sends begin messages of their own, even if an earlier one was not resolved.
   */
  readonly equalMessages?: ReadonlyMap<string, number> | undefined;
}

export function isAttributable({ unattributableFrom }: Intent): boolean {
  return unattributableFrom === Number.POSITIVE_INFINITY;
}

/** The attempts that belong to the intent for certain. */
export function attributableAttempts({
  attempts,
  unattributableFrom,
}: Intent): readonly ClientExchange[] {
  return attempts.length <= unattributableFrom ? attempts : attempts.slice(0, unattributableFrom);
}

export function lastAttempt({ attempts }: Intent): ClientExchange {
  const last = attempts.at(-1);
  if (last === undefined) throw new Error('an intent has an attempt');
  return last;
}

/**
 * The first acceptance of each message: each 202, and each 200 whose message no 202 in the list
 * created. A garbled 202 does not name its message: each such 200 takes the place of a garbled 202.
 */
export function firstAcceptances(attempts: readonly ClientExchange[]): readonly ClientExchange[] {
  const [only] = attempts;
  // Most messages have one attempt, for which no set is made.
  if (only !== undefined && attempts.length === 1) {
    return only.reply.status === 202 || (only.reply.status === 200 && hasMessageId(only))
      ? attempts
      : [];
  }
  const created = firstOfEachId(attempts.filter(({ reply }) => reply.status === 202));
  const named = created.filter(hasMessageId);
  const unnamed = created.filter((exchange) => !hasMessageId(exchange));
  const createdIds = new Set(created.map(messageIdIfAny));
  const replays = attempts.filter(
    (attempt) => attempt.reply.status === 200 && hasMessageId(attempt),
  );
  const replayed = firstOfEachId(replays).filter(
    (replay) => !createdIds.has(messageIdIfAny(replay)),
  );
  const all = [...named, ...unnamed.slice(replayed.length), ...replayed];
  return all.sort((a, b) => a.number - b.number);
}

/** The first of each `message_id`, and all that have none. */
function firstOfEachId(accepted: readonly ClientExchange[]): readonly ClientExchange[] {
  const known = new Set<string>();
  return accepted.filter((exchange) => {
    const id = messageIdIfAny(exchange);
    const isFirst = id === undefined || !known.has(id);
    if (id !== undefined) known.add(id);
    return isFirst;
  });
}

function hasMessageId(exchange: ClientExchange): boolean {
  return messageIdIfAny(exchange) !== undefined;
}

/** The sends of one scope that are unclear, in the order of the record. */
type UnclearOfScope = { readonly send: ClientExchange; readonly openUntil: number }[];

/**
 * The sends of a record whose content or caller was not recorded. Each may be an attempt at any
 * intent of its scope, its caller and endpoint: what its content could decide is left unjudged.
 */
export class UnclearSends {
  /** `openUntil`: the latest one of the sends so far. */
  readonly #byScope = new Map<string, UnclearOfScope>();
  /** Those whose caller is unknown: they are in all scopes. */
  readonly #ofAnyone: UnclearOfScope = [];

  constructor(sends: readonly ClientExchange[]) {
    for (const send of sends) {
      const scope = send.lacksCaller ? undefined : scopeOf(send);
      const others = scope === undefined ? this.#ofAnyone : (this.#byScope.get(scope) ?? []);
      const one = { send, openUntil: Math.max(send.openUntil, others.at(-1)?.openUntil ?? 0) };
      if (scope === undefined) others.push(one);
      else push(this.#byScope, scope, one);
    }
  }

  get areNone(): boolean {
    return this.#byScope.size === 0 && this.#ofAnyone.length === 0;
  }

  /** True if some of them have the scope of the exchange. */
  concern(exchange: ClientExchange): boolean {
    return this.#near(exchange).length > 0;
  }

  /** True if one of them may be an attempt that came between two of the same message. */
  mayDecide(earlier: ClientExchange, later: ClientExchange): boolean {
    return this.areBetween(earlier, later) || this.mayEnd(earlier, later);
  }

  /** True if one of them was sent, or was in flight, from the one exchange to the other. */
  areBetween(earlier: ClientExchange, later: ClientExchange): boolean {
    return this.#near(later).some((sends) => {
      const sent = countWhile(sends, ({ send }) => send.number <= later.openUntil);
      return (sends[sent - 1]?.openUntil ?? 0) >= earlier.number;
    });
  }

  /** True if an intent may have ended between the two: a day after one of them was accepted. */
  mayEnd(earlier: ClientExchange, later: ClientExchange): boolean {
    return this.#near(later).some((sends) => {
      const older = countWhile(sends, ({ send }) => send.sentAt < earlier.sentAt - dayMs);
      return (sends[older]?.send.sentAt ?? later.sentAt) <= later.sentAt - dayMs;
    });
  }

  /** True if one of them, of this caller or of any, may have settled an intent with this attempt. */
  maySettle(attempt: ClientExchange, whose: 'same caller' | 'any caller'): boolean {
    const scopes =
      whose === 'any caller' ? [this.#ofAnyone, ...this.#byScope.values()] : this.#near(attempt);
    return scopes.some((sends) => {
      const { openUntil = 0, send } = sends.at(-1) ?? {};
      const isRecent = send !== undefined && send.sentAt >= attempt.sentAt - dayMs;
      return openUntil >= attempt.number || isRecent;
    });
  }

  /** For each scope, what is not judged. */
  *notices(): Generator<Notice> {
    for (const sends of [this.#ofAnyone, ...this.#byScope.values()]) {
      const [first, ...others] = sends;
      if (first === undefined) continue;
      const { caller, endpoint, number, lacksCaller } = first.send;
      const [lacking, whose] = lacksCaller
        ? ['caller', 'all sends']
        : ['body', `the sends of ${caller.name} to ${endpoint ?? 'an unknown path'}`];
      const more =
        others.length === 0 ? '' : ` (nor that of ${counted(others.length, 'later send')})`;
      const what = `the ${lacking} of exchange ${number} was not recorded${more}: what it could decide of ${whose} is not judged`;
      yield { what, exchanges: [first.send] };
    }
  }

  #near(exchange: ClientExchange): UnclearOfScope[] {
    if (this.areNone || !isSend(exchange)) return [];
    const ofScope = this.#byScope.get(scopeOf(exchange)) ?? [];
    return [ofScope, this.#ofAnyone].filter(({ length }) => length > 0);
  }
}

/** How many entries come before the first that is not so. Searches by halves. */
function countWhile<T>(list: readonly T[], isSo: (one: T) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isSo(list[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function scopeOf({ caller, endpoint }: ClientExchange): string {
  return `${caller.name} ${endpoint}`;
}

/** How long after a 429 a request still counts as sent before it, unless `--grace` says otherwise. */
export const defaultGraceMs = 1_000;

export interface ClientRecord extends Knowledge {
  readonly exchanges: readonly ClientExchange[];
  /** Those of `exchanges` that send a message. */
  readonly sends: readonly ClientExchange[];
  /** All reads that showed the client a message, also those of unknown callers. */
  readonly reads: readonly ClientExchange[];
  readonly intents: Intents;
  /** How long after a 429 a request still counts as sent before it (CLIENT-2). */
  readonly graceMs: number;
  /** True if a message is never delivered; undefined if only the client's reads can tell. */
  readonly endsUndelivered: ((messageId: string) => boolean) | undefined;
}

export interface Finding {
  /** Undefined if the caller was not authenticated. */
  readonly accountId: string | undefined;
  readonly endpoint: string | undefined;
  /** What happened, with times, and what to do. */
  readonly what: string;
  /** The exchanges that prove it, in order; the last one is at fault. */
  readonly exchanges: readonly ClientExchange[];
}

/** What a reader must hear although it breaks no rule. */
export type Notice = Pick<Finding, 'what' | 'exchanges'>;

export interface Judgement {
  /** In how many cases the rule could have been broken. */
  readonly exercised: number;
  readonly findings: readonly Finding[];
  readonly notices?: readonly Notice[];
}

export type Judge = (record: ClientRecord) => Judgement;
export type Judges = Readonly<Partial<Record<ClientRuleId, Judge>>>;

/** Judges each case in which the rule could be broken. */
export function judgement<T>(
  cases: readonly T[],
  isBroken: (one: T) => boolean,
  findingOf: (one: T) => Finding,
): Judgement {
  return { exercised: cases.length, findings: cases.filter(isBroken).map(findingOf) };
}

/** Finds what several rules need of a record, once for each record. */
export function onceOf<V>(find: (record: ClientRecord) => V): (record: ClientRecord) => V {
  const known = new WeakMap<ClientRecord, V>();
  return (record) => getOrAdd(known, record, () => find(record));
}

export const notExercised: Judgement = { exercised: 0, findings: [] };

/** A finding that these exchanges prove; the last of them is the one at fault. */
export function finding(what: string, exchanges: readonly ClientExchange[]): Finding {
  const last = exchanges.at(-1);
  const when = last === undefined ? '' : ` (request at ${isoTime(last.sentAt)})`;
  const { caller, endpoint } = last ?? {};
  return { accountId: caller?.account, endpoint, what: `${what}${when}`, exchanges };
}

/** A duration as text: `41.0 s`, `0.25 s`, `14.999 s`, `26 h`, `24 h and 0.001 s`. */
export function spanText(ms: number): string {
  const hours = Math.floor(ms / hourMs);
  if (hours >= 1_000_000) return 'more than a million hours';
  if (hours < 2) return secondsText(ms);
  const restMs = ms % hourMs;
  return restMs > 0 && restMs < minuteMs ? `${hours} h and ${secondsText(restMs)}` : `${hours} h`;
}

function secondsText(ms: number): string {
  const seconds = (ms / 1_000).toFixed(3).replace(/0{1,2}$/, '');
  return `${seconds} s`;
}
