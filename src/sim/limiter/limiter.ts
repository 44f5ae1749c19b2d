/**
 * The rate limiter: a token bucket (`buckets.ts`) for each endpoint and each caller, which is an
 * account or, for a request without a valid key, a client address.
 * Rules: LIMIT-1 to LIMIT-7, AUTH-6, ERR-3. Assumes: limiterRefill, refusedSpendsToken.
 * A bucket that has refilled completely equals a new one, so buckets that were not used for two
 * windows are dropped, and memory follows the recent callers.
 */
import {
  type EndpointName,
  endpointNames,
  type LimitsPerMinute,
  limitWindowMs,
} from '#contract/limits.ts';
import { secondMs } from '#contract/time.ts';
import type { Assumptions, AssumptionsInForce } from '../assumptions.ts';
import { assert } from '../errors.ts';
import { type Bucket, createBucket } from './buckets.ts';

/** The state of an endpoint's buckets by caller; the fields are those of `EndpointBuckets`. */
export interface EndpointState {
  readonly limit: number | null;
  readonly turnedAtMs: number;
  readonly recent: readonly (readonly [caller: string, state: readonly number[]])[];
  readonly older: readonly (readonly [caller: string, state: readonly number[]])[];
}

/**
 * The number of buckets of one endpoint from which on new addresses share one. A client can forge
 * any number of addresses, and while simulated time stands still no bucket expires.
 */
export const mostAddresses = 100_000;

/** Every bucket refills completely within two windows (`continuous` from its deepest debt). */
const generationMs = 2 * limitWindowMs;

/** The buckets of one endpoint by caller, in two generations. A used bucket moves to `recent`. */
interface EndpointBuckets {
  limit: number | null;
  recent: Map<string, Bucket>;
  older: Map<string, Bucket>;
  /** When `recent` last became `older`. */
  turnedAtMs: number;
}

export class Limiter {
  readonly #now: () => number;
  readonly #endpoints: Record<EndpointName, EndpointBuckets>;
  readonly #assumptions: AssumptionsInForce<'limiterRefill' | 'refusedSpendsToken'>;
  /** Simulated milliseconds in each second that `take` returns. */
  #msPerRetryAfterSecond = secondMs;

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

  /**
   * Spends a token of `caller`'s bucket and returns 0; if there is none, returns the whole seconds
   * to wait (see `setRetryAfterRate`).
   */
  take(endpoint: EndpointName, caller: string): number {
    const buckets = this.#endpoints[endpoint];
    if (buckets.limit === null) return 0;
    const nowMs = this.#now();
    const bucket = this.#bucketOf(buckets, buckets.limit, caller, nowMs);
    if (bucket.take(nowMs)) return 0;
    if (this.#assumptions.answers.refusedSpendsToken === 'yes') bucket.spendRefused(nowMs);
    const waitMs = bucket.waitMs(nowMs);
    assert(waitMs > 0, 'a bucket that refuses has a wait');
    return Math.ceil(waitMs / this.#msPerRetryAfterSecond);
  }

  /** Each second that `take` returns from now on stands for `rate` simulated seconds. */
  setRetryAfterRate(rate: number): void {
    this.#msPerRetryAfterSecond = rate * secondMs;
  }

  get retryAfterRate(): number {
    return this.#msPerRetryAfterSecond / secondMs;
  }

  /** Undoes the `take` that the same request just made. */
  giveBack(endpoint: EndpointName, caller: string): void {
    const { recent } = this.#endpoints[endpoint];
    // An address without a bucket of its own took from the shared one: see `#bucketOf`.
    (recent.get(caller) ?? recent.get(otherAddresses))?.giveBack();
  }

  /** Tokens that `caller` can spend now; null if the endpoint is not limited. */
  available(endpoint: EndpointName, caller: string): number | null {
    const buckets = this.#endpoints[endpoint];
    if (buckets.limit === null) return null;
    return knownBucket(buckets, caller)?.available(this.#now()) ?? buckets.limit;
  }

  /** Milliseconds until `caller`'s next request would pass; 0 if it would pass now. */
  waitMs(endpoint: EndpointName, caller: string): number {
    const buckets = this.#endpoints[endpoint];
    if (buckets.limit === null) return 0;
    return knownBucket(buckets, caller)?.waitMs(this.#now()) ?? 0;
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

  /** A changed refill starts with full buckets. Other assumptions leave the buckets unchanged. */
  assumptionsSwitched(before: Pick<Assumptions, 'limiterRefill'>): void {
    if (before.limiterRefill !== this.#assumptions.answers.limiterRefill) this.reset();
  }

  /** The bucket of a caller, created at first use. New addresses share one if there are many. */
  #bucketOf(buckets: EndpointBuckets, limit: number, caller: string, nowMs: number): Bucket {
    if (nowMs - buckets.turnedAtMs >= generationMs) turnGeneration(buckets, nowMs);
    const recent = buckets.recent.get(caller);
    if (recent !== undefined) return recent;
    const older = buckets.older.get(caller);
    const isNewAddress = older === undefined && caller.startsWith(addressMark);
    const isFull = buckets.recent.size + buckets.older.size >= mostAddresses;
    if (isNewAddress && isFull && caller !== otherAddresses)
      return this.#bucketOf(buckets, limit, otherAddresses, nowMs);
    const bucket = older ?? createBucket(this.#assumptions.answers.limiterRefill, limit);
    buckets.older.delete(caller);
    buckets.recent.set(caller, bucket);
    return bucket;
  }
}

function emptyBuckets(limit: number | null, nowMs: number): EndpointBuckets {
  return { limit, recent: new Map(), older: new Map(), turnedAtMs: nowMs };
}

function knownBucket({ recent, older }: EndpointBuckets, caller: string): Bucket | undefined {
  return recent.get(caller) ?? older.get(caller);
}

/** Drops the buckets that were last used a whole generation ago: they are full again. */
function turnGeneration(buckets: EndpointBuckets, nowMs: number): void {
  buckets.older = buckets.recent;
  buckets.recent = new Map();
  buckets.turnedAtMs = nowMs;
}

/**
 * Begins the caller id of an address. Clients choose the text of a forwarded address, which could
 * equal an account's id without this mark.
 */
const addressMark = 'ip ';
/** The longest spelling of an address. Longer text from a proxy is cut to this length. */
const longestAddress = 64;

/** The caller of the bucket that new addresses share once there are too many. */
const otherAddresses = `${addressMark}any other`;

/** The caller id for a request without an account: its client address (AUTH-6). */
export function addressCaller(address: string): string {
  // Copies character by character: a slice would keep the whole header in memory as long as the
  // bucket.
  return addressMark + Array.from(address.slice(0, longestAddress)).join('');
}
