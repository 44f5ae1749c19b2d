/**
 * What a run may spend: the buckets that its requests count in, and a ledger of its requests to
 * each within the last minute. Rules: LIMIT-1 to LIMIT-5, AUTH-6. Without a control port all cases
 * share one account. If the run sends at most the limit within any 60 s, the limiter must accept
 * every request, whatever the answer to `limiterRefill`.
 */
import {
  documentedLimits,
  type LimitedEndpoint,
  limitedEndpoints,
  sendEndpoints,
} from '#contract/limits.ts';
import { minuteMs, secondMs } from '#contract/time.ts';
import type { Ahead } from '#judging/evidence/clock-offset.ts';

/** A minute, plus a second for requests in flight. */
const windowMs = minuteMs + secondMs;
/** So few that most of a bucket is left for the flood that follows. */
const maxQuietSuccesses = 30;

/** What a limit counts: calls of the account to an endpoint, or of the address without a key. */
export type Bucket = LimitedEndpoint | 'address';

/** The number of requests that spend from each bucket. */
export type Spends = Readonly<Partial<Record<Bucket, number>>>;

export function entriesOf(spends: Spends): [Bucket, number][] {
  return Object.entries(spends) as [Bucket, number][];
}

/** True if its requests are sends, which cost money. */
export function isSending(bucket: Bucket): boolean {
  return sendEndpoints.some((endpoint) => endpoint === bucket);
}

/** The number of these requests that send messages. */
export function sendsIn(spends: Spends): number {
  return sendEndpoints.reduce((sum, endpoint) => sum + (spends[endpoint] ?? 0), 0);
}

/** The flood of an address asks `received`, so that limit holds for it. */
export function limitOf(bucket: Bucket): number {
  return documentedLimits[bucket === 'address' ? 'received' : bucket];
}

interface Entry {
  readonly at: number;
  /** It surely spent a token. Refusals and replays may spend none. */
  readonly isSuccess: boolean;
  /** It was refused although the last minute had room, and is sent again. */
  readonly isWaitedOut?: boolean;
}

/** The run's own requests to each bucket. Those of more than two minutes ago are forgotten. */
export class BucketLedger {
  readonly #ahead: () => Ahead;
  readonly #entries = new Map<Bucket, Entry[]>();
  /** Buckets that seem to count requests of the clock's minute before (`sliding_counter`). */
  readonly #countsBefore = new Set<Bucket>();

  /** `ahead`: how far the clock of the target's minutes is ahead of that of the run. */
  constructor(ahead: () => Ahead = () => ({ least: 0, most: 0 })) {
    this.#ahead = ahead;
  }

  note(bucket: Bucket, at: number, entry: Omit<Entry, 'at'>): void {
    const entries = this.#since(bucket, at - 2 * minuteMs);
    entries.push({ at, ...entry });
    this.#entries.set(bucket, entries);
    if (entry.isWaitedOut === true) this.#countsBefore.add(bucket);
  }

  /** A flood has shown a `sliding_counter`: the other buckets are probably of its kind. */
  noteSlidingCounter(): void {
    for (const bucket of [...limitedEndpoints, 'address'] as const) this.#countsBefore.add(bucket);
  }

  /** The wait until `count` more requests fit into the limit. */
  msUntilRoom(bucket: Bucket, count: number, now: number): number {
    const ms = this.#msUntilMinuteHasRoom(bucket, count, now);
    if (!this.#countsBefore.has(bucket)) return ms;
    let at = now + ms;
    while (at < now + 2 * minuteMs && this.countAt(bucket, at) + count > limitOf(bucket))
      at += secondMs;
    return at - now;
  }

  /** The wait until a `sliding_counter` counts less than one of the requests so far. */
  msUntilForgotten(bucket: Bucket, now: number): number {
    let ms = 0;
    while (this.countAt(bucket, now + ms) >= 1) ms += secondMs;
    return ms;
  }

  /** What a `sliding_counter` counts: this minute of the clock, and a share of the last one. */
  countAt(bucket: Bucket, at: number): number {
    const { least, most } = this.#ahead();
    const intoMs = (at + (least + most) / 2) % minuteMs;
    const entries = this.#since(bucket, at - intoMs - minuteMs).filter(isSpent);
    const inMinute = entries.filter((entry) => entry.at >= at - intoMs).length;
    return inMinute + (entries.length - inMinute) * (1 - intoMs / minuteMs);
  }

  #msUntilMinuteHasRoom(bucket: Bucket, count: number, now: number): number {
    const entries = this.#recent(bucket, now).filter(isSpent);
    const excess = entries.length + count - limitOf(bucket);
    if (excess <= 0) return 0;
    const last = entries[Math.min(excess, entries.length) - 1];
    return last === undefined ? 0 : Math.max(1, last.at + windowMs - now);
  }

  /**
   * The wait until the last minute holds at most `maxQuietSuccesses` requests, each of which surely
   * spent a token: then the number of tokens that are left is known.
   */
  msUntilQuiet(bucket: Bucket, now: number): number {
    const entries = this.#recent(bucket, now);
    const unclear = entries.filter(({ isSuccess }) => !isSuccess);
    const isBusy = entries.length > maxQuietSuccesses;
    const last = unclear.at(-1) ?? (isBusy ? entries.at(-1) : undefined);
    return last === undefined ? 0 : Math.max(1, last.at + windowMs - now);
  }

  #recent(bucket: Bucket, now: number): Entry[] {
    return this.#since(bucket, now - windowMs);
  }

  #since(bucket: Bucket, sinceMs: number): Entry[] {
    const entries = this.#entries.get(bucket) ?? [];
    const from = entries.findIndex(({ at }) => at > sinceMs);
    return from < 0 ? [] : entries.slice(from);
  }
}

function isSpent({ isWaitedOut }: Entry): boolean {
  return isWaitedOut !== true;
}
