/**
 * A bucket as the judges of limits see it, the windows and intervals by which it may count, and the
 * certain excess in one of them.
 */
import type { LimitedEndpoint } from '#contract/limits.ts';
import { minuteMs } from '#contract/time.ts';
import type { Ahead } from '../evidence/clock-offset.ts';
import { type Exchange, isRefused } from '../evidence/exchange.ts';

/** The requests that spend from one limit: those to one endpoint from one account or address. */
export interface Bucket {
  readonly endpoint: LimitedEndpoint;
  /** Requests per minute. */
  readonly limit: number;
  /** Calls without an account are answered 401 until their address is throttled. */
  readonly isOfAddress: boolean;
  /** In the order in which they were sent. */
  readonly exchanges: readonly Exchange[];
  /** Requests that may have spent from it, too: of callers whose address is not known. */
  readonly ofUnknown?: readonly Exchange[];
  /** `exchanges` has every request to the bucket since this time. */
  readonly knownSince: number;
  /** See `Trace`. */
  readonly hasExactTimes: boolean;
  /** How far a span of time between two exchanges may be wrong. */
  readonly spanErrorMs: number;
  /** The target's clock minus ours, as far as replies have shown it. */
  readonly ahead?: Ahead | undefined;
}

/**
 * The requests to a bucket up to this time, in the order in which they were sent. While one of them
 * waits for its 429, later ones may take the last tokens, so the list goes on until it is answered.
 */
export function decidedBy(requests: readonly Exchange[], untilMs: number): Exchange[] {
  let latest = untilMs;
  return requests
    .toSorted((a, b) => a.sentAt - b.sentAt)
    .filter((request) => {
      const isIn = request.sentAt <= latest;
      if (isIn && isRefused(request)) latest = Math.max(latest, request.answeredAt);
      return isIn;
    });
}

/** A bucket under one hypothesis of what spends from it. */
export interface SplitBucket extends Bucket {
  /** The requests that passed and spent a token. */
  readonly granted: readonly Exchange[];
  readonly refused: readonly Exchange[];
  /** Requests, and tries without a reply, each of which may have spent a token or not. */
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
  /** When the refusal was answered that the pass contradicts; undefined if the count shows it. */
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

/** Times may be rounded: what was answered this much before the start of a window may be in it. */
export const edgeMs = 1;

/** What may have spent a token before a refusal. */
export interface Spent {
  /** How many of them were answered later than this. */
  countAfter(from: number): number;
  /** How many of them were answered then or later. */
  countSince(from: number): number;
  /** All of them, in the order of their replies. */
  all(): readonly Exchange[];
}

/**
 * The most tokens of a window that were spent before the record begins: what the requests left that
 * certainly passed in it. Its start may be `errorMs` later than `from`.
 */
export function mostSpentBeforeRecord(
  { limit, granted, knownSince, refusalsSpend }: SplitBucket,
  { from, to }: Window,
  errorMs: number,
): number {
  if (from >= knownSince) return 0;
  const passed = granted.filter(
    ({ sentAt, answeredAt }) => sentAt >= from + errorMs && answeredAt <= to,
  ).length;
  // Refusals that spend have no bound, until a request passes.
  return passed === 0 && refusalsSpend ? Number.POSITIVE_INFINITY : limit - passed;
}

/** The bounds of an instant. */
interface Instant {
  readonly earliest: number;
  readonly latest: number;
}

/** An interval: the earliest time at which it may have been opened, and its latest end. */
export interface Interval {
  readonly openedAt: number;
  readonly endsBy: number;
}

/** A way to place the intervals, as far as the record shows them, and the first excess in it. */
interface Way {
  readonly intervals: readonly Interval[];
  readonly excess: Excess | undefined;
}

/** The most ways to place the intervals that are tried. More would only find more explanations. */
const mostWays = 2_000;

/**
 * The interval before the ones that are not placed yet. A request opens it at an unknown moment
 * between the two o, so it ends at one between the two e; what comes between both certainly counts:
 *
 *     openedAt o....o heldFrom =========== e....e end ---> time
 */
interface LastInterval extends Pick<Interval, 'openedAt'> {
  /** From then until the end's earliest time, it certainly holds what came. */
  readonly heldFrom: number;
  readonly end: Instant;
  readonly before: readonly Interval[];
}

/** Each way to place the intervals, from the one that may be open where the record begins. */
export function waysOfIntervals(bucket: SplitBucket): Iterable<Way> {
  const { knownSince } = bucket;
  const longAgo = Number.NEGATIVE_INFINITY;
  const end = { earliest: knownSince, latest: knownSince + minuteMs };
  const last = { openedAt: longAgo, heldFrom: longAgo, end, before: [] };
  return waysAfter(bucket, last, { tried: 0 });
}

/**
 * The ways to place what follows an interval. The first request after its end opens the next one,
 * and requests near that end may come before or after it. `ways`: those tried so far.
 */
function* waysAfter(
  bucket: SplitBucket,
  { openedAt, heldFrom, end, before }: LastInterval,
  ways: { tried: number },
): Generator<Way> {
  const endingBy = (endsBy: number) => [...before, { openedAt, endsBy }];
  if (ways.tried++ > mostWays) return yield { excess: undefined, intervals: endingBy(end.latest) };
  const openedBy = firstCertainlyAfter(bucket, end);
  if (openedBy === Number.POSITIVE_INFINITY) {
    // The last interval may hold all that follows.
    const excess = excessInFixed(bucket, [{ from: heldFrom, to: openedBy }]);
    yield { excess, intervals: endingBy(end.latest) };
  }
  for (const { earliest, latest } of openersNear(bucket, end, openedBy)) {
    const opened = Math.max(earliest, end.earliest);
    const endsBy = Math.min(end.latest, latest);
    const intervals = endingBy(endsBy);
    const excess = excessInFixed(bucket, [{ from: heldFrom, to: opened }]);
    if (excess !== undefined) {
      yield { excess, intervals };
      continue;
    }
    const { spanErrorMs } = bucket;
    const nextEnd = {
      earliest: opened + minuteMs - spanErrorMs,
      latest: Math.min(latest, openedBy) + minuteMs + spanErrorMs,
    };
    const next = { openedAt: opened, heldFrom: endsBy + spanErrorMs, end: nextEnd };
    yield* waysAfter(bucket, { ...next, before: intervals }, ways);
  }
}

/** When the first request was answered that certainly came after this end; Infinity if none came. */
function firstCertainlyAfter({ granted }: SplitBucket, { latest }: Instant): number {
  const certain = granted.filter(({ sentAt }) => sentAt >= latest);
  return Math.min(...certain.map(({ answeredAt }) => answeredAt));
}

/** The requests from this end up to `openedBy`, in groups: each may open the next interval. */
function openersNear(
  { granted, doubtful }: SplitBucket,
  { earliest }: Instant,
  openedBy: number,
): readonly Instant[] {
  const openers = [...granted, ...doubtful]
    .filter(({ sentAt, answeredAt }) => answeredAt > earliest && sentAt <= openedBy)
    .sort((a, b) => a.sentAt - b.sentAt);
  return groupsOf(openers);
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
