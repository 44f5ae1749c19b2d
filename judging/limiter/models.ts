/**
 * How a bucket of N requests a minute may refill: one model for each answer of `limiterRefill`. If
 * something about a limiter is unknown, such as when its minutes begin, a model has several
 * versions, and an exchange contradicts it only if it contradicts each version. A request may have
 * spent its token at any time between its start and its reply. Rules: LIMIT-1 to LIMIT-7, AUTH-6.
 */
import type { NamedAnswer } from '#contract/assumptions.ts';
import { minuteMs } from '#contract/time.ts';
import type { Exchange } from '../evidence/exchange.ts';
import {
  type Excess,
  excessIn,
  excessOf,
  type Minutes,
  minuteStart,
  minutesOf,
  type SplitBucket,
  type Window,
} from './bucket.ts';

export type Refill = NamedAnswer<'limiterRefill'>;

/** A model with one value for each thing that is unknown. */
interface Version {
  readonly excess: Excess | undefined;
  /** True if a token was there for the refused request, whenever the spenders spent theirs. */
  hasToken(refusal: Exchange, spenders: readonly Exchange[]): boolean;
}

interface Model {
  /** Tokens that were spent longer ago do not explain a refusal. */
  readonly reachMs: number;
  /** True if refusals that spend prolong the wait; a bucket that refills at once ignores them. */
  readonly refusalsCount: boolean;
  versions(bucket: SplitBucket): Iterable<Version>;
}

export const models: Readonly<Record<Refill, Model>> = {
  sliding: {
    reachMs: minuteMs,
    refusalsCount: true,
    versions: (bucket) => [
      {
        excess: excessIn(bucket, minutesFromEach(bucket)) ?? excessAfterRefusals(bucket),
        hasToken: hasTokenOfLastMinute(bucket),
      },
    ],
  },
  continuous: {
    reachMs: minuteMs,
    refusalsCount: true,
    versions: (bucket) => [
      {
        excess: continuousExcess(bucket),
        hasToken: (refusal, spenders) => hasContinuousToken(bucket, refusal, spenders),
      },
    ],
  },
  interval: {
    reachMs: minuteMs,
    refusalsCount: false,
    *versions(bucket) {
      const hasToken = hasTokenOfLastMinute(bucket);
      // A minute touches two intervals at most, wherever they begin.
      const ofTwoIntervals = { ...bucket, limit: 2 * bucket.limit };
      const excess = excessIn(ofTwoIntervals, minutesFromEach(bucket));
      // Requests of others may begin and end an interval at any time.
      if (excess !== undefined || bucket.othersSpend) return yield { excess, hasToken };
      const { knownSince } = bucket;
      const end = { earliest: knownSince, latest: knownSince + minuteMs };
      for (const excess of excessesOfIntervals(bucket, end, { tried: 0 }))
        yield { excess, hasToken };
    },
  },
  interval_aligned: {
    reachMs: minuteMs,
    refusalsCount: false,
    *versions(bucket) {
      for (const minutes of minutesOf(bucket)) {
        const { phaseMs, errorMs } = minutes;
        const starts = new Set(bucket.granted.map(({ sentAt }) => minuteStart(sentAt, phaseMs)));
        const windows = [...starts].map((start) => ({
          from: start + errorMs,
          to: start + minuteMs - errorMs,
        }));
        yield {
          excess: excessIn(bucket, windows),
          hasToken: ({ sentAt }, spenders) => {
            const start = minuteStart(sentAt - errorMs, phaseMs) - errorMs - 1;
            return spenders.filter(({ answeredAt }) => answeredAt > start).length < bucket.limit;
          },
        };
      }
    },
  },
  sliding_counter: {
    reachMs: 2 * minuteMs,
    refusalsCount: true,
    *versions(bucket) {
      for (const minutes of minutesOf(bucket)) {
        yield {
          excess: counterExcess(bucket, minutes),
          hasToken: (refusal, spenders) => hasCounterToken(bucket, minutes, refusal, spenders),
        };
      }
    },
  },
};

/** The minute after each request that passed. */
function* minutesFromEach({ granted, spanErrorMs }: SplitBucket): Generator<Window> {
  for (const { sentAt } of granted) yield { from: sentAt, to: sentAt + minuteMs - spanErrorMs };
}

/** If refusals also spend, fewer than N requests were asked in the minute before a pass. */
function excessAfterRefusals(bucket: SplitBucket): Excess | undefined {
  const { granted, refused, limit, refusalsSpend, spanErrorMs } = bucket;
  if (!refusalsSpend) return undefined;
  const spent = [...granted, ...refused];
  for (const exchange of granted) {
    const before = spent.filter(
      ({ sentAt, answeredAt }) =>
        sentAt > exchange.answeredAt - minuteMs + spanErrorMs &&
        answeredAt < exchange.sentAt - spanErrorMs,
    );
    if (before.length >= limit) return { exchange, passed: before.length + 1, spanMs: minuteMs };
  }
  return undefined;
}

function hasTokenOfLastMinute({ limit, spanErrorMs }: SplitBucket): Version['hasToken'] {
  return ({ sentAt }, spenders) => {
    const from = sentAt - minuteMs - spanErrorMs;
    return spenders.filter(({ answeredAt }) => answeredAt > from).length < limit;
  };
}

/** The bounds of an instant. */
interface Instant {
  readonly earliest: number;
  readonly latest: number;
}

/** The most ways to place the intervals that are tried. More would only find more explanations. */
const mostWays = 2_000;

