/**
 * How a bucket of N requests a minute may refill: one model for each answer of `limiterRefill`. If
 * something about a limiter is unknown, such as when its minutes begin, a model has several
 * versions, and an exchange contradicts it only if it contradicts each version. A request may have
 * spent its token at any time between its start and its reply. Rules: LIMIT-1 to LIMIT-7, AUTH-6.
 *
 * With a limit of 3, four passes within 50 s contradict `sliding`. They contradict `interval_aligned`
 * only if all are in one minute, wherever minutes may begin: each beginning is a version.
 */
import type { NamedAnswer } from '#contract/assumptions.ts';
import { minuteMs } from '#contract/time.ts';
import { grouped } from '#io/grouped.ts';
import type { Exchange } from '../evidence/exchange.ts';
import {
  type Excess,
  excessIn,
  excessInFixed,
  excessOf,
  type Interval,
  type Minutes,
  minuteStart,
  minutesOf,
  type SplitBucket,
  type Window,
  waysOfIntervals,
} from './bucket.ts';

export type Refill = NamedAnswer<'limiterRefill'>;

/** Tokens that were spent longer ago explain no reply: a sliding counter looks back this far. */
export const longestReachMs = 2 * minuteMs;

/** A model with one value for each thing that is unknown. */
interface Version {
  /** Passes that exceed the limit; undefined if there are none. */
  readonly excess: Excess | undefined;
  /** True if a token was there for the refused request, whenever the spenders spent theirs. */
  hasToken(refusal: Exchange, spenders: readonly Exchange[]): boolean;
}

interface Model {
  /** True if refusals that spend prolong the wait; a bucket that refills at once ignores them. */
  readonly refusalsCount: boolean;
  versions(bucket: SplitBucket): Iterable<Version>;
}

const unlimited = Number.POSITIVE_INFINITY;

