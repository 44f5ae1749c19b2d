/**
 * Finds the first request that passed although a limit was certainly reached, under one hypothesis
 * of how the limiter works. Rules: LIMIT-1 to LIMIT-7, AUTH-6.
 */
import { minuteMs } from '#contract/time.ts';
import type { Exchange } from '../service/exchange.ts';
import {
  type Bucket,
  type Hypothesis,
  minuteStart,
  minutesOf,
  type SplitBucket,
  type Unexplained,
} from './permitted-limiters.ts';

/** The first request that passed although the limit was reached. */
export function findExcess(hypothesis: Hypothesis, bucket: SplitBucket): Unexplained | undefined {
  const { refill, refusalsSpend } = hypothesis;
  if (refill === 'continuous') return findContinuousExcess(bucket);
  const excess = findWindowExcess(windowsOf[refill](bucket), bucket);
  if (excess !== undefined || !refusalsSpend || refill !== 'sliding') return excess;
  const spent = [...bucket.granted, ...bucket.refused];
  for (const exchange of bucket.granted) {
    const before = spent.filter(
      ({ sentAt, answeredAt }) =>
        sentAt > exchange.answeredAt - minuteMs + bucket.slackMs &&
        answeredAt < exchange.sentAt - bucket.slackMs,
    ).length;
    if (before >= bucket.limit) return tooMany(bucket, exchange, before + 1, minuteMs);
  }
  return undefined;
}

function tooMany(
  { limit, name }: Bucket,
  exchange: Exchange,
  passed: number,
  spanMs: number,
): Unexplained {
  return {
    exchange,
    passed,
    isTooFew: false,
    expected: `429 for ${name} after ${limit} requests in a minute`,
    actual: `${passed} passed within ${(spanMs / 1000).toFixed(1)} s`,
  };
}

/** The first of these windows that certainly holds more requests than the limit. */
function findWindowExcess(windows: Iterable<Window>, bucket: SplitBucket): Unexplained | undefined {
  for (const { from, to } of windows) {
    const inside = bucket.granted.filter((each) => each.sentAt >= from && each.answeredAt < to);
    const excess = inside[bucket.limit];
    if (excess !== undefined)
      return tooMany(bucket, excess, inside.length, excess.answeredAt - from);
  }
  return undefined;
}

/** A span of time in which at most N requests may pass. */
interface Window {
  readonly from: number;
  readonly to: number;
}

/** The windows of each refill that lets at most N pass in one. */
const windowsOf = {
  *sliding({ slackMs, granted }: SplitBucket): Generator<Window> {
    for (const { sentAt } of granted) yield { from: sentAt, to: sentAt + minuteMs - slackMs };
  },
  *interval(bucket: SplitBucket): Generator<Window> {
    const { slackMs, ahead, granted } = bucket;
    let nextStart = bucket.knownSince + minuteMs + slackMs;
    for (const [i, { sentAt, answeredAt }] of granted.entries()) {
      const isFull = i === 0 && ahead === undefined && wasFull(bucket, granted);
      if (sentAt < nextStart && !isFull) continue;
      // A window may have begun earlier than its first certain request.
      yield { from: sentAt, to: sentAt + minuteMs - 3 * slackMs };
      nextStart = answeredAt + minuteMs + slackMs;
    }
  },
  *interval_aligned(bucket: SplitBucket): Generator<Window> {
    const { phase, drift } = minutesOf(bucket);
    for (const start of new Set(bucket.granted.map(({ sentAt }) => minuteStart(sentAt, phase))))
      yield { from: start + drift, to: start + minuteMs - drift };
  },
};

/** The bucket regains few tokens within this time. */
const burstMs = 15_000;

/** True if the first N requests passed in a burst: the bucket was full, whatever came before. */
export function wasFull({ limit }: Bucket, granted: readonly Exchange[]): boolean {
  const [first] = granted;
  const last = granted[limit - 1];
  return first !== undefined && last !== undefined && last.answeredAt - first.sentAt < burstMs;
}

/** A continuous refill lets N requests pass, plus N for each minute that they take. */
function findContinuousExcess(bucket: SplitBucket): Unexplained | undefined {
  const { granted } = bucket;
  for (const [i, { sentAt }] of granted.entries()) {
    let latest = sentAt;
    for (const [n, exchange] of granted.slice(i).entries()) {
      latest = Math.max(latest, exchange.answeredAt);
      const spanMs = latest - sentAt + bucket.slackMs;
      const most = bucket.limit + (spanMs * bucket.limit) / minuteMs;
      if (n + 1 > most) return tooMany(bucket, exchange, n + 1, latest - sentAt);
    }
  }
  return undefined;
}
