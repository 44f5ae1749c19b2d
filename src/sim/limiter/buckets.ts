/**
 * Token buckets of N tokens, which differ in how they refill: a class for each answer of the
 * assumption `limiterRefill`. `limiter.ts` keeps one for each caller and endpoint.
 * Rules: LIMIT-1 to LIMIT-6. Assumes: limiterRefill.
 */
import { limitWindowMs } from '#contract/limits.ts';
import type { Assumptions } from '../assumptions.ts';

/** N tokens; each passing request spends one. Times are epoch milliseconds and never go back. */
export interface Bucket {
  /** Spends a token; returns false if there is none. */
  take(nowMs: number): boolean;
  /** Undoes the last `take`, in the same millisecond. */
  giveBack(): void;
  /** Makes a request spend that `take` has just refused (`refusedSpendsToken`). */
  spendRefused(nowMs: number): void;
  /** Milliseconds until `take` would succeed; 0 if it would succeed now. */
  waitMs(nowMs: number): number;
  /** Whole tokens available now. */
  available(nowMs: number): number;
  /** The bucket's content; `createBucket` makes an equal bucket from it. */
  readonly state: readonly number[];
}

type Refill = Assumptions['limiterRefill'];

/** `state`: the state of another bucket of this kind. Without it, the bucket is full. */
export function createBucket(refill: Refill, limit: number, state?: readonly number[]): Bucket {
  switch (refill) {
    case 'sliding':
      return new SlidingBucket(limit, state);
    case 'continuous':
      return new ContinuousBucket(limit, state);
    case 'interval':
      return new IntervalBucket(limit, state);
    case 'interval_aligned':
      return new AlignedBucket(limit, state);
    case 'sliding_counter':
      return new CounterBucket(limit, state);
  }
}

/** Each token returns exactly one window after it was spent. */
class SlidingBucket implements Bucket {
  readonly #limit: number;
  /** A ring of the times when tokens were spent; `#count` entries from `#oldest` on are in use. */
  #spentAtMs: number[];
  #oldest = 0;
  #count: number;

  constructor(limit: number, spentAtMs: readonly number[] = []) {
    this.#limit = limit;
    this.#spentAtMs = [...spentAtMs];
    this.#count = spentAtMs.length;
  }

  /** The times when tokens were spent, the oldest first. */
  get state(): readonly number[] {
    return this.#oldestFirst().slice(0, this.#count);
  }

