/**
 * The limiter of the reference model: one bucket of N tokens that refills within a window.
 * The service's window is a minute.
 * Rules: ERR-3, LIMIT-1 to LIMIT-5. Assumes: limiterRefill, refusedSpendsToken.
 * Each request computes the refill from the times of earlier requests, in whole numbers.
 */
import type { Assumptions } from './answers.ts';

/** The state of a bucket. Each answer of `limiterRefill` uses the fields that name it. */
export class Bucket {
  /** `sliding`: when each token was spent, oldest first. */
  spentAtMs: number[] = [];
  /** `continuous`: the parts of a token that are missing at `countedAtMs`. */
  missingUnits = 0;
  countedAtMs = 0;
  /**
   * `interval`, `interval_aligned`: the start of the current window, and the tokens spent in it.
   */
  windowStartMs = 0;
  spentInWindow = 0;
  /** `sliding_counter`: the tokens spent in each window of the clock, by its number. */
  counts = new Map<number, number>();
}

/** How a bucket refills; `windowMs`: in which time. */
interface Refill extends Pick<Assumptions, 'limiterRefill' | 'refusedSpendsToken'> {
  readonly windowMs: number;
}

/** Spends a token and returns 0, or returns the milliseconds until the next token. */
export function spendToken(bucket: Bucket, limit: number, nowMs: number, refill: Refill): number {
  const { limiterRefill, windowMs } = refill;
  switch (limiterRefill) {
    case 'sliding':
      return spendSliding(bucket, limit, nowMs, refill);
    case 'continuous':
      return spendContinuous(bucket, limit, nowMs, refill);
    case 'interval_aligned':
      return spendInWindow(bucket, limit, nowMs, Math.floor(nowMs / windowMs) * windowMs, windowMs);
    case 'sliding_counter':
      return spendCounted(bucket, limit, nowMs, refill);
    case 'interval': {
      const isOver = nowMs >= bucket.windowStartMs + windowMs || bucket.spentInWindow === 0;
      return spendInWindow(bucket, limit, nowMs, isOver ? nowMs : bucket.windowStartMs, windowMs);
    }
  }
}

function spendSliding(bucket: Bucket, limit: number, nowMs: number, refill: Refill) {
  const { windowMs, refusedSpendsToken } = refill;
  bucket.spentAtMs = bucket.spentAtMs.filter((atMs) => atMs > nowMs - windowMs);
  if (bucket.spentAtMs.length < limit) {
    bucket.spentAtMs.push(nowMs);
    return 0;
  }
  if (refusedSpendsToken === 'yes') {
    bucket.spentAtMs.shift();
    bucket.spentAtMs.push(nowMs);
  }
  return (bucket.spentAtMs[0] ?? nowMs) + windowMs - nowMs;
}

function spendContinuous(bucket: Bucket, limit: number, nowMs: number, refill: Refill) {
  const { windowMs, refusedSpendsToken } = refill;
  // `limit` parts of a token return every millisecond; it has `windowMs` of them.
  bucket.missingUnits = Math.max(0, bucket.missingUnits - (nowMs - bucket.countedAtMs) * limit);
  bucket.countedAtMs = nowMs;
  const remainingUnits = limit * windowMs - bucket.missingUnits;
  if (remainingUnits >= windowMs) {
    bucket.missingUnits += windowMs;
    return 0;
  }
  if (refusedSpendsToken === 'yes')
    bucket.missingUnits = Math.min(bucket.missingUnits + windowMs, (2 * limit - 1) * windowMs);
  const lackingUnits = windowMs - (limit * windowMs - bucket.missingUnits);
  return Math.ceil(lackingUnits / limit);
}

function spendCounted(bucket: Bucket, limit: number, nowMs: number, refill: Refill) {
  const { windowMs, refusedSpendsToken } = refill;
  const countOf = (window: number) => bucket.counts.get(window) ?? 0;
  const hasRoom = (atMs: number) => {
    const window = Math.floor(atMs / windowMs);
    const coveredMs = (window + 1) * windowMs - atMs;
    return countOf(window) * windowMs + countOf(window - 1) * coveredMs < limit * windowMs;
  };
  const window = Math.floor(nowMs / windowMs);
  const passes = hasRoom(nowMs);
  if (passes) bucket.counts.set(window, countOf(window) + 1);
  else if (refusedSpendsToken === 'yes')
    bucket.counts.set(window, Math.min(countOf(window) + 1, limit));
  if (passes) return 0;
  // Room only grows while no request comes, so the first moment with room can be bisected.
  let [full, free] = [nowMs, nowMs + 2 * windowMs];
  while (free - full > 1) {
    const middle = Math.floor((full + free) / 2);
    if (hasRoom(middle)) free = middle;
    else full = middle;
  }
  return free - nowMs;
}

function spendInWindow(
  bucket: Bucket,
  limit: number,
  nowMs: number,
  startMs: number,
  windowMs: number,
) {
  if (startMs !== bucket.windowStartMs) {
    bucket.windowStartMs = startMs;
    bucket.spentInWindow = 0;
  }
  if (bucket.spentInWindow < limit) {
    bucket.spentInWindow += 1;
    return 0;
  }
  return bucket.windowStartMs + windowMs - nowMs;
}