export const models: Readonly<Record<Refill, Model>> = {
  sliding: {
    refusalsCount: true,
    versions: (bucket) => [
      {
        excess: excessIn(bucket, minutesFromEach(bucket)) ?? excessAfterRefusals(bucket),
        hasToken: hasTokenOfLastMinute(bucket),
      },
    ],
  },
  continuous: {
    refusalsCount: true,
    versions: (bucket) => [
      {
        excess: continuousExcess(bucket),
        hasToken: (refusal, spenders) => hasContinuousToken(bucket, refusal, spenders),
      },
    ],
  },
  interval: {
    refusalsCount: false,
    *versions(bucket) {
      // A minute touches two intervals at most, wherever they begin.
      const ofTwoIntervals = { ...bucket, limit: 2 * bucket.limit };
      const excess = excessIn(ofTwoIntervals, minutesFromEach(bucket));
      // Requests of others may begin and end an interval at any time.
      if (excess !== undefined || bucket.othersSpend)
        return yield { excess, hasToken: hasTokenOfLastMinute(bucket) };
      for (const { excess, intervals } of waysOfIntervals(bucket))
        yield { excess, hasToken: hasTokenOfLastMinute(bucket, intervals) };
    },
  },
  interval_aligned: {
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
          excess: excessInFixed(bucket, windows),
          hasToken: ({ sentAt }, spenders) => {
            const from = minuteStart(sentAt - errorMs, phaseMs) - errorMs - 1;
            const unknown = mostUnknown(bucket, { from, to: sentAt }, 2 * errorMs);
            return countAfter(from, spenders) + unknown < bucket.limit;
          },
        };
      }
    },
  },
  sliding_counter: {
    refusalsCount: true,
    *versions(bucket) {
      // Refusals that spend may fill a minute's count to the limit, or raise it beyond.
      const mostCounts = bucket.refusalsSpend ? [bucket.limit, unlimited] : [unlimited];
      for (const minutes of minutesOf(bucket)) {
        for (const mostCounted of mostCounts) {
          const counter = { ...minutes, mostCounted };
          yield {
            excess: counterExcess(bucket, counter),
            hasToken: (refusal, spenders) => hasCounterToken(bucket, counter, refusal, spenders),
          };
        }
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

/** `intervals`: if given, a request spends only from the one that holds it. */
function hasTokenOfLastMinute(
  bucket: SplitBucket,
  intervals: readonly Interval[] = [],
): Version['hasToken'] {
  const { limit, spanErrorMs } = bucket;
  return ({ sentAt }, spenders) => {
    const minuteAgo = sentAt - minuteMs - spanErrorMs;
    const interval = intervals.find(({ endsBy }) => endsBy > sentAt - spanErrorMs);
    const from = Math.max(minuteAgo, (interval?.openedAt ?? minuteAgo) - spanErrorMs - 1);
    const unknown = mostUnknown(bucket, { from, to: sentAt - spanErrorMs }, 2 * spanErrorMs);
    return countAfter(from, spenders) + unknown < limit;
  };
}

/** How many of these, which are in the order of their replies, were answered later. */
function countAfter(from: number, spenders: readonly Exchange[]): number {
  return spenders.length - 1 - spenders.findLastIndex(({ answeredAt }) => answeredAt <= from);
}

/**
 * The most tokens of a window that were spent before the record begins: what the requests left that
 * certainly passed in it. Its start may be `errorMs` later than `from`.
 */
function mostUnknown(
  { limit, granted, knownSince, refusalsSpend }: SplitBucket,
  { from, to }: Window,
  errorMs: number,
): number {
  if (from >= knownSince) return 0;
  const passed = granted.filter(
    ({ sentAt, answeredAt }) => sentAt >= from + errorMs && answeredAt <= to,
  ).length;
  // Refusals that spend have no bound, until a request passes.
  return passed === 0 && refusalsSpend ? unlimited : limit - passed;
}

/** A count for each minute of the clock, of at most `mostCounted`. */
interface Counter extends Minutes {
  readonly mostCounted: number;
}

/** The minute before counts by the share of it that the last 60 seconds still cover. */
function counterExcess(bucket: SplitBucket, counter: Counter): Excess | undefined {
  const { granted, refused, limit, refusalsSpend } = bucket;
  const { phaseMs, errorMs, mostCounted } = counter;
  const passes = byMinute(granted, counter);
  const spendingRefusals = byMinute(refusalsSpend ? refused : [], counter);
  const spentIn = (minute: number) =>
    (passes.get(minute)?.length ?? 0) + (spendingRefusals.get(minute)?.length ?? 0);
  for (const [minute, passed] of passes) {
    const start = minute * minuteMs + phaseMs;
    const last = Math.min(spentIn(minute - 1), mostCounted);
    // All of them together do not reach the limit.
    if (last + Math.min(spentIn(minute), mostCounted) < limit) continue;
    const current = passed.toSorted((a, b) => a.answeredAt - b.answeredAt);
    const refusals = spendingRefusals.get(minute) ?? [];
    // The request that the limiter counted last found all others counted.
    const at = current.findIndex(({ sentAt, answeredAt }, i) => {
      const share = Math.max(0, (start + minuteMs - errorMs - answeredAt) / minuteMs);
      const refusedBefore = refusals.filter((refusal) => refusal.answeredAt < sentAt).length;
      const counted = Math.min(i + refusedBefore, mostCounted);
      return Math.floor(last * share) + counted >= limit;
    });
    const exchange = current[at];
    if (exchange !== undefined) return excessOf(exchange, current.slice(0, at + 1));
  }
  return undefined;
}

/** What certainly came within one minute of the clock, by the number of the minute. */
function byMinute(
  exchanges: readonly Exchange[],
  { phaseMs, errorMs }: Minutes,
): ReadonlyMap<number, readonly Exchange[]> {
  const minuteOf = (at: number) => Math.floor((at - phaseMs) / minuteMs);
  const certain = exchanges.filter(
    ({ sentAt, answeredAt }) => minuteOf(sentAt - errorMs) === minuteOf(answeredAt + errorMs),
  );
  return grouped(certain, ({ sentAt }) => minuteOf(sentAt));
}

function hasCounterToken(
  bucket: SplitBucket,
  { phaseMs, errorMs, mostCounted }: Counter,
  { sentAt, answeredAt }: Exchange,
  spenders: readonly Exchange[],
): boolean {
  const starts = [sentAt - errorMs, answeredAt + errorMs].map((at) => minuteStart(at, phaseMs));
  return starts.every((start) => {
    const from = start - errorMs;
    const current = countAfter(from - 1, spenders);
    const last = countAfter(from - minuteMs - 1, spenders) - current;
    const most = (counted: number, window: Window) =>
      Math.min(counted + mostUnknown(bucket, window, 2 * errorMs), mostCounted);
    const all = most(current, { from, to: sentAt - errorMs });
    const allOfLast = most(last, { from: from - minuteMs, to: from });
    const share = Math.min(1, (start + minuteMs + errorMs - sentAt) / minuteMs);
    return all + Math.ceil(allOfLast * Math.max(0, share)) + 1 <= bucket.limit;
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
  bucket: SplitBucket,
  refusal: Exchange,
  spenders: readonly Exchange[],
): boolean {
  const { limit, granted, knownSince, refusalsSpend, spanErrorMs } = bucket;
  const returnedSince = (at: number) => ((refusal.sentAt - spanErrorMs - at) * limit) / minuteMs;
  const latestFirst = spenders.map(({ answeredAt }) => answeredAt).toSorted((a, b) => b - a);
  const isFilled = latestFirst.every((spentAt, i) => {
    const remaining = limit - (i + 1);
    return remaining >= 1 || remaining + returnedSince(spentAt) > wholeToken;
  });
  if (!isFilled) return false;
  // The bucket may have been empty where the record begins. Unknown refusals that spend may even
  // have left less than nothing.
  const atStart = refusalsSpend ? -limit : 0;
  if (atStart + returnedSince(knownSince) - spenders.length > wholeToken) return true;
  // It had a token for each request that passed.
  return granted.some((pass) => {
    const later = spenders.filter(
      (spender) => spender !== pass && spender.answeredAt + spanErrorMs >= pass.sentAt,
    );
    return returnedSince(pass.answeredAt) - later.length > wholeToken;
  });
}
