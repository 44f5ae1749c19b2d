/**
 * How a bucket of N requests a minute may refill: one model for each answer of `limiterRefill`. If
 * something about a limiter is unknown, such as when its minutes begin, a model has several
 * versions, and an exchange contradicts it only if it contradicts each version. A request may have
 * spent its token at any time between its start and its reply. Rules: LIMIT-1 to LIMIT-7, AUTH-6.
 *
 * With a limit of 3, four passes within 50 s contradict `sliding`. They contradict `interval_aligned`
 * only if all are in one minute, wherever minutes may begin: each beginning is a version. By
 * `continuous`, 17 s after all three were spent no request may pass, and 21 s after it one must.
 */
import type { NamedAnswer } from '#contract/assumptions.ts';
import { minuteMs } from '#contract/time.ts';
import type { Exchange } from '../evidence/exchange.ts';
import {
  type Excess,
  edgeMs,
  excessIn,
  excessInFixed,
  type Interval,
  mostSpentBeforeRecord,
  type Spent,
  type SplitBucket,
  type Window,
  waysOfIntervals,
} from './bucket.ts';
import {
  counterExcess,
  counterHadToken,
  countersOf,
  minuteStart,
  minutesOf,
} from './sliding-counter.ts';

export type Refill = NamedAnswer<'limiterRefill'>;

/** Tokens that were spent longer ago explain no reply: a sliding counter looks back this far. */
export const longestReachMs = 2 * minuteMs;

/** A model with one value for each thing that is unknown. */
interface Version {
  /** Passes that exceed the limit; undefined if there are none. */
  readonly excess: Excess | undefined;
  /** True if a token was there for the refused request, whenever the others spent theirs. */
  certainlyHadToken(refusal: Exchange, spent: Spent): boolean;
}

interface Model {
  /** True if refusals that spend prolong the wait; a bucket that refills at once ignores them. */
  readonly refusalsCount: boolean;
  versions(bucket: SplitBucket): Iterable<Version>;
}

export const models: Readonly<Record<Refill, Model>> = {
  sliding: {
    refusalsCount: true,
    versions: (bucket) => [
      {
        excess: excessIn(bucket, minutesFromEach(bucket)) ?? excessAfterRefusals(bucket),
        certainlyHadToken: hadTokenOfLastMinute(bucket),
      },
    ],
  },
  continuous: {
    refusalsCount: true,
    versions: (bucket) => [
      {
        excess: continuousExcess(bucket),
        certainlyHadToken: (refusal, spent) => continuousHadToken(bucket, refusal, spent),
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
        return yield { excess, certainlyHadToken: hadTokenOfLastMinute(bucket) };
      for (const { excess, intervals } of waysOfIntervals(bucket))
        yield { excess, certainlyHadToken: hadTokenOfLastMinute(bucket, intervals) };
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
          certainlyHadToken: ({ sentAt }, spent) => {
            const from = minuteStart(sentAt - errorMs, phaseMs) - errorMs - edgeMs;
            const unknown = mostSpentBeforeRecord(bucket, { from, to: sentAt }, 2 * errorMs);
            return spent.countAfter(from) + unknown < bucket.limit;
          },
        };
      }
    },
  },
  sliding_counter: {
    refusalsCount: true,
    *versions(bucket) {
      for (const counter of countersOf(bucket))
        yield {
          excess: counterExcess(bucket, counter),
          certainlyHadToken: (refusal, spent) => counterHadToken(bucket, counter, refusal, spent),
        };
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

/**
 * A token was there if fewer than N may have been spent in the last minute, which begins as early as
 * it can. `intervals`: if given, a request spends only from the one that holds it.
 */
function hadTokenOfLastMinute(
  bucket: SplitBucket,
  intervals: readonly Interval[] = [],
): Version['certainlyHadToken'] {
  const { limit, spanErrorMs } = bucket;
  return ({ sentAt }, spent) => {
    const minuteAgo = sentAt - minuteMs - spanErrorMs;
    const interval = intervals.find(({ endsBy }) => endsBy > sentAt - spanErrorMs);
    const from = Math.max(minuteAgo, (interval?.openedAt ?? minuteAgo) - spanErrorMs - edgeMs);
    const unknown = mostSpentBeforeRecord(
      bucket,
      { from, to: sentAt - spanErrorMs },
      2 * spanErrorMs,
    );
    return spent.countAfter(from) + unknown < limit;
  };
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

/**
 * True if the bucket certainly held a token for the refused request: the fewest tokens at some
 * earlier time, with those that returned since and without those that were spent since, are one. It
 * is enough to know that it was not below zero at the start, or after one request that passed. With a
 * limit of 3, of which one returns in 20 s, and passes at 0, 1 and 2 s: one is there at 23 s.
 */
function continuousHadToken(bucket: SplitBucket, refusal: Exchange, spent: Spent): boolean {
  const { limit, granted, knownSince, refusalsSpend, spanErrorMs } = bucket;
  const returnedSince = (at: number) => ((refusal.sentAt - spanErrorMs - at) * limit) / minuteMs;
  const spenders = spent.all();
  const isFilled = spenders.every(({ answeredAt }, i) => {
    const remaining = limit - (spenders.length - i);
    return remaining >= 1 || remaining + returnedSince(answeredAt) > wholeToken;
  });
  if (!isFilled) return false;
  // The bucket may have been empty where the record begins. Unknown refusals that spend may even
  // have left less than nothing.
  const atStart = refusalsSpend ? -limit : 0;
  if (atStart + returnedSince(knownSince) - spenders.length > wholeToken) return true;
  // It had a token for each request that passed, which is itself among those that spent since.
  return granted.some(({ sentAt, answeredAt }) => {
    const later = spent.countSince(sentAt - spanErrorMs) - 1;
    return returnedSince(answeredAt) - later > wholeToken;
  });
}
