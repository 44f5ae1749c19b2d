/**
 * A bucket as the judges of limits see it, the windows, minutes and intervals by which it may count,
 * and the certain excess in one of them.
 */
import type { LimitedEndpoint } from '#contract/limits.ts';
import { minuteMs } from '#contract/time.ts';
import { type Ahead, unknownOffset } from '../evidence/clock-offset.ts';
import { type Exchange, isRefused } from '../evidence/exchange.ts';
import { firstThat } from './space/decision.ts';

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

/**
 * A refusal at the time of all refusals that overlap it: any of them may have come first, and those
 * that came later do not explain it.
 */
export interface Refusal extends Exchange {
  /** When this refusal itself was sent. */
  readonly ownSentAt: number;
}

/** What may have spent a token before a refusal. */
export interface Spent {
  /** How many of them were answered later than this. */
  countAfter(from: number): number;
  /** How many of them were answered then or later. */
  countSince(from: number): number;
  /** All of them, in the order of their replies. */
  all(): readonly Exchange[];
}

const byReply = (one: Exchange, other: Exchange) => one.answeredAt - other.answeredAt;

/** What may have spent a token of a bucket. */
export class Spenders {
  /** Both in the order of the replies; no refusals if those do not spend. */
  readonly #granted: readonly Exchange[];
  readonly #refused: readonly Exchange[];
  readonly #longestMs: number;
  readonly #spanErrorMs: number;

  constructor({ granted, doubtful, refused, refusalsSpend, spanErrorMs }: SplitBucket) {
    this.#granted = [...granted, ...doubtful].sort(byReply);
    this.#refused = refusalsSpend ? refused.toSorted(byReply) : [];
    this.#longestMs = this.#granted.reduce(
      (longest, { sentAt, answeredAt }) => Math.max(longest, answeredAt - sentAt),
      0,
    );
    this.#spanErrorMs = spanErrorMs;
  }

  before({ ownSentAt, answeredAt }: Refusal): Spent {
    const until = answeredAt + this.#spanErrorMs;
    const answered = countWhile(this.#granted, (at) => at <= until);
    const begun = countWhile(this.#granted, (at) => at <= until + this.#longestMs);
    // An earlier try of the refused request itself may have spent the token.
    const underWay = this.#granted.slice(answered, begun).filter(({ sentAt }) => sentAt <= until);
    const refused = countWhile(this.#refused, (at) => at < ownSentAt);
    const countUnless = (isEarly: IsEarly) =>
      Math.max(0, answered - countWhile(this.#granted, isEarly)) +
      underWay.filter((each) => !isEarly(each.answeredAt)).length +
      (refused > 0 ? Math.max(0, refused - countWhile(this.#refused, isEarly)) : 0);
    return {
      countAfter: (from) => countUnless((at) => at <= from),
      countSince: (from) => countUnless((at) => at < from),
      all: () => {
        const passed = [...this.#granted.slice(0, answered), ...underWay];
        return refused > 0 ? [...passed, ...this.#refused.slice(0, refused)].sort(byReply) : passed;
      },
    };
  }
}

type IsEarly = (answeredAt: number) => boolean;

/** How many of these, which are in the order of their replies, were answered so early. */
function countWhile(exchanges: readonly Exchange[], isEarly: IsEarly): number {
  const answeredAt = (place: number) => exchanges[place]?.answeredAt ?? Number.POSITIVE_INFINITY;
  return firstThat(0, exchanges.length, (place) => !isEarly(answeredAt(place)));
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
  const { granted, doubtful, spanErrorMs } = bucket;
  const endingBy = (endsBy: number) => [...before, { openedAt, endsBy }];
  if (ways.tried++ > mostWays) return yield { excess: undefined, intervals: endingBy(end.latest) };
  // The first request that certainly came after the end of the last interval …
  const certain = granted.filter(({ sentAt }) => sentAt >= end.latest);
  if (certain.length === 0) {
    // If there is none, the last interval may hold all that follows.
    const excess = excessInFixed(bucket, [{ from: heldFrom, to: Number.POSITIVE_INFINITY }]);
    yield { excess, intervals: endingBy(end.latest) };
  }
  const openedBy = Math.min(...certain.map(({ answeredAt }) => answeredAt));
  // … or one before it, near that end, opened the next interval.
  const openers = [...granted, ...doubtful]
    .filter(({ sentAt, answeredAt }) => answeredAt > end.earliest && sentAt <= openedBy)
    .sort((a, b) => a.sentAt - b.sentAt);
  for (const { earliest, latest } of groupsOf(openers)) {
    const opened = Math.max(earliest, end.earliest);
    const endsBy = Math.min(end.latest, latest);
    const intervals = endingBy(endsBy);
    const excess = excessInFixed(bucket, [{ from: heldFrom, to: opened }]);
    const next = {
      openedAt: opened,
      heldFrom: endsBy + spanErrorMs,
      end: {
        earliest: opened + minuteMs - spanErrorMs,
        latest: Math.min(latest, openedBy) + minuteMs + spanErrorMs,
      },
      before: intervals,
    };
    // Without an excess, the next interval is looked into.
    if (excess === undefined) yield* waysAfter(bucket, next, ways);
    else yield { excess, intervals };
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
