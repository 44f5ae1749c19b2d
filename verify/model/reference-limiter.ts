/**
 * The limiter of the reference model: one bucket of N tokens that refills within a minute.
 * Rules: ERR-3, LIMIT-1 to LIMIT-5. Assumes: limiterRefill, refusedSpendsToken.
 * Each request computes the refill from the times of earlier requests, in whole numbers.
 */
import { minuteMs } from '#contract/time.ts';
import type { Assumptions } from './answers.ts';

/** The state for each answer of `limiterRefill`: a bucket uses the fields of one answer. */
export interface ReferenceBucket {
  /** `sliding`: when each token was spent, oldest first. */
  spentAt: number[];
  /** `continuous`: the missing 60,000ths of a token at the time `countedAt`. */
  missing: number;
  countedAt: number;
  /**
   * `interval`, `interval_aligned`: the start of the current window, and the tokens spent in it.
   */
  windowStart: number;
  spentInWindow: number;
  /** `sliding_counter`: what each minute of the clock counted. */
  counts: Map<number, number>;
}

export function fullBucket(): ReferenceBucket {
  return {
    spentAt: [],
    missing: 0,
    countedAt: 0,
    windowStart: 0,
    spentInWindow: 0,
    counts: new Map(),
  };
}

/** Spends a token and returns 0, or returns the milliseconds until the next token. */
export function spendToken(
  bucket: ReferenceBucket,
  limit: number,
  now: number,
  { limiterRefill, refusedSpendsToken }: Pick<Assumptions, 'limiterRefill' | 'refusedSpendsToken'>,
): number {
  const refusalCounts = refusedSpendsToken === 'yes';
  switch (limiterRefill) {
    case 'sliding':
      return slidingWait(bucket, limit, now, refusalCounts);
    case 'continuous':
      return continuousWait(bucket, limit, now, refusalCounts);
    case 'interval_aligned':
      return intervalWait(bucket, limit, now, Math.floor(now / minuteMs) * minuteMs);
    case 'sliding_counter':
      return counterWait(bucket, limit, now, refusalCounts);
    case 'interval': {
      const isOver = now >= bucket.windowStart + minuteMs || bucket.spentInWindow === 0;
      return intervalWait(bucket, limit, now, isOver ? now : bucket.windowStart);
    }
  }
}

function slidingWait(bucket: ReferenceBucket, limit: number, now: number, refusalCounts: boolean) {
  bucket.spentAt = bucket.spentAt.filter((at) => at > now - minuteMs);
  if (bucket.spentAt.length < limit) {
    bucket.spentAt.push(now);
    return 0;
  }
  if (refusalCounts) {
    bucket.spentAt.shift();
    bucket.spentAt.push(now);
  }
  return (bucket.spentAt[0] ?? now) + minuteMs - now;
}

function continuousWait(
  bucket: ReferenceBucket,
  limit: number,
  now: number,
  refusalCounts: boolean,
) {
  // `limit` 60,000ths of a token return every millisecond.
  bucket.missing = Math.max(0, bucket.missing - (now - bucket.countedAt) * limit);
  bucket.countedAt = now;
  const remaining = limit * minuteMs - bucket.missing;
  if (remaining >= minuteMs) {
    bucket.missing += minuteMs;
    return 0;
  }
  if (refusalCounts) {
    bucket.missing = Math.min(bucket.missing + minuteMs, (2 * limit - 1) * minuteMs);
  }
  const lacking = minuteMs - (limit * minuteMs - bucket.missing);
  return Math.ceil(lacking / limit);
}

function counterWait(bucket: ReferenceBucket, limit: number, now: number, refusalCounts: boolean) {
  const countOf = (minute: number) => bucket.counts.get(minute) ?? 0;
  const hasRoom = (at: number) => {
    const minute = Math.floor(at / minuteMs);
    const covered = (minute + 1) * minuteMs - at;
    return countOf(minute) * minuteMs + countOf(minute - 1) * covered < limit * minuteMs;
  };
  const minute = Math.floor(now / minuteMs);
  const passes = hasRoom(now);
  if (passes) bucket.counts.set(minute, countOf(minute) + 1);
  else if (refusalCounts) bucket.counts.set(minute, Math.min(countOf(minute) + 1, limit));
  if (passes) return 0;
  // Room only grows while no request comes, so the first moment with room can be bisected.
  let [full, free] = [now, now + 2 * minuteMs];
  while (free - full > 1) {
    const middle = Math.floor((full + free) / 2);
    if (hasRoom(middle)) free = middle;
    else full = middle;
  }
  return free - now;
}

function intervalWait(bucket: ReferenceBucket, limit: number, now: number, windowStart: number) {
  if (windowStart !== bucket.windowStart) {
    bucket.windowStart = windowStart;
    bucket.spentInWindow = 0;
  }
  if (bucket.spentInWindow < limit) {
    bucket.spentInWindow += 1;
    return 0;
  }
  return bucket.windowStart + minuteMs - now;
}
