/**
 * The minutes of a clock, and the model of a sliding counter: it counts each minute, and adds the
 * count of the minute before by the share of it that the last 60 seconds still cover.
 *
 * With a limit of 10, and 8 requests in the minute before: 15 s into a minute, three quarters of the
 * minute before are covered, so 6 of them count and 4 more requests pass.
 */
import { minuteMs } from '#contract/time.ts';
import { grouped } from '#io/grouped.ts';
import { unknownOffset } from '../evidence/clock-offset.ts';
import type { Exchange } from '../evidence/exchange.ts';
import {
  type Bucket,
  type Excess,
  edgeMs,
  excessOf,
  mostSpentBeforeRecord,
  type Spent,
  type SplitBucket,
  type Window,
} from './bucket.ts';

/** When the minutes of a clock begin: `phaseMs` after a full minute of ours, to within `errorMs`. */
export interface Minutes {
  readonly phaseMs: number;
  readonly errorMs: number;
}

/** The step between two places at which a minute may begin. */
const phaseStepMs = 100;

/** Each way in which the target's minutes may begin, as far as its clock is known. */
export function minutesOf({ hasExactTimes, ahead, spanErrorMs }: Bucket): Minutes[] {
  if (hasExactTimes) return [{ phaseMs: 0, errorMs: 0 }];
  const isKnown = ahead !== undefined && ahead !== unknownOffset;
  const { least, most } = isKnown ? ahead : { least: 0, most: minuteMs };
  const minutes: Minutes[] = [];
  for (let offsetMs = least; offsetMs <= Math.min(most, least + minuteMs); offsetMs += phaseStepMs)
    minutes.push({ phaseMs: -offsetMs, errorMs: phaseStepMs + spanErrorMs });
  return minutes;
}

/** The start of the minute that holds this time. */
export function minuteStart(at: number, phaseMs: number): number {
  return Math.floor((at - phaseMs) / minuteMs) * minuteMs + phaseMs;
}

/** A count for each minute of the clock, of at most `mostCounted`. */
interface Counter extends Minutes {
  readonly mostCounted: number;
}

/** Each counter that the bucket may have. */
export function* countersOf(bucket: SplitBucket): Generator<Counter> {
  // Refusals that spend may fill a minute's count to the limit, or raise it beyond.
  const unlimited = Number.POSITIVE_INFINITY;
  const mostCounts = bucket.refusalsSpend ? [bucket.limit, unlimited] : [unlimited];
  for (const minutes of minutesOf(bucket))
    for (const mostCounted of mostCounts) yield { ...minutes, mostCounted };
}

/** The first pass in a minute whose counts had certainly reached the limit. */
export function counterExcess(bucket: SplitBucket, counter: Counter): Excess | undefined {
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

/** True if the counts of both minutes certainly left a token for the refused request. */
export function counterHadToken(
  bucket: SplitBucket,
  { phaseMs, errorMs, mostCounted }: Counter,
  { sentAt, answeredAt }: Exchange,
  spent: Spent,
): boolean {
  const starts = [sentAt - errorMs, answeredAt + errorMs].map((at) => minuteStart(at, phaseMs));
  // The request may have come in either minute, if it came near the end of one.
  return starts.every((start) => {
    const from = start - errorMs;
    const current = spent.countAfter(from - edgeMs);
    const last = spent.countAfter(from - minuteMs - edgeMs) - current;
    const mostIn = (window: Window, counted: number) =>
      Math.min(counted + mostSpentBeforeRecord(bucket, window, 2 * errorMs), mostCounted);
    const mostInCurrent = mostIn({ from, to: sentAt - errorMs }, current);
    const mostInLast = mostIn({ from: from - minuteMs, to: from }, last);
    const share = Math.min(1, (start + minuteMs + errorMs - sentAt) / minuteMs);
    return mostInCurrent + Math.ceil(mostInLast * Math.max(0, share)) + 1 <= bucket.limit;
  });
}
