/**
 * Requests per minute, for each endpoint and each user or client IP.
 * Rules: LIMIT-1 to LIMIT-7, AUTH-6, ERR-3. Assumes: limiterRefill, refusedSpendsToken.
 * One token bucket with four ways to refill. A bucket that nobody has used for long enough to be full
 * again equals a new one, so old ones are dropped a generation at a time: memory follows the callers of
 * the last minutes, not all callers ever. Addresses beyond `mostAddresses` share one bucket.
 */
import type { Assumptions } from './assumptions.ts';
import type { AssumptionsInForce } from './assumptions-in-force.ts';
import { isAddress, mostAddresses, otherAddresses } from './caller.ts';
import { assert } from './errors.ts';
import type { EndpointName, LimitsPerMinute } from './limits.ts';
import { endpointNames, limitWindowMs, msPerSecond } from './limits.ts';

/** N tokens; each passing request spends one. Times are epoch milliseconds, and never go back. */
export interface Bucket {
  /** Spends a token, or returns false when there is none. */
  take(nowMs: number): boolean;
  /** Undoes the last `take`, in the same millisecond. */
  giveBack(): void;
  /** Counts a refused request as spent too (`refusedSpendsToken`). */
  spendRefused(nowMs: number): void;
  /** Milliseconds until `take` would succeed; 0 when it would now. */
  waitMs(nowMs: number): number;
  /** Whole tokens there are now. */
  available(nowMs: number): number;
  /** What it holds, from which `createBucket` makes its equal. */
  readonly state: readonly number[];
}

/** The buckets of one endpoint, as a snapshot holds them. */
export interface EndpointState {
  readonly limit: number | null;
  readonly turnedAtMs: number;
  readonly recent: readonly (readonly [string, readonly number[]])[];
  readonly older: readonly (readonly [string, readonly number[]])[];
}

type Refill = Assumptions['limiterRefill'];

/** Every bucket recovers from its emptiest state within two windows (`continuous` from its deepest debt). */
const generationMs = 2 * limitWindowMs;

interface EndpointBuckets {
  limit: number | null;
  recent: Map<string, Bucket>;
  older: Map<string, Bucket>;
  turnedAtMs: number;
}

export class Limiter {
  readonly #now: () => number;
  readonly #endpoints: Record<EndpointName, EndpointBuckets>;
  readonly #assumptions: AssumptionsInForce<'limiterRefill' | 'refusedSpendsToken'>;
  /** Simulated milliseconds in one second of `take`'s answer. */
  #msPerAnsweredSecond = msPerSecond;

