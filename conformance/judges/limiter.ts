/**
 * Decides whether a limit of N per minute explains which requests of one bucket passed. The
 * document leaves open how a bucket refills and what spends from it, so each permitted limiter is a
 * hypothesis: a bucket breaks its rule if every hypothesis is contradicted. Rules: LIMIT-1 to
 * LIMIT-7, AUTH-6. A request may have spent its token at any time between its start and its reply,
 * and the target's clock may differ from ours; a contradiction holds for all of these times.
 */
import { minuteMs } from '../../src/ledger/time-units.ts';
import type { Ahead } from '../clock-offset.ts';
import type { Exchange } from './exchange.ts';

/** The requests that spend from one limit: those to one endpoint from one account or address. */
export interface Bucket {
  /** The endpoint. */
  readonly name: string;
  /** Requests per minute. */
  readonly limit: number;
  /** Calls without an account are answered 401 until their address is throttled. */
  readonly isOfAddress: boolean;
  /** In the order in which they were sent. */
  readonly exchanges: readonly Exchange[];
  /** `exchanges` has every request to the bucket since this time. */
  readonly knownSince: number;
  /** See `Trace`. */
  readonly hasExactTimes: boolean;
  /** The largest error of an interval between two times. */
  readonly slackMs: number;
  /** Set for recorded traffic, of which no window is known to start with a full bucket. */
  readonly ahead?: Ahead;
}

type Refill = 'sliding' | 'continuous' | 'interval' | 'interval_aligned';

/** One permitted limiter (`limiterRefill`, `refusedSpendsToken`, `errorsSpendToken`, `replaySpends`). */
interface Hypothesis {
  readonly refill: Refill;
  readonly refusalsSpend: boolean;
  readonly errorsSpend: boolean;
  readonly replaysSpend: boolean;
}

const yesAndNo = [true, false];
const refills: readonly Refill[] = ['sliding', 'continuous', 'interval', 'interval_aligned'];
const hypotheses: readonly Hypothesis[] = refills.flatMap((refill) =>
  // A bucket that refills all at once is not refilled later for a refusal.
  (refill.startsWith('interval') ? [false] : yesAndNo).flatMap((refusalsSpend) =>
    yesAndNo.flatMap((errorsSpend) =>
      yesAndNo.map((replaysSpend) => ({ refill, refusalsSpend, errorsSpend, replaysSpend })),
    ),
  ),
);

/** A bucket under one hypothesis. */
interface SplitBucket extends Bucket {
  /** The requests that passed and spent a token. */
  readonly granted: readonly Exchange[];
  /** The 429s. */
  readonly refused: readonly Exchange[];
}

/** A reply that a hypothesis cannot explain. */
export interface Unexplained {
  readonly exchange: Exchange;
  readonly expected: string;
  readonly actual: string;
  /** Requests that passed in the minute before. */
  readonly passed: number;
  /** True if the reply is a 429: too few passed. Another client may have spent the tokens. */
  readonly isTooFew: boolean;
}

/** The largest difference between the target's clock and ours. */
const clockDriftMs = 2_000;

/**
 * Undefined if a hypothesis explains the bucket; otherwise what the best hypothesis cannot explain.
 * With `othersSpend`, unknown clients may explain any 429.
 */
export function unexplained(bucket: Bucket, othersSpend = false): Unexplained | undefined {
  let best: Unexplained | undefined;
  for (const hypothesis of hypotheses) {
    const found = findContradiction(hypothesis, bucket, othersSpend);
    if (found === undefined) return undefined;
    if (best === undefined || isClearer(found, best, bucket.limit)) best = found;
  }
  return best;
}

/** A later contradiction is clearer, but a 429 after at least N requests looks right to a reader. */
function isClearer(found: Unexplained, best: Unexplained, limit: number): boolean {
  const looksRight = ({ isTooFew, passed }: Unexplained) => isTooFew && passed >= limit;
  if (looksRight(found) !== looksRight(best)) return looksRight(best);
  return found.exchange.sentAt > best.exchange.sentAt;
}

export function isRefused({ reply }: Exchange): boolean {
  return reply.status === 429;
}

export function isReplay({ method, reply }: Exchange): boolean {
  return method === 'POST' && reply.status === 200;
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

/** The offset of the target's full minutes from ours, and the largest error of that offset. */
function minutesOf({ hasExactTimes, slackMs, ahead }: Bucket): { phase: number; drift: number } {
  if (hasExactTimes) return { phase: 0, drift: 0 };
  if (ahead === undefined) return { phase: 0, drift: clockDriftMs };
  const { least, most } = ahead;
  return { phase: (least + most) / 2, drift: clockDriftMs + slackMs + (most - least) / 2 };
}

function minuteStart(at: number, phase: number): number {
  return Math.floor((at + phase) / minuteMs) * minuteMs - phase;
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

/** The first request that passed although the limit was reached. */
function findExcess(hypothesis: Hypothesis, bucket: SplitBucket): Unexplained | undefined {
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
