/**
 * Planted limiters, sound ones and faulty ones, on a clock that is passed in. A family such as
 * `fixedWindow` returns a maker of limiters, each of which has counts of its own. The sound ones are
 * those of the reference model.
 */
import type { Reply, Subject } from '#audit/run.ts';
import { getOrAdd } from '#io/grouped.ts';
import type { Assumptions } from '../model/answers.ts';
import { Bucket, spendToken } from '../model/reference-limiter.ts';

export interface Decision {
  readonly passes: boolean;
  /** Milliseconds until the next request would pass. */
  readonly waitMs: number;
}

/** Decides about a request at this time of the clock, in milliseconds. */
type KeylessLimiter = (now: number) => Decision;

/** Decides about a request of the caller with this key. */
export type Limiter = (key: string, now: number) => Decision;

const pass: Decision = { passes: true, waitMs: 0 };
const refuse = (waitMs: number): Decision => ({ passes: false, waitMs });

export function perKey(make: () => KeylessLimiter): Limiter {
  const limiters = new Map<string, KeylessLimiter>();
  return (key, now) => getOrAdd(limiters, key, make)(now);
}

const modelled =
  (limiterRefill: Assumptions['limiterRefill']) =>
  (limit: number, windowMs: number, refusalsSpend = false) =>
  () => {
    const bucket = new Bucket();
    const refill = {
      limiterRefill,
      refusedSpendsToken: refusalsSpend ? 'yes' : 'no',
      windowMs,
    } as const;
    return (now: number) => {
      const waitMs = spendToken(bucket, limit, now, refill);
      return waitMs === 0 ? pass : refuse(waitMs);
    };
  };

/** A window that its first request opens. */
export const fixedWindow = modelled('interval');
/** Windows of the clock. */
export const alignedWindow = modelled('interval_aligned');
export const slidingLog = modelled('sliding');
/** Tokens that return one by one. */
export const tokenBucket = modelled('continuous');
/** Windows of the clock, with a share of the previous one. */
export const slidingCounter = modelled('sliding_counter');

/** A sliding counter whose first window is opened by a request after a window without any. */
export const slidingCounterFromFirst =
  (limit: number, windowMs: number, refusalsSpend = false) =>
  () => {
    let [begin, last, current] = [Number.NEGATIVE_INFINITY, 0, 0];
    return (now: number) => {
      const windows = Math.floor((now - begin) / windowMs);
      if (windows >= 2) [begin, last, current] = [now, 0, 0];
      if (windows === 1) [begin, last, current] = [begin + windowMs, current, 0];
      const share = 1 - (now - begin) / windowMs;
      const passes = Math.floor(current + share * last) < limit;
      if (passes || refusalsSpend) current += 1;
      return passes ? pass : refuse(windowMs);
    };
  };

/**
 * A window that each request prolongs, also a refused one. `isStale`: a refusal states what was left
 * before it.
 */
export const prolonged =
  (limit: number, windowMs: number, { isStale = false } = {}) =>
  () => {
    let [last, count] = [Number.NEGATIVE_INFINITY, 0];
    return (now: number) => {
      const leftMs = windowMs - (now - last);
      if (leftMs <= 0) count = 0;
      last = now;
      count += 1;
      return count <= limit ? pass : refuse(isStale ? leftMs : windowMs);
    };
  };

/** A window that a request opens, and a bucket of as many tokens: a request needs a place in both. */
export const windowAndBucket = (limit: number, windowMs: number) => () => {
  let [tokens, last, begin, used] = [limit, 0, Number.NEGATIVE_INFINITY, 0];
  return (now: number) => {
    tokens = Math.min(limit, tokens + ((now - last) * limit) / windowMs);
    last = now;
    if (now - begin >= windowMs) [begin, used] = [now, 0];
    if (used >= limit || tokens < 1) return refuse(windowMs);
    [tokens, used] = [tokens - 1, used + 1];
    return pass;
  };
};

/** A window that its first request opens; the first refusal blocks for some time. */
export const blocking = (limit: number, windowMs: number, blockMs: number) => () => {
  let [begin, count, until] = [Number.NEGATIVE_INFINITY, 0, 0];
  return (now: number) => {
    if (now < until) return refuse(until - now);
    if (until > 0 || now - begin >= windowMs) [begin, count, until] = [now, 0, 0];
    count += 1;
    if (count > limit) until = now + blockMs;
    return count > limit ? refuse(blockMs) : pass;
  };
};

/** Two workers that do not share their counts; chance decides which one gets a request. */
export function workers(make: () => Limiter, seed: number): Limiter {
  const [first, second] = [make(), make()];
  let drawn = seed;
  return (key, now) => {
    drawn = (drawn * 16_807) % 2_147_483_647;
    return drawn % 2 === 0 ? first(key, now) : second(key, now);
  };
}

/** A limiter that loses its counts just before the request with this number. */
export function restarting(make: () => Limiter, number: number): Limiter {
  let [limiter, count] = [make(), 0];
  return (key, now) => {
    count += 1;
    if (count === number) limiter = make();
    return limiter(key, now);
  };
}

/**
 * Lets each request pass, without counting it, whose number is a multiple of `every`. `before`: the
 * number of requests of other keys before the first one.
 */
export function failingOpen(limiter: Limiter, every: number, before: number): Limiter {
  let count = before;
  return (key, now) => {
    count += 1;
    return count % every === 0 ? pass : limiter(key, now);
  };
}

/** Two limiters: what passes the first must also pass the second. */
export function together(first: Limiter, second: Limiter): Limiter {
  return (key, now) => {
    const decided = first(key, now);
    return decided.passes ? second(key, now) : decided;
  };
}

/** A limiter with a race: it writes its count after other requests have read the old one. */
export function racy(limit: number, windowMs: number): Pick<LimitedServer, 'request' | 'clock'> {
  const bench = new LimitedServer(() => pass);
  let spent: number[] = [];
  const request = async () => {
    spent = spent.filter((time) => time > bench.now - windowMs);
    const isFull = spent.length >= limit;
    await Promise.resolve();
    if (isFull) return { status: 429 };
    spent.push(bench.now);
    return { status: 200 };
  };
  return { request, clock: bench.clock };
}

/** A server behind a limiter, and the clock of both. */
export class LimitedServer {
  now = Date.UTC(2026, 0, 5, 10, 0, 17, 345);
  /** How long a request takes: half of it before the limiter decides. */
  takesMs = () => 4;
  readonly request: (subject: Subject) => Promise<Reply>;

  constructor(
    limiter: Limiter,
    keyOf: (subject: Subject) => string = ({ caller }) => caller,
    headersOf: (decided: Decision) => Record<string, string> = exactWait,
  ) {
    this.request = async (subject) => {
      const halfMs = this.takesMs() / 2;
      this.now += halfMs;
      const decided = limiter(keyOf(subject), this.now);
      this.now += halfMs;
      return { status: decided.passes ? 200 : 429, headers: headersOf(decided) };
    };
  }

  readonly clock = {
    now: () => this.now,
    sleep: async (ms: number) => {
      this.now += ms;
    },
  };
}

export function exactWait({ passes, waitMs }: Decision): Record<string, string> {
  return passes ? {} : { 'retry-after': `${Math.max(1, Math.ceil(waitMs / 1_000))}` };
}
