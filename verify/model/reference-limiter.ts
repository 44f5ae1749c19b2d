/**
 * The limiter of the reference model: one bucket of N tokens that refills within a minute.
 * Rules: ERR-3, LIMIT-1 to LIMIT-5. Assumes: limiterRefill, refusedSpendsToken.
 * Each request computes the refill from the times of earlier requests, in whole numbers.
 */
import { minuteMs } from '#contract/time.ts';
import type { Assumptions } from './answers.ts';

/** The state of a bucket. Each answer of `limiterRefill` uses the fields that name it. */
export class Bucket {
  /** `sliding`: when each token was spent, oldest first. */
  spentAtMs: number[] = [];
  /** `continuous`: the 60,000ths of a token that are missing at `countedAtMs`. */
  missingUnits = 0;
  countedAtMs = 0;
  /**
   * `interval`, `interval_aligned`: the start of the current window, and the tokens spent in it.
   */
  windowStartMs = 0;
  spentInWindow = 0;
  /** `sliding_counter`: the tokens spent in each minute of the clock, by its number. */
  counts = new Map<number, number>();
}

/** Spends a token and returns 0, or returns the milliseconds until the next token. */
export function spendToken(
  bucket: Bucket,
  limit: number,
  nowMs: number,
  { limiterRefill, refusedSpendsToken }: Pick<Assumptions, 'limiterRefill' | 'refusedSpendsToken'>,
): number {
  const refusalSpends = refusedSpendsToken === 'yes';
  switch (limiterRefill) {
    case 'sliding':
      return spendSliding(bucket, limit, nowMs, refusalSpends);
    case 'continuous':
      return spendContinuous(bucket, limit, nowMs, refusalSpends);
    case 'interval_aligned':
      return spendInWindow(bucket, limit, nowMs, Math.floor(nowMs / minuteMs) * minuteMs);
    case 'sliding_counter':
      return spendCounted(bucket, limit, nowMs, refusalSpends);
    case 'interval': {
      const isOver = nowMs >= bucket.windowStartMs + minuteMs || bucket.spentInWindow === 0;
      return spendInWindow(bucket, limit, nowMs, isOver ? nowMs : bucket.windowStartMs);
    }
  }
}

function spendSliding(bucket: Bucket, limit: number, nowMs: number, refusalSpends: boolean) {
  bucket.spentAtMs = bucket.spentAtMs.filter((atMs) => atMs > nowMs - minuteMs);
  if (bucket.spentAtMs.length < limit) {
    bucket.spentAtMs.push(nowMs);
    return 0;
  }
  if (refusalSpends) {
    bucket.spentAtMs.shift();
    bucket.spentAtMs.push(nowMs);
  }
  return (bucket.spentAtMs[0] ?? nowMs) + minuteMs - nowMs;
}

function spendContinuous(bucket: Bucket, limit: number, nowMs: number, refusalSpends: boolean) {
  // `limit` 60,000ths of a token return every millisecond.
  bucket.missingUnits = Math.max(0, bucket.missingUnits - (nowMs - bucket.countedAtMs) * limit);
  bucket.countedAtMs = nowMs;
  const remainingUnits = limit * minuteMs - bucket.missingUnits;
  if (remainingUnits >= minuteMs) {
    bucket.missingUnits += minuteMs;
    return 0;
  }
  if (refusalSpends)
    bucket.missingUnits = Math.min(bucket.missingUnits + minuteMs, (2 * limit - 1) * minuteMs);
  const lackingUnits = minuteMs - (limit * minuteMs - bucket.missingUnits);
  return Math.ceil(lackingUnits / limit);
}

function spendCounted(bucket: Bucket, limit: number, nowMs: number, refusalSpends: boolean) {
  const countOf = (minute: number) => bucket.counts.get(minute) ?? 0;
  const hasRoom = (atMs: number) => {
    const minute = Math.floor(atMs / minuteMs);
    const coveredMs = (minute + 1) * minuteMs - atMs;
    return countOf(minute) * minuteMs + countOf(minute - 1) * coveredMs < limit * minuteMs;
  };
  const minute = Math.floor(nowMs / minuteMs);
  const passes = hasRoom(nowMs);
  if (passes) bucket.counts.set(minute, countOf(minute) + 1);
  else if (refusalSpends) bucket.counts.set(minute, Math.min(countOf(minute) + 1, limit));
  if (passes) return 0;
  // Room only grows while no request comes, so the first moment with room can be bisected.
  let [full, free] = [nowMs, nowMs + 2 * minuteMs];
  while (free - full > 1) {
    const middle = Math.floor((full + free) / 2);
    if (hasRoom(middle)) free = middle;
    else full = middle;
  }
  return free - nowMs;
}

function spendInWindow(bucket: Bucket, limit: number, nowMs: number, startMs: number) {
  if (startMs !== bucket.windowStartMs) {
    bucket.windowStartMs = startMs;
    bucket.spentInWindow = 0;
  }
  if (bucket.spentInWindow < limit) {
    bucket.spentInWindow += 1;
    return 0;
  }
  return bucket.windowStartMs + minuteMs - nowMs;
}