  constructor(
    now: () => number,
    limits: LimitsPerMinute,
    assumptions: AssumptionsInForce<'limiterRefill' | 'refusedSpendsToken'>,
  ) {
    this.#now = now;
    this.#assumptions = assumptions;
    this.#endpoints = Object.fromEntries(
      endpointNames.map((name) => [name, emptyBuckets(limits[name], now())]),
    ) as Record<EndpointName, EndpointBuckets>;
  }

  /** Spends a token of `caller`'s bucket and returns 0, or the whole seconds until the next would pass (see `answerIn`). */
  take(endpoint: EndpointName, caller: string): number {
    const buckets = this.#endpoints[endpoint];
    if (buckets.limit === null) return 0;
    const nowMs = this.#now();
    const bucket = this.#bucket(buckets, buckets.limit, caller, nowMs);
    if (bucket.take(nowMs)) return 0;
    if (this.#assumptions.answers.refusedSpendsToken === 'yes') bucket.spendRefused(nowMs);
    const waitMs = bucket.waitMs(nowMs);
    assert(waitMs > 0, 'a bucket that refuses has a wait');
    return Math.ceil(waitMs / this.#msPerAnsweredSecond);
  }

  /** Answers in seconds of a clock that passes `rate` simulated seconds in each; 1: simulated seconds. */
  answerIn(rate: number): void {
    this.#msPerAnsweredSecond = rate * msPerSecond;
  }

  /** Undoes the `take` that the same request has just made. */
  giveBack(endpoint: EndpointName, caller: string): void {
    const { recent } = this.#endpoints[endpoint];
    // Only an address has no bucket of its own: see `#bucket`.
    (recent.get(caller) ?? recent.get(otherAddresses))?.giveBack();
  }

  /** What `caller` could still spend now; null where the endpoint is not limited. */
  available(endpoint: EndpointName, caller: string): number | null {
    const { limit, recent, older } = this.#endpoints[endpoint];
    if (limit === null) return null;
    return (recent.get(caller) ?? older.get(caller))?.available(this.#now()) ?? limit;
  }

  /** Whole seconds until `caller`'s next request would pass, 0 when it would now; nothing is spent. */
  waitSeconds(endpoint: EndpointName, caller: string): number {
    const { limit, recent, older } = this.#endpoints[endpoint];
    if (limit === null) return 0;
    const bucket = recent.get(caller) ?? older.get(caller);
    return Math.ceil((bucket?.waitMs(this.#now()) ?? 0) / msPerSecond);
  }

  get limits(): LimitsPerMinute {
    return Object.fromEntries(
      endpointNames.map((name) => [name, this.#endpoints[name].limit]),
    ) as Record<EndpointName, number | null>;
  }

  /** Buckets in memory, over all endpoints. */
  get size(): number {
    return endpointNames.reduce((sum, name) => {
      const { recent, older } = this.#endpoints[name];
      return sum + recent.size + older.size;
    }, 0);
  }

  stateOf(endpoint: EndpointName): EndpointState {
    const { limit, turnedAtMs, recent, older } = this.#endpoints[endpoint];
    const statesOf = (buckets: ReadonlyMap<string, Bucket>) =>
      [...buckets].map(([caller, bucket]) => [caller, bucket.state] as const);
    return { limit, turnedAtMs, recent: statesOf(recent), older: statesOf(older) };
  }

  restore(endpoint: EndpointName, { limit, turnedAtMs, recent, older }: EndpointState): void {
    const bucketsOf = (states: EndpointState['recent']) =>
      new Map(
        states.map(([caller, state]) => [
          caller,
          createBucket(this.#assumptions.answers.limiterRefill, limit ?? 1, state),
        ]),
      );
    const buckets = { limit, turnedAtMs, recent: bucketsOf(recent), older: bucketsOf(older) };
    this.#endpoints[endpoint] = buckets;
  }

  /** A changed limit starts with full buckets. */
  setLimit(endpoint: EndpointName, limit: number | null): void {
    this.#endpoints[endpoint] = emptyBuckets(limit, this.#now());
  }

  /** Fills every bucket. */
  reset(): void {
    for (const name of endpointNames) this.setLimit(name, this.#endpoints[name].limit);
  }

  /** A changed refill starts with full buckets; whether a 429 counts changes nothing that was spent. */
  assumptionsSwitched(before: Pick<Assumptions, 'limiterRefill'>): void {
    if (before.limiterRefill !== this.#assumptions.answers.limiterRefill) this.reset();
  }

  #bucket(buckets: EndpointBuckets, limit: number, caller: string, nowMs: number): Bucket {
    if (nowMs - buckets.turnedAtMs >= generationMs) turnGeneration(buckets, nowMs);
    const known = buckets.recent.get(caller);
    if (known !== undefined) return known;
    const older = buckets.older.get(caller);
    if (older === undefined && isFull(buckets) && isAddress(caller) && caller !== otherAddresses) {
      return this.#bucket(buckets, limit, otherAddresses, nowMs);
    }
    const bucket = older ?? createBucket(this.#assumptions.answers.limiterRefill, limit);
    buckets.older.delete(caller);
    buckets.recent.set(caller, bucket);
    return bucket;
  }
}

function emptyBuckets(limit: number | null, nowMs: number): EndpointBuckets {
  return { limit, recent: new Map(), older: new Map(), turnedAtMs: nowMs };
}

/** Accounts are few, so what fills an endpoint's buckets is addresses. */
function isFull({ recent, older }: EndpointBuckets): boolean {
  return recent.size + older.size >= mostAddresses;
}

/** What is dropped here was last used before the previous turn, a whole generation ago: it is full. */
function turnGeneration(buckets: EndpointBuckets, nowMs: number): void {
  buckets.older = buckets.recent;
  buckets.recent = new Map();
  buckets.turnedAtMs = nowMs;
}

/** `state`: that of another bucket of this kind; without it, the bucket is full. */
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
  }
}

/** Each token comes back exactly one window after it was spent: a ring of the last N spendings. */
class SlidingBucket implements Bucket {
  readonly #limit: number;
  #spentAtMs: number[];
  #oldest = 0;
  #count: number;

  constructor(limit: number, spentAtMs: readonly number[] = []) {
    this.#limit = limit;
    this.#spentAtMs = [...spentAtMs];
    this.#count = spentAtMs.length;
  }

  get state(): readonly number[] {
    const ring = this.#spentAtMs;
    return [...ring.slice(this.#oldest), ...ring.slice(0, this.#oldest)].slice(0, this.#count);
  }

  take(nowMs: number): boolean {
    this.#forgetBefore(nowMs);
    if (this.#count >= this.#limit) return false;
    this.#push(nowMs);
    return true;
  }

  giveBack(): void {
    if (this.#count > 0) this.#count--;
  }

  spendRefused(nowMs: number): void {
    this.#oldest = (this.#oldest + 1) % this.#spentAtMs.length;
    this.#count--;
    this.#push(nowMs);
  }

  waitMs(nowMs: number): number {
    this.#forgetBefore(nowMs);
    if (this.#count < this.#limit) return 0;
    return (this.#spentAtMs[this.#oldest] ?? nowMs) + limitWindowMs - nowMs;
  }

  available(nowMs: number): number {
    this.#forgetBefore(nowMs);
    return this.#limit - this.#count;
  }

  #forgetBefore(nowMs: number): void {
    while (this.#count > 0 && (this.#spentAtMs[this.#oldest] ?? 0) + limitWindowMs <= nowMs) {
      this.#oldest = this.#oldest + 1 === this.#spentAtMs.length ? 0 : this.#oldest + 1;
      this.#count--;
    }
  }

  /** The ring grows with use, so an address that came once costs one number, not N. */
  #push(nowMs: number): void {
    const size = this.#spentAtMs.length;
    if (this.#count < size) {
      this.#spentAtMs[(this.#oldest + this.#count) % size] = nowMs;
    } else {
      const ring = this.#spentAtMs;
      this.#spentAtMs = [...ring.slice(this.#oldest), ...ring.slice(0, this.#oldest), nowMs];
      const room = Math.min(this.#limit, 2 * size) - this.#spentAtMs.length;
      for (let i = 0; i < room; i++) this.#spentAtMs.push(0);
      this.#oldest = 0;
    }
    this.#count++;
  }
}

/**
 * N/60 tokens a second. Counted in whole units so that nothing is lost to rounding: a token is
 * `limitWindowMs` units, and a millisecond brings N of them.
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

  /** Debt is bounded, so that no wait is longer than one window. */
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

/** All N come back one window after the first of them was spent. */
class IntervalBucket implements Bucket {
  readonly #limit: number;
  #tokens: number;
  #startedAtMs: number;

  constructor(limit: number, [tokens = limit, startedAtMs = 0]: readonly number[] = []) {
    this.#limit = limit;
    this.#tokens = tokens;
    this.#startedAtMs = startedAtMs;
  }

  get state(): readonly number[] {
    return [this.#tokens, this.#startedAtMs];
  }

  take(nowMs: number): boolean {
    this.#fill(nowMs);
    if (this.#tokens === 0) return false;
    if (this.#tokens === this.#limit) this.#startedAtMs = nowMs;
    this.#tokens--;
    return true;
  }

  giveBack(): void {
    this.#tokens++;
  }

  /** The bucket is empty already, and it fills at the same time whatever was asked of it. */
  spendRefused(): void {}

  waitMs(nowMs: number): number {
    this.#fill(nowMs);
    return this.#tokens > 0 ? 0 : this.#startedAtMs + limitWindowMs - nowMs;
  }

  available(nowMs: number): number {
    this.#fill(nowMs);
    return this.#tokens;
  }

  #fill(nowMs: number): void {
    if (nowMs - this.#startedAtMs >= limitWindowMs) this.#tokens = this.#limit;
  }
}

/** All N come back at each full minute of the clock. */
class AlignedBucket implements Bucket {
  readonly #limit: number;
  #tokens: number;
  #minute: number;

  constructor(limit: number, [tokens = limit, minute = -1]: readonly number[] = []) {
    this.#limit = limit;
    this.#tokens = tokens;
    this.#minute = minute;
  }

  get state(): readonly number[] {
    return [this.#tokens, this.#minute];
  }

  take(nowMs: number): boolean {
    if (this.available(nowMs) === 0) return false;
    this.#tokens--;
    return true;
  }

  giveBack(): void {
    this.#tokens++;
  }

  /** As for `interval`. */
  spendRefused(): void {}

  waitMs(nowMs: number): number {
    return this.available(nowMs) > 0 ? 0 : limitWindowMs - (nowMs % limitWindowMs);
  }

  available(nowMs: number): number {
    const minute = Math.floor(nowMs / limitWindowMs);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#tokens = this.#limit;
    }
    return this.#tokens;
  }
}
