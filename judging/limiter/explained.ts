/**
 * Decides whether a limit of N per minute explains which requests of one bucket passed. A bucket
 * breaks its rule if every permitted limiter (`permitted-limiters.ts`) is contradicted. Rules:
 * LIMIT-1 to LIMIT-7, AUTH-6. A request may have spent its token at any time between its start and
 * its reply, and the target's clock may differ from ours; a contradiction holds for all of these
 * times.
 */
import { minuteMs } from '#contract/time.ts';
import type { Exchange } from '../service/exchange.ts';
import { findExcess } from './excess.ts';
import {
  type Bucket,
  clockDriftMs,
  type Hypothesis,
  hypotheses,
  isRefused,
  isReplay,
  minuteStart,
  minutesOf,
  type SplitBucket,
  type Unexplained,
} from './permitted-limiters.ts';

/**
 * Undefined if a hypothesis explains the bucket; otherwise what the best hypothesis cannot explain.
 * With `othersSpend`, unknown clients may explain any 429.
 */
export function unexplained(
  bucket: Bucket,
  { othersSpend = false }: { readonly othersSpend?: boolean } = {},
): Unexplained | undefined {
  let best: Unexplained | undefined;
  for (const hypothesis of hypotheses) {
    const found = findContradiction(hypothesis, bucket, othersSpend);
    if (found === undefined) return undefined;
    if (best === undefined || isClearer(found, best, bucket.limit)) best = found;
  }
  return best;
}

/**
 * A later contradiction is clearer, but a 429 after at least N requests looks right to a reader.
 */
function isClearer(found: Unexplained, best: Unexplained, limit: number): boolean {
  const looksRight = ({ isTooFew, passed }: Unexplained) => isTooFew && passed >= limit;
  if (looksRight(found) !== looksRight(best)) return looksRight(best);
  return found.exchange.sentAt > best.exchange.sentAt;
}

/** The first 429 that should have passed, or the first request that passed in excess. */
function findContradiction(
  hypothesis: Hypothesis,
  bucket: Bucket,
  othersSpend: boolean,
): Unexplained | undefined {
  const { exchanges, knownSince, isOfAddress } = bucket;
  const refused = exchanges.filter(isRefused);
  const [firstRefusal] = refused;
  if (isOfAddress && !hypothesis.errorsSpend) return firstRefusal && tooFew(firstRefusal, bucket);
  const granted = exchanges.filter(
    (exchange) =>
      !isRefused(exchange) &&
      exchange.reply.status !== 0 &&
      (hypothesis.replaysSpend || !isReplay(exchange)) &&
      (hypothesis.errorsSpend || exchange.reply.status < 400),
  );
  const split = { ...bucket, granted, refused };
  const wronglyRefused = refused.find(
    (refusal) =>
      !othersSpend &&
      refusal.sentAt - minuteMs >= knownSince &&
      mustPass(hypothesis, split, refusal),
  );
  const excess = findExcess(hypothesis, split);
  if (wronglyRefused === undefined) return excess;
  return excess !== undefined && excess.exchange.sentAt < wronglyRefused.sentAt
    ? excess
    : tooFew(wronglyRefused, bucket);
}

function tooFew(refusal: Exchange, { exchanges, limit, name }: Bucket): Unexplained {
  const passed = exchanges.filter(
    (exchange) =>
      !isRefused(exchange) &&
      exchange.answeredAt > refusal.sentAt - minuteMs &&
      exchange.sentAt <= refusal.sentAt,
  ).length;
  return {
    exchange: refusal,
    passed,
    isTooFew: true,
    expected: `no 429 for ${name} before ${limit} requests in a minute`,
    actual: `429 after ${passed} that passed in the last minute`,
  };
}

/** True if the bucket had a token for the refused request, whenever the others spent theirs. */
function mustPass(hypothesis: Hypothesis, bucket: SplitBucket, refusal: Exchange): boolean {
  const { refill } = hypothesis;
  const { limit, slackMs } = bucket;
  const spenders = possibleSpenders(hypothesis, bucket, refusal);
  if (refill === 'continuous') return hasContinuousToken(bucket, spenders, refusal);
  const { phase, drift } = minutesOf(bucket);
  const windowStart =
    refill === 'interval_aligned'
      ? minuteStart(refusal.sentAt - drift, phase) - drift - 1
      : refusal.sentAt - minuteMs - slackMs;
  return spenders.filter(({ answeredAt }) => answeredAt > windowStart).length < limit;
}

/** All requests that may have spent a token before the refusal. */
function possibleSpenders(
  { refusalsSpend }: Hypothesis,
  { slackMs, granted, refused }: SplitBucket,
  refusal: Exchange,
): Exchange[] {
  const isFirst = !refused.some(
    ({ answeredAt }) =>
      answeredAt < refusal.sentAt && answeredAt > refusal.sentAt - minuteMs - slackMs,
  );
  // Of several refusals at once, any may be the first, which no earlier refusal explains.
  const simultaneous = refused.filter(
    ({ sentAt, answeredAt }) => sentAt <= refusal.answeredAt && answeredAt >= refusal.sentAt,
  );
  const latest = isFirst
    ? Math.max(...simultaneous.map(({ answeredAt }) => answeredAt))
    : refusal.answeredAt;
  const spent = refusalsSpend && !isFirst ? [...granted, ...refused] : granted;
  return spent.filter((exchange) => exchange !== refusal && exchange.sentAt <= latest + slackMs);
}

/** A token, and a hundredth for rounding. */
const wholeToken = 1.01;

function hasContinuousToken(
  { limit, slackMs }: Bucket,
  spenders: readonly Exchange[],
  refusal: Exchange,
): boolean {
  const latestFirst = spenders.map(({ answeredAt }) => answeredAt).toSorted((a, b) => b - a);
  return latestFirst.every((spentAt, i) => {
    const remaining = limit - (i + 1);
    const returned = ((refusal.sentAt - slackMs - spentAt) * limit) / minuteMs;
    return remaining >= 1 || remaining + returned > wholeToken;
  });
}

/**
 * True if a counter explains the reply that adds a part of the count of the minute before to its
 * own, as some proxies have. Such a counter breaks LIMIT-1 to LIMIT-5, but not LIMIT-7 and AUTH-6:
 * it says nothing about whose requests it counts.
 */
export function weightedCounterExplains(
  { exchanges, limit }: Pick<Bucket, 'exchanges' | 'limit'>,
  { exchange: reply, isTooFew }: Pick<Unexplained, 'exchange' | 'isTooFew'>,
): boolean {
  const earlier = exchanges.filter((each) => !isRefused(each) && each.sentAt <= reply.answeredAt);
  const countSince = (from: number) =>
    earlier.filter(({ answeredAt }) => answeredAt >= from).length;
  return [reply.sentAt - clockDriftMs, reply.answeredAt + clockDriftMs].some((at) => {
    const start = Math.floor(at / minuteMs) * minuteMs;
    const current = countSince(start - clockDriftMs);
    const previous = countSince(start - minuteMs - clockDriftMs) - current;
    const weighted = current + previous * (1 - (at - start) / minuteMs);
    return isTooFew ? weighted + 2 > limit : weighted <= limit + 1;
  });
}
