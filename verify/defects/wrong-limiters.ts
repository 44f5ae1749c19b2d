/**
 * How a wrong limit is planted. The limiter has a bucket of tokens for each endpoint and caller,
 * and each request that passes spends a token. A defect changes a limit or the limiter's clock,
 * counts a call in another bucket, or replaces the buckets.
 */
import { documentedLimitsPerMinute, type EndpointName } from '#contract/limits.ts';
import { secondMs } from '#contract/time.ts';
import { getOrAdd } from '#io/grouped.ts';
import { Limiter } from '#src/sim/limiter/limiter.ts';
import type { Call, Fields } from './call.ts';
import { answering, handling, refusal } from './combinators.ts';
import type { Planted } from './planted.ts';

/** Gives one endpoint another limit per minute. */
export function withLimit(endpoint: EndpointName, limit: number): Planted {
  return {
    around: (next, { limiter }) => {
      limiter.setLimit(endpoint, limit);
      return next;
    },
  };
}

const minuteSeconds = 60;

/** Makes a minute of the limiter last `seconds`: its clock runs at another speed. */
export function withMinuteOf(seconds: number): Planted {
  class OddClockLimiter extends Limiter {
    constructor(...[now, limits, assumptions]: ConstructorParameters<typeof Limiter>) {
      super(() => (now() * minuteSeconds) / seconds, limits, assumptions);
    }

    override take(endpoint: EndpointName, caller: string): number {
      return Math.ceil((super.take(endpoint, caller) * seconds) / minuteSeconds);
    }
  }
  return { parts: { Limiter: OddClockLimiter } };
}

type BucketOwner = readonly [endpoint: EndpointName, caller: string];

/** A limiter that counts a call in the bucket that `ownerOf` returns; at first, in its own. */
class RedirectingLimiter extends Limiter {
  ownerOf: (endpoint: EndpointName, caller: string) => BucketOwner = (...owner) => owner;

  override take(endpoint: EndpointName, caller: string): number {
    return super.take(...this.ownerOf(endpoint, caller));
  }

  override giveBack(endpoint: EndpointName, caller: string): void {
    super.giveBack(...this.ownerOf(endpoint, caller));
  }
}

/**
 * A call to a limited endpoint. `caller` is the account's id; without a valid key, the client's
 * address with a prefix (`addressCaller`).
 */
export interface LimitedCall extends Call {
  readonly endpoint: EndpointName;
  readonly caller: string;
}

export function countingIn(chooseOwner: (call: LimitedCall) => BucketOwner): Planted {
  const redirecting = handling(({ limiter }) => (call, next) => {
    if (limiter instanceof RedirectingLimiter) {
      // Set before each request, as the owner may depend on all of it, while `take` gets two words.
      // Handling is synchronous, so no other request can see it.
      limiter.ownerOf = (endpoint, caller) => chooseOwner({ ...call, endpoint, caller });
    }
    return next(call.request);
  });
  return { ...redirecting, parts: { Limiter: RedirectingLimiter } };
}

/** Counts calls of one endpoint as calls of the caller that `chooseCaller` returns. */
export function countingAs(
  limitedEndpoint: EndpointName,
  chooseCaller: (call: LimitedCall) => string,
): Planted {
  return countingIn((call) => {
    const { endpoint, caller } = call;
    return [endpoint, endpoint === limitedEndpoint ? chooseCaller(call) : caller];
  });
}

/** A send that is accepted spends as many tokens as `tokensOf` says. */
export function spending(tokensOf: (fields: Fields) => number): Planted {
  return handling(({ limiter }) => (call, next) => {
    const handled = next(call.request);
    if (handled.reply.status !== 202 || call.key === undefined) return handled;
    const { accountId } = call.key.account;
    // The service has spent one token.
    for (let spent = 1; spent < tokensOf(call.fields ?? {}); spent++)
      limiter.take('send', accountId);
    return handled;
  });
}

/** Limits an account's reads of each thing that `thingOf` names; undefined leaves one unlimited. */
export function limitingReads(thingOf: (call: Call) => string | undefined): Planted {
  return handling(({ clock, world }) => {
    const limits = { ...documentedLimitsPerMinute, read: 120 };
    const reads = new Limiter(clock.now, limits, { answers: world.assumptions });
    return (call, next) => {
      const handled = next(call.request);
      const thing = call.endpoint === 'read' ? thingOf(call) : undefined;
      if (thing === undefined || handled.key === undefined) return handled;
      const retryAfterSeconds = reads.take('read', `${handled.key.account.accountId} ${thing}`);
      if (retryAfterSeconds === 0) return handled;
      return { ...handled, reply: refusal({ kind: 'throttled', retryAfterSeconds }, call) };
    };
  });
}

/** Refuses calls with a valid key while the bucket of the chosen owner is empty. */
export function refusingWhileEmpty(
  chooseOwner: (call: Call, accountId: string) => BucketOwner | undefined,
): Planted {
  return answering((call) => {
    const { limiter } = call.simulation;
    const owner = call.key && chooseOwner(call, call.key.account.accountId);
    if (owner === undefined || limiter.available(...owner) !== 0) return undefined;
    // The bucket is empty, so `take` returns the wait.
    return refusal({ kind: 'throttled', retryAfterSeconds: limiter.take(...owner) }, call);
  });
}

/** A wrong bucket: spends a token and returns 0, or returns the milliseconds until it has one. */
export type WrongBucket = (nowMs: number) => number;

/** Replaces every bucket by a wrong one, made by `create`. */
export function withBuckets(create: (limit: number) => WrongBucket): Planted {
  class WrongBucketLimiter extends Limiter {
    readonly #now: () => number;
    readonly #buckets = new Map<string, WrongBucket>();

    constructor(...[now, limits, assumptions]: ConstructorParameters<typeof Limiter>) {
      super(now, limits, assumptions);
      this.#now = now;
    }

    override take(endpoint: EndpointName, caller: string): number {
      const limit = this.limits[endpoint];
      if (limit === null) return 0;
      const bucket = getOrAdd(this.#buckets, `${endpoint} ${caller}`, () => create(limit));
      return Math.ceil(bucket(this.#now()) / secondMs);
    }
  }
  return { parts: { Limiter: WrongBucketLimiter } };
}
