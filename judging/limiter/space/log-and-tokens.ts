/** Limiters that look back from each request: a log of the last N, and a bucket of tokens. */
import {
  type Decision,
  type Decisions,
  type Group,
  type PossibleLimits,
  type Span,
  spanOf,
  type Version,
} from './decision.ts';

/** Two times that are as close as this may be one. */
const sameMs = 0.001;

/** At most N requests in any window: a token comes back exactly one window after it was spent. */
export const slidingLog: PossibleLimits = ({ decisions, groups }, version, part) => {
  const { windowMs, refusalsSpend, knownSince } = version;
  const [shortest, longest] = windowMs;
  let [least, most] = version.limit;
  const begin = groups[part.begin]?.first ?? 0;
  for (let g = part.since; g < part.until && least <= most; g += 1) {
    const { passed, first, end } = groups[g] as Group;
    const i = passed ? end - 1 : first;
    const { from, to } = decisions.all[i] as Decision;
    if (passed) {
      const certain = decisions.firstFrom(to - shortest + sameMs, begin, i);
      const isInside = to - from < shortest;
      const until = isInside ? i + 1 : i;
      const spent = decisions.between(certain, until, refusalsSpend);
      least = Math.max(least, isInside ? spent : spent + 1);
    } else if (from - longest >= knownSince) {
      const possible = decisions.firstTo(from - longest, begin, i);
      most = Math.min(most, decisions.between(possible, i, refusalsSpend));
    }
  }
  return spanOf(least, most);
};

/** A hundredth of a token, for rounding. */
const rounding = 0.01;

/** How full a bucket can be when a request is decided, before it takes its token. */
interface Fill {
  /** The number of the decision. */
  readonly at: number;
  /** The most tokens at its end, in the smallest bucket. */
  readonly most: number;
  /** The fewest at its start, in the largest bucket. */
  readonly fewest: number;
}

/** What a version permits, up to the last group but one: the last one may still grow. */
const fills = new WeakMap<Version, Fill>();
const empty: Fill = { at: 0, most: 0, fewest: 0 };

/**
 * A bucket of N tokens that refills evenly within a window. It never holds more than N, and less than
 * one where a request is refused: so a request that passed needs a bucket that is large enough. It
 * never holds less than nothing: so one that was refused needs a bucket that is small enough.
 */
export const tokenBucket: PossibleLimits = ({ decisions, groups }, version, part) => {
  const since = groups[part.since]?.first ?? decisions.all.length;
  const kept = groups[part.since - 1]?.first;
  const known = fills.get(version);
  const start = kept !== undefined && known !== undefined && known.at <= kept ? known : empty;
  return bucketSince({ decisions, since, kept }, version, start);
};

interface Judged {
  readonly decisions: Decisions;
  /** The version permits those before. */
  readonly since: number;
  /** The fill is kept before this decision. */
  readonly kept: number | undefined;
}

function bucketSince(judged: Judged, version: Version, start: Fill): Span | undefined {
  const { decisions, since, kept } = judged;
  const { all } = decisions;
  const [small, large] = version.limit;
  let { at, most, fewest } = start;
  for (; at < all.length; at += 1) {
    if (at > start.at || at === 0) {
      most = mostTokens(most, all, at, version, small);
      fewest = fewestTokens(fewest, all, at, version, large);
    }
    if (at === kept) fills.set(version, { at, most, fewest });
    const { passed, count } = all[at] as Decision;
    if (at < since || (passed ? most >= count - rounding : fewest < 1 + rounding)) continue;
    const limit = passed ? raised(all, version, at) : lowered(all, version, at);
    return limit && bucketSince({ ...judged, since: at + 1 }, { ...version, limit }, empty);
  }
  return version.limit;
}

/** The least limit, and those above, with which this request can have passed. */
function raised(all: readonly Decision[], version: Version, last: number): Span | undefined {
  const needed = (all[last] as Decision).count - rounding;
  const [small, large] = version.limit;
  const isIn = (limit: number) => {
    let most = 0;
    for (let i = 0; i <= last; i += 1) most = mostTokens(most, all, i, version, limit);
    return most >= needed;
  };
  return isIn(large) ? [firstThat(small + 1, large, isIn), large] : undefined;
}

/** The highest limit, and those below, with which this request can have been refused. */
function lowered(all: readonly Decision[], version: Version, last: number): Span | undefined {
  const [small, large] = version.limit;
  const isOut = (limit: number) => {
    let fewest = 0;
    for (let i = 0; i <= last; i += 1) fewest = fewestTokens(fewest, all, i, version, limit);
    return fewest >= 1 + rounding;
  };
  return isOut(small) ? undefined : [small, firstThat(small + 1, large, isOut) - 1];
}

/** The first number of a span for which it is true, where it is true for the last. */
function firstThat(least: number, most: number, isTrue: (number: number) => boolean): number {
  let [low, high] = [least, most];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** `before`: the same of the decision before. */
function mostTokens(
  before: number,
  all: readonly Decision[],
  i: number,
  { windowMs }: Version,
  limit: number,
): number {
  const { from, to, passed } = all[i] as Decision;
  const perMs = limit / windowMs[0];
  const whole = (passed ? limit : 1) + (to - from) * perMs;
  const last = all[i - 1];
  if (last === undefined) return whole;
  return Math.min(whole, before - tokensOf(last) + (to - last.to) * perMs);
}

function fewestTokens(
  before: number,
  all: readonly Decision[],
  i: number,
  { windowMs, knownSince }: Version,
  limit: number,
): number {
  const { from } = all[i] as Decision;
  const perMs = limit / windowMs[1];
  const last = all[i - 1];
  if (last === undefined) return Math.min(limit, Math.max(0, from - knownSince) * perMs);
  const back = Math.max(0, from - last.to) * perMs;
  const left = Math.min(before + (from - last.from) * perMs, limit + back) - tokensOf(last);
  return Math.max(back, left);
}

function tokensOf({ passed, count }: Decision): number {
  return passed ? count : 0;
}