/**
 * For each way to place the intervals, the first excess. An interval is opened by the first request
 * after the end of the last one, and requests near that end may come before or after it. `end`:
 * when the interval ends that may be open where the record begins. `ways`: those tried so far.
 */
function* excessesOfIntervals(
  bucket: SplitBucket,
  end: Instant,
  ways: { tried: number },
): Generator<Excess | undefined> {
  const { granted, doubtful, spanErrorMs } = bucket;
  // The first request that certainly came after the end of the last interval …
  const certain = granted.filter(({ sentAt }) => sentAt >= end.latest);
  if (certain.length === 0 || ways.tried++ > mostWays) return yield undefined;
  const openedBy = Math.min(...certain.map(({ answeredAt }) => answeredAt));
  // … or one before it, near that end, opened the next interval.
  const openers = [...granted, ...doubtful]
    .filter(({ sentAt, answeredAt }) => answeredAt > end.earliest && sentAt <= openedBy)
    .sort((a, b) => a.sentAt - b.sentAt);
  for (const { earliest, latest } of groupsOf(openers)) {
    const opened = Math.max(earliest, end.earliest);
    const window = {
      from: Math.min(end.latest, latest) + spanErrorMs,
      to: opened + minuteMs - spanErrorMs,
    };
    const found = excessIn(bucket, [window]);
    const next = {
      earliest: window.to,
      latest: Math.min(latest, openedBy) + minuteMs + spanErrorMs,
    };
    // Without an excess, the next interval is looked into.
    if (found !== undefined) yield found;
    else yield* excessesOfIntervals(bucket, next, ways);
  }
}

/** Requests within this time of each other count as one opener of an interval. */
const sameOpenerMs = 200;

/** The times of the openers, with those close together as one. */
function groupsOf(openers: readonly Exchange[]): readonly Instant[] {
  const groups: { earliest: number; latest: number }[] = [];
  for (const { sentAt, answeredAt } of openers) {
    const last = groups.at(-1);
    const latest = Math.max(last?.latest ?? answeredAt, answeredAt);
    if (last !== undefined && latest - last.earliest < sameOpenerMs) last.latest = latest;
    else groups.push({ earliest: sentAt, latest: answeredAt });
  }
  return groups;
}

/** The minute before counts by the share of it that the last 60 seconds still cover. */
function counterExcess(bucket: SplitBucket, minutes: Minutes): Excess | undefined {
  const { granted, limit } = bucket;
  const { phaseMs, errorMs } = minutes;
  for (const start of new Set(granted.map(({ sentAt }) => minuteStart(sentAt, phaseMs)))) {
    const within = (from: number) =>
      granted.filter(
        ({ sentAt, answeredAt }) =>
          sentAt >= from + errorMs && answeredAt < from + minuteMs - errorMs,
      );
    const last = within(start - minuteMs).length;
    const current = within(start).toSorted((a, b) => a.answeredAt - b.answeredAt);
    // The request that the limiter counted last found all others counted.
    const at = current.findIndex(({ answeredAt }, i) => {
      const share = Math.max(0, (start + minuteMs - errorMs - answeredAt) / minuteMs);
      return Math.floor(last * share) + i >= limit;
    });
    const exchange = current[at];
    if (exchange !== undefined) return excessOf(exchange, current.slice(0, at + 1));
  }
  return undefined;
}

function hasCounterToken(
  { limit }: SplitBucket,
  { phaseMs, errorMs }: Minutes,
  { sentAt, answeredAt }: Exchange,
  spenders: readonly Exchange[],
): boolean {
  const starts = [sentAt - errorMs, answeredAt + errorMs].map((at) => minuteStart(at, phaseMs));
  return starts.every((start) => {
    const countSince = (from: number) =>
      spenders.filter((spender) => spender.answeredAt >= from - errorMs).length;
    const current = countSince(start);
    const last = countSince(start - minuteMs) - current;
    const share = Math.min(1, (start + minuteMs + errorMs - sentAt) / minuteMs);
    return current + Math.ceil(last * Math.max(0, share)) + 1 <= limit;
  });
}

/** A continuous refill lets N requests pass, plus N for each minute that they take. */
function continuousExcess({ granted, limit, spanErrorMs }: SplitBucket): Excess | undefined {
  for (const [i, { sentAt }] of granted.entries()) {
    let latest = sentAt;
    for (const [n, exchange] of granted.slice(i).entries()) {
      latest = Math.max(latest, exchange.answeredAt);
      const most = limit + ((latest - sentAt + spanErrorMs) * limit) / minuteMs;
      if (n + 1 > most) return { exchange, passed: n + 1, spanMs: latest - sentAt };
    }
  }
  return undefined;
}

/** A token, and a hundredth for rounding. */
const wholeToken = 1.01;

function hasContinuousToken(
  { limit, spanErrorMs }: SplitBucket,
  refusal: Exchange,
  spenders: readonly Exchange[],
): boolean {
  const latestFirst = spenders.map(({ answeredAt }) => answeredAt).toSorted((a, b) => b - a);
  return latestFirst.every((spentAt, i) => {
    const remaining = limit - (i + 1);
    const returned = ((refusal.sentAt - spanErrorMs - spentAt) * limit) / minuteMs;
    return remaining >= 1 || remaining + returned > wholeToken;
  });
}

/** Tokens that were spent longer ago explain no reply under any model. */
export const longestReachMs = Math.max(...Object.values(models).map(({ reachMs }) => reachMs));
