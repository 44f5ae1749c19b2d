/**
 * Planted limiters, sound ones and faulty ones, on a clock that is passed in. A family such as
 * `fixedWindow` returns a maker of limiters, each of which has counts of its own.
 */
import type { Reply, Subject } from '#audit/run.ts';

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

/** One limiter for each key. */
export function perKey(make: () => KeylessLimiter): Limiter {
  const limiters = new Map<string, KeylessLimiter>();
  return (key, now) => {
    const limiter = limiters.get(key) ?? make();
    limiters.set(key, limiter);
    return limiter(now);
  };
}

/** A window that its first request opens. */
export const fixedWindow = (limit: number, windowMs: number) => () => {
  let [start, count] = [Number.NEGATIVE_INFINITY, 0];
  return (now: number) => {
    if (now - start >= windowMs) [start, count] = [now, 0];
    count += 1;
    return count <= limit ? pass : refuse(start + windowMs - now);
  };
};

/** Windows of the clock. */
export const alignedWindow = (limit: number, windowMs: number) => () => {
  let [window, count] = [-1, 0];
  return (now: number) => {
    const current = Math.floor(now / windowMs);
    if (current !== window) [window, count] = [current, 0];
    count += 1;
    return count <= limit ? pass : refuse((current + 1) * windowMs - now);
  };
};

export const slidingLog =
  (limit: number, windowMs: number, refusalsSpend = false) =>
  () => {
    let times: number[] = [];
    return (now: number) => {
      times = times.filter((time) => time > now - windowMs);
      const passes = times.length < limit;
      if (passes || refusalsSpend) times.push(now);
      const first = times[times.length - limit] ?? now;
      return passes ? pass : refuse(first + windowMs - now);
    };
  };

/** Tokens that return one by one. */
export const tokenBucket = (capacity: number, perSecond: number) => () => {
  let [tokens, last] = [capacity, 0];
  return (now: number) => {
    tokens = Math.min(capacity, tokens + ((now - last) * perSecond) / 1_000);
    last = now;
    if (tokens < 1) return refuse(((1 - tokens) / perSecond) * 1_000);
    tokens -= 1;
    return pass;
  };
};

/** Windows of the clock, with a share of the previous one. */
export const slidingCounter = (limit: number, windowMs: number) => () => {
  // The number of the window, what passed in it, and what passed in the one before.
  let [window, current, before] = [-1, 0, 0];
  return (now: number) => {
    const number = Math.floor(now / windowMs);
    if (number !== window) {
      before = number === window + 1 ? current : 0;
      [window, current] = [number, 0];
    }
    const wouldPass = (at: number) => {
      const share = 1 - (at % windowMs) / windowMs;
      return before * share + current < limit;
    };
    if (wouldPass(now)) {
      current += 1;
      return pass;
    }
    let [low, high] = [1, (number + 1) * windowMs - now];
    while (low < high) {
      const waitMs = Math.floor((low + high) / 2);
      if (wouldPass(now + waitMs)) high = waitMs;
      else low = waitMs + 1;
    }
    return refuse(low);
  };
};

/** A window that each request prolongs, also a refused one. */
export const prolonged = (limit: number, windowMs: number) => () => {
  let [last, count] = [Number.NEGATIVE_INFINITY, 0];
  return (now: number) => {
    if (now - last >= windowMs) count = 0;
    last = now;
    count += 1;
    return count <= limit ? pass : refuse(windowMs);
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
  readonly #limiter: Limiter;
  readonly #keyOf: (subject: Subject) => string;
  readonly #headersOf: (decided: Decision) => Record<string, string>;

  constructor(
    limiter: Limiter,
    keyOf: (subject: Subject) => string = ({ caller }) => caller,
    headersOf: (decided: Decision) => Record<string, string> = exactWait,
  ) {
    this.#limiter = limiter;
    this.#keyOf = keyOf;
    this.#headersOf = headersOf;
  }

  readonly request = async (subject: Subject): Promise<Reply> => {
    const halfMs = this.takesMs() / 2;
    this.now += halfMs;
    const decided = this.#limiter(this.#keyOf(subject), this.now);
    this.now += halfMs;
    return { status: decided.passes ? 200 : 429, headers: this.#headersOf(decided) };
  };

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
