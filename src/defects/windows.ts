/**
 * Limits that are exact in the first minute and wrong over several: tokens saved or lost while the
 * caller sends nothing, windows of another length, counters that miss a request. Each defect's name
 * states the `Retry-After` that it still gets right. Rules: LIMIT-1 to LIMIT-5.
 */
import { Limiter } from '../sim/limiter.ts';
import { type EndpointName, limitWindowMs, msPerSecond } from '../sim/limits.ts';
import type { Defects, Planted } from './planted.ts';

/** Spends a token and returns 0, or the milliseconds until the next would pass. */
type Take = (nowMs: number) => number;

/** Gives every caller a bucket from `create`, at each endpoint. */
function counted(create: (limit: number) => Take): Planted {
  class OwnLimiter extends Limiter {
    readonly #time: () => number;
    readonly #takes = new Map<string, Take>();

    constructor(...[now, limits, assumptions]: ConstructorParameters<typeof Limiter>) {
      super(now, limits, assumptions);
      this.#time = now;
    }

    override take(endpoint: EndpointName, caller: string): number {
      const limit = this.limits[endpoint];
      if (limit === null) return 0;
      const name = `${endpoint} ${caller}`;
      const take = this.#takes.get(name) ?? create(limit);
      this.#takes.set(name, take);
      return Math.ceil(take(this.#time()) / msPerSecond);
    }
  }
  return { parts: { Limiter: OwnLimiter } };
}

/** The request that opens a window counts only in the first window. */
function oneMoreLater(limit: number): Take {
  let startMs = 0;
  let count = 0;
  return (nowMs) => {
    if (nowMs - startMs >= limitWindowMs) {
      count = startMs === 0 ? 1 : 0;
      startMs = nowMs;
      return 0;
    }
    if (count >= limit) return startMs + limitWindowMs - nowMs;
    count++;
    return 0;
  };
}

/** A window that follows a window with refusals lasts twice as long. */
function doubled(limit: number): Take {
  let endsAtMs = 0;
  let lengthMs = limitWindowMs;
  let count = 0;
  let hasRefused = false;
  return (nowMs) => {
    if (nowMs >= endsAtMs) {
      lengthMs = hasRefused ? 2 * lengthMs : limitWindowMs;
      endsAtMs = nowMs + lengthMs;
      count = 0;
      hasRefused = false;
    }
    if (count < limit) {
      count++;
      return 0;
    }
    hasRefused = true;
    return endsAtMs - nowMs;
  };
}

/**
 * Each passing request starts the minute again, like a counter whose expiry is reset on every
 * increment.
 */
function restarted(limit: number): Take {
  let lastMs = 0;
  let count = 0;
  return (nowMs) => {
    if (nowMs - lastMs >= limitWindowMs) count = 0;
    if (count >= limit) return lastMs + limitWindowMs - nowMs;
    count++;
    lastMs = nowMs;
    return 0;
  };
}

/**
 * N/60 tokens a second; `refill` says how many of the passed milliseconds count, and at most `most`
 * tokens are kept.
 */
function refilled(refill: (passedMs: number) => number, most: number) {
  return (limit: number): Take => {
    let units = limit * limitWindowMs;
    let filledAtMs = 0;
    return (nowMs) => {
      const passedMs = filledAtMs === 0 ? 0 : refill(nowMs - filledAtMs);
      units = Math.min(most * limit * limitWindowMs, units + passedMs * limit);
      filledAtMs = nowMs;
      if (units < limitWindowMs) return Math.ceil((limitWindowMs - units) / limit);
      units -= limitWindowMs;
      return 0;
    };
  };
}

/** Counts a request in its current minute, but looks it up in the nearest minute. */
function halfOpen(limit: number): Take {
  const counts = new Map<number, number>();
  return (nowMs) => {
    const minutes = nowMs / limitWindowMs;
    if ((counts.get(Math.round(minutes)) ?? 0) >= limit)
      return limitWindowMs / 2 - (nowMs % limitWindowMs);
    const minute = Math.floor(minutes);
    counts.set(minute, (counts.get(minute) ?? 0) + 1);
    return 0;
  };
}

export const windowDefects: Defects = {
  'limit-later-windows-one-more': counted(oneMoreLater),
  'limit-doubled-after-refusal': counted(doubled),
  'limit-minute-restarts': counted(restarted),
  'limit-idle-tokens-lost': counted(
    refilled((passedMs) => (passedMs > limitWindowMs ? 0 : passedMs), 1),
  ),
  'limit-idle-tokens-saved': counted(refilled((passedMs) => passedMs, 10)),
  'limit-half-a-minute-open': counted(halfOpen),
};
