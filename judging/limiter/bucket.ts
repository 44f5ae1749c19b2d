/**
 * A bucket as the judges of limits see it, the windows and minutes by which it may count, and the
 * certain excess in one of them.
 */
import type { LimitedEndpoint } from '#contract/limits.ts';
import { minuteMs } from '#contract/time.ts';
import { type Ahead, unknownOffset } from '../evidence/clock-offset.ts';
import type { Exchange } from '../evidence/exchange.ts';

/** The requests that spend from one limit: those to one endpoint from one account or address. */
export interface Bucket {
  readonly endpoint: LimitedEndpoint;
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
  /** How far a span of time between two exchanges may be wrong. */
  readonly spanErrorMs: number;
  /** The target's clock minus ours, as far as replies have shown it. */
  readonly ahead?: Ahead | undefined;
}

/** A bucket under one hypothesis of what spends from it. */
export interface SplitBucket extends Bucket {
  /** The requests that passed and spent a token. */
  readonly granted: readonly Exchange[];
  readonly refused: readonly Exchange[];
  /** The tries without a reply, each of which may have spent a token or not. */
  readonly doubtful: readonly Exchange[];
  readonly refusalsSpend: boolean;
  /** True if clients whose requests are unknown spend from the bucket. */
  readonly othersSpend: boolean;
}

/** A request that passed although the limit was certainly reached: the proof of an excess. */
export interface Excess {
  readonly exchange: Exchange;
  /** How many requests passed within `spanMs`. */
  readonly passed: number;
  readonly spanMs: number;
  /** When a request had been refused of which the window still counts. */
  readonly refusedBy?: number;
}

/** A span of time in which at most N requests may pass. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/** The excess of the first window that certainly holds more requests than the limit. */
export function excessIn(bucket: SplitBucket, windows: Iterable<Window>): Excess | undefined {
  for (const { from, to } of windows) {
    const inside = bucket.granted.filter((each) => each.sentAt >= from && each.answeredAt < to);
    const exchange = inside[bucket.limit];
    if (exchange !== undefined) return excessOf(exchange, inside);
  }
  return undefined;
}

/**
 * The same for windows in each of which tokens only get fewer: a request that passes after another
 * was refused is one too many, however many were spent before the record begins.
 */
export function excessInFixed(bucket: SplitBucket, windows: readonly Window[]): Excess | undefined {
  for (const { from, to } of windows) {
    const refusal = bucket.refused.find(({ sentAt }) => sentAt >= from);
    if (refusal === undefined) continue;
    const { answeredAt: refusedBy } = refusal;
    const isAfter = (each: Exchange) =>
      each.sentAt > refusedBy + bucket.spanErrorMs && each.answeredAt < to;
    const exchange = bucket.granted.find(isAfter);
    if (exchange === undefined) continue;
    const inside = bucket.granted.filter(
      ({ sentAt, answeredAt }) => sentAt >= from && answeredAt <= exchange.answeredAt,
    );
    return { ...excessOf(exchange, inside), refusedBy };
  }
  return excessIn(bucket, windows);
}

/** The excess of a request that is one of too many, all of which passed in one window. */
export function excessOf(exchange: Exchange, inside: readonly Exchange[]): Excess {
  const from = inside[0]?.sentAt ?? exchange.sentAt;
  const to = Math.max(...inside.map(({ answeredAt }) => answeredAt));
  return { exchange, passed: inside.length, spanMs: to - from };
}

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