  take(nowMs: number): boolean {
    this.#dropReturned(nowMs);
    if (this.#count >= this.#limit) return false;
    this.#push(nowMs);
    return true;
  }

  giveBack(): void {
    if (this.#count > 0) this.#count--;
  }

  /**
   * Replaces the oldest time by now. The ring is full, because a bucket refuses only without
   * tokens.
   */
  spendRefused(nowMs: number): void {
    this.#dropOldest();
    this.#push(nowMs);
  }

  waitMs(nowMs: number): number {
    this.#dropReturned(nowMs);
    if (this.#count < this.#limit) return 0;
    return (this.#spentAtMs[this.#oldest] ?? nowMs) + limitWindowMs - nowMs;
  }

  available(nowMs: number): number {
    this.#dropReturned(nowMs);
    return this.#limit - this.#count;
  }

  #dropReturned(nowMs: number): void {
    while (this.#count > 0 && (this.#spentAtMs[this.#oldest] ?? 0) + limitWindowMs <= nowMs)
      this.#dropOldest();
  }

  #dropOldest(): void {
    this.#oldest = this.#oldest + 1 === this.#spentAtMs.length ? 0 : this.#oldest + 1;
    this.#count--;
  }

  /** The whole ring: the times in use, and then the rest. */
  #oldestFirst(): number[] {
    const ring = this.#spentAtMs;
    return [...ring.slice(this.#oldest), ...ring.slice(0, this.#oldest)];
  }

  /** The ring grows with use, so an address that sends one request costs one number, not N. */
  #push(nowMs: number): void {
    const size = this.#spentAtMs.length;
    if (this.#count < size) {
      this.#spentAtMs[(this.#oldest + this.#count) % size] = nowMs;
    } else {
      this.#spentAtMs = [...this.#oldestFirst(), nowMs];
      const room = Math.min(this.#limit, 2 * size) - this.#spentAtMs.length;
      for (let i = 0; i < room; i++) this.#spentAtMs.push(0);
      this.#oldest = 0;
    }
    this.#count++;
  }
}

/**
 * Refills N/60 tokens a second. Counts in whole units to avoid rounding errors: a token is
 * `limitWindowMs` units, and each millisecond adds N units.
 */
class ContinuousBucket implements Bucket {
  readonly #limit: number;
  #units: number;
  #filledAtMs: number;

  constructor(
    limit: number,
    [units = limit * limitWindowMs, filledAtMs = 0]: readonly number[] = [],
  ) {
    this.#limit = limit;
    this.#units = units;
    this.#filledAtMs = filledAtMs;
  }

  /** The units, and the time when they were counted. */
  get state(): readonly number[] {
    return [this.#units, this.#filledAtMs];
  }

  take(nowMs: number): boolean {
    this.#fill(nowMs);
    if (this.#units < limitWindowMs) return false;
    this.#units -= limitWindowMs;
    return true;
  }

  giveBack(): void {
    this.#units += limitWindowMs;
  }

  /** May leave a debt of N - 1 tokens at most: the next one is then there after one window. */
  spendRefused(): void {
    this.#units = Math.max(this.#units - limitWindowMs, (1 - this.#limit) * limitWindowMs);
  }

  waitMs(nowMs: number): number {
    this.#fill(nowMs);
    return Math.max(0, Math.ceil((limitWindowMs - this.#units) / this.#limit));
  }

  available(nowMs: number): number {
    this.#fill(nowMs);
    return Math.max(0, Math.floor(this.#units / limitWindowMs));
  }

  #fill(nowMs: number): void {
    const full = this.#limit * limitWindowMs;
    this.#units = Math.min(full, this.#units + (nowMs - this.#filledAtMs) * this.#limit);
    this.#filledAtMs = nowMs;
  }
}

/** All N tokens return one window after the first of them was spent. */
class IntervalBucket implements Bucket {
  protected readonly limit: number;
  protected tokens: number;
  /** The start of the present interval, in epoch milliseconds. */
  protected startMs: number;

  constructor(limit: number, [tokens = limit, startMs = 0]: readonly number[] = []) {
    this.limit = limit;
    this.tokens = tokens;
    this.startMs = startMs;
  }

  /** The tokens, and the start of the interval. */
  get state(): readonly number[] {
    return [this.tokens, this.startMs];
  }

  take(nowMs: number): boolean {
    this.#refill(nowMs);
    if (this.tokens === 0) return false;
    if (this.tokens === this.limit) this.startMs = this.startOf(nowMs);
    this.tokens--;
    return true;
  }

  giveBack(): void {
    this.tokens++;
  }

  /** Does nothing: the bucket is already empty, and a refusal does not change when it refills. */
  spendRefused(): void {}

  waitMs(nowMs: number): number {
    this.#refill(nowMs);
    return this.tokens > 0 ? 0 : this.startMs + limitWindowMs - nowMs;
  }

  available(nowMs: number): number {
    this.#refill(nowMs);
    return this.tokens;
  }

  /** The start of the interval that a token opens when it is spent first. */
  protected startOf(nowMs: number): number {
    return nowMs;
  }

  #refill(nowMs: number): void {
    if (nowMs >= this.startMs + limitWindowMs) this.tokens = this.limit;
  }
}

/** All N tokens return at each full minute of the clock; minutes count since 1970. */
class AlignedBucket extends IntervalBucket {
  constructor(limit: number, [tokens = limit, minute = -1]: readonly number[] = []) {
    super(limit, [tokens, minute * limitWindowMs]);
  }

  /** The tokens, and the minute. */
  override get state(): readonly number[] {
    return [this.tokens, this.startMs / limitWindowMs];
  }

  protected override startOf(nowMs: number): number {
    return Math.floor(nowMs / limitWindowMs) * limitWindowMs;
  }
}

/**
 * Counts what passes in each minute of the clock. A request passes while the sum of this
 * minute's count and a share of the last minute's, the part less than 60 s ago, is less than N.
 */
class CounterBucket implements Bucket {
  readonly #limit: number;
  /** The minute of the clock since 1970 that `#current` counts; `#previous` counts the one before. */
  #minute: number;
  #current: number;
  #previous: number;

  constructor(limit: number, [minute = 0, current = 0, previous = 0]: readonly number[] = []) {
    this.#limit = limit;
    this.#minute = minute;
    this.#current = current;
    this.#previous = previous;
  }

  /** The minute, its count and the count of the minute before. */
  get state(): readonly number[] {
    return [this.#minute, this.#current, this.#previous];
  }

  take(nowMs: number): boolean {
    if (this.waitMs(nowMs) > 0) return false;
    this.#current++;
    return true;
  }

  giveBack(): void {
    this.#current--;
  }

  /** The count never exceeds N, so a wait is never longer than one window and a millisecond. */
  spendRefused(): void {
    this.#current = Math.min(this.#current + 1, this.#limit);
  }

  waitMs(nowMs: number): number {
    const elapsedMs = this.#enterMinute(nowMs);
    const left = this.#limit - this.#current;
    if (left > 0) return Math.max(0, firstPassMs(this.#previous, left) - elapsedMs);
    return limitWindowMs - elapsedMs + firstPassMs(this.#current, this.#limit);
  }

  available(nowMs: number): number {
    const elapsedMs = this.#enterMinute(nowMs);
    // Divides last: a rounded share could add a token that `take` refuses.
    const previousShare = (this.#previous * (limitWindowMs - elapsedMs)) / limitWindowMs;
    return Math.max(0, Math.ceil(this.#limit - this.#current - previousShare));
  }

  /** Begins a new minute if the last one is over. Returns the milliseconds since its start. */
  #enterMinute(nowMs: number): number {
    const minute = Math.floor(nowMs / limitWindowMs);
    if (minute !== this.#minute) {
      this.#previous = minute === this.#minute + 1 ? this.#current : 0;
      this.#current = 0;
      this.#minute = minute;
    }
    return nowMs - minute * limitWindowMs;
  }
}

/** The first millisecond of a minute in which the previous one counts for less than `left`. */
function firstPassMs(previous: number, left: number): number {
  if (previous < left) return 0;
  return limitWindowMs + 1 - Math.ceil((left * limitWindowMs) / previous);
}
