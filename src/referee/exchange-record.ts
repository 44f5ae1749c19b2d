/**
 * A simulator's record of client requests: the first ones since the start, a reset or a restart of
 * the record, up to a bound. A full record ignores further requests. It holds journal entries, so
 * replaying a journal fills the same record.
 */
import type { Handled } from '../http/service/api.ts';
import type { RequestEntry } from '../recording/journal-entry.ts';
import { atOnce } from '../sim/at-once.ts';
import type { EndpointName } from '../sim/limits.ts';
import type { Exchange } from './exchange.ts';
import { isGarbled, objectIn, waitMs } from './traffic.ts';

/** Bounds of a running simulator's record. */
export const recordedExchanges = 10_000;
export const recordedCharacters = 16 * 1024 * 1024;

const exchangesPerSlice = 50;

export interface RecordBound {
  readonly exchanges: number;
  readonly characters: number;
}

/** What the entry of a request does not say. */
export interface Circumstances {
  /** Whose limits an unauthenticated call spends. */
  readonly address: string;
  /** Simulated seconds in each second that `Retry-After` counts. */
  readonly waitRate: number;
  readonly showsKey: boolean;
}

interface Kept {
  readonly entry: RequestEntry;
  readonly accountName: string | undefined;
  readonly accountId: string | undefined;
  readonly endpoint: EndpointName | undefined;
  readonly isForced: boolean;
  readonly circumstances: Circumstances;
  /** How a reply ended that did not leave whole and at once. */
  end: { readonly atMs: number; readonly openUntil: number; readonly isSeen: boolean } | undefined;
}

export class ExchangeRecord {
  readonly #bound: RecordBound;
  #kept: Kept[] = [];
  #characters = 0;
  /** Requests that it was given, kept or not; never set back. */
  #requests = 0;
  #startedAfter = 0;
  #isOpen = true;
  #isCutAtStart = false;

  constructor(
    bound: RecordBound = { exchanges: recordedExchanges, characters: recordedCharacters },
  ) {
    this.#bound = bound;
  }

  /** False once it is full. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Why it does not hold all requests of its run; undefined where it does. */
  get lack(): string | undefined {
    if (!this.#isOpen) {
      return `the record is full: only the first ${this.#kept.length} requests are judged, as a partial record`;
    }
    return this.#isCutAtStart
      ? 'the record begins at a checkpoint: what came before is not judged, and the rest as a partial record'
      : undefined;
  }

  get size(): number {
    return this.#kept.length;
  }

  /** True if it does not hold the first requests of its run. */
  get isCutAtStart(): boolean {
    return this.#isCutAtStart;
  }

  /** How many requests it was given: the number of the last one. */
  get requests(): number {
    return this.#requests;
  }

  /** Forgets all exchanges. `isCutAtStart`: the run began earlier. */
  restart(isCutAtStart = false): void {
    this.#kept = [];
    this.#characters = 0;
    this.#startedAfter = this.#requests;
    this.#isOpen = true;
    this.#isCutAtStart = isCutAtStart;
  }

  add(
    entry: RequestEntry,
    { key, endpoint, isForced = false }: Handled,
    circumstances: Circumstances,
  ): void {
    this.#requests++;
    if (!this.#isOpen) return;
    const { request, reply } = entry;
    this.#characters += (request.body ?? '').length + request.path.length + reply.body.length;
    if (this.#kept.length >= this.#bound.exchanges || this.#characters > this.#bound.characters) {
      this.#isOpen = false;
      return;
    }
    this.#kept.push({
      entry,
      accountName: key?.account.name,
      accountId: key?.account.accountId,
      endpoint,
      isForced,
      circumstances,
      end: undefined,
    });
  }

  /** A delayed reply has left, or its client had gone. `back`: 1 for the last request. */
  ended(back: number, atMs: number, isSeen: boolean): void {
    const kept = this.#kept[this.#requests - back - this.#startedAfter];
    if (kept !== undefined) {
      kept.end = { atMs, openUntil: this.#requests - this.#startedAfter, isSeen };
    }
  }

  exchanges(): Exchange[] {
    return atOnce(this.reading());
  }

  /** The same in slices; what comes meanwhile is left out. */
  *reading(): Generator<undefined, Exchange[]> {
    const kept = [...this.#kept];
    const exchanges: Made[] = [];
    for (const [at, one] of kept.entries()) {
      exchanges.push(exchangeOf(one, at));
      if (at % exchangesPerSlice === 0) yield;
    }
    // Where nothing says when a delayed reply left, it did so after its delay.
    for (const [at, one] of exchanges.entries()) {
      if (kept[at]?.end !== undefined || one.answeredAtMs === one.atMs) continue;
      while (exchanges[one.openUntil] && isBefore(exchanges[one.openUntil], one)) one.openUntil++;
    }
    return exchanges;
  }
}

type Made = Exchange & { openUntil: number };

function isBefore(later: Exchange | undefined, { answeredAtMs }: Exchange): boolean {
  return later !== undefined && later.atMs < answeredAtMs;
}

function exchangeOf(
  { entry, accountName, accountId, endpoint, isForced, circumstances, end }: Kept,
  at: number,
): Made {
  const { request, reply } = entry;
  const { address, waitRate, showsKey } = circumstances;
  const atMs = Date.parse(entry.at);
  const text = request.body ?? '';
  const replied = objectIn(reply.body);
  const isWhole = replied !== undefined || !isGarbled(reply.status, reply.body);
  const header = reply.status === 429 ? reply.headers?.['retry-after'] : undefined;
  return {
    number: at + 1,
    atMs,
    answeredAtMs: end?.atMs ?? atMs + (reply.delivery?.delayMs ?? 0),
    openUntil: end?.openUntil ?? at + 1,
    isOpenAtEnd: end === undefined && reply.delivery?.delayMs !== undefined,
    caller: accountId ?? address,
    credential: request.key_id ?? request.credential,
    accountId,
    accountName,
    endpoint,
    method: request.method,
    target: request.query === undefined ? request.path : `${request.path}?${request.query}`,
    text,
    body: objectIn(text),
    status: reply.status,
    isForced,
    retryAfterMs: waitMs(header, waitRate),
    retryAfter: header,
    reply: replied,
    isSeen: end?.isSeen !== false && reply.delivery?.cut === undefined && isWhole,
    showsKey,
  };
}
