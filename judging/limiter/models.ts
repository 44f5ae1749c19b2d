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
import type { Exchange } from '../evidence/exchange.ts';
import {
  countAfter,
  type Excess,
  edgeMs,
  excessIn,
  excessInFixed,
  type Interval,
  minuteStart,
  minutesOf,
  mostSpentBeforeRecord,
  type SplitBucket,
  type Window,
  waysOfIntervals,
} from './bucket.ts';
import { continuousExcess, continuousHadToken } from './continuous.ts';
import { counterExcess, counterHadToken, countersOf } from './sliding-counter.ts';

export type Refill = NamedAnswer<'limiterRefill'>;

/** Tokens that were spent longer ago explain no reply: a sliding counter looks back this far. */
export const longestReachMs = 2 * minuteMs;

/** A model with one value for each thing that is unknown. */
interface Version {
  /** Passes that exceed the limit; undefined if there are none. */
  readonly excess: Excess | undefined;
  /** True if a token was there for the refused request, whenever the spenders spent theirs. */
  certainlyHadToken(refusal: Exchange, spenders: readonly Exchange[]): boolean;
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
        certainlyHadToken: (refusal, spenders) => continuousHadToken(bucket, refusal, spenders),
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
          certainlyHadToken: ({ sentAt }, spenders) => {
            const from = minuteStart(sentAt - errorMs, phaseMs) - errorMs - edgeMs;
            const unknown = mostSpentBeforeRecord(bucket, { from, to: sentAt }, 2 * errorMs);
            return countAfter(from, spenders) + unknown < bucket.limit;
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
          certainlyHadToken: (refusal, spenders) =>
            counterHadToken(bucket, counter, refusal, spenders),
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

/** `intervals`: if given, a request spends only from the one that holds it. */
function hadTokenOfLastMinute(
  bucket: SplitBucket,
  intervals: readonly Interval[] = [],
): Version['certainlyHadToken'] {
  const { limit, spanErrorMs } = bucket;
  return ({ sentAt }, spenders) => {
    const minuteAgo = sentAt - minuteMs - spanErrorMs;
    const interval = intervals.find(({ endsBy }) => endsBy > sentAt - spanErrorMs);
    const from = Math.max(minuteAgo, (interval?.openedAt ?? minuteAgo) - spanErrorMs - edgeMs);
    const unknown = mostSpentBeforeRecord(
      bucket,
      { from, to: sentAt - spanErrorMs },
      2 * spanErrorMs,
    );
    return countAfter(from, spenders) + unknown < limit;
  };
}
