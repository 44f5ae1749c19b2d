/** Limiters that look back from each request: a log of the last N, and a bucket of tokens. */
import { type Decision, type Span, spanOf, spentBefore, type Version } from './decision.ts';

/** At most N requests in any window: a token comes back exactly one window after it was spent. */
export function slidingLog(
  decisions: readonly Decision[],
  { limit, windowMs, refusalsSpend, knownSince }: Version,
  since = 0,
): Span | undefined {
  const [shortest, longest] = windowMs;
  const spent = spentBefore(decisions, refusalsSpend);
  let [least, most] = limit;
  let certain = 0;
  let possible = 0;
  for (let i = since; i < decisions.length && least <= most; i += 1) {
    const { from, to, passed } = decisions[i] as Decision;
    if (passed) {
      while (certain < i && to - (decisions[certain] as Decision).from >= shortest) certain += 1;
      const isInside = to - from < shortest;
      least = Math.max(least, sum(spent, certain, isInside ? i + 1 : i) + (isInside ? 0 : 1));
      continue;
    }
    if (from - longest < knownSince) continue;
    while (possible < i && (decisions[possible] as Decision).to <= from - longest) possible += 1;
    most = Math.min(most, sum(spent, possible, i));
  }
  return spanOf(least, most);
}

function sum(spent: readonly number[], from: number, until: number): number {
  return (spent[until] ?? 0) - (spent[from] ?? 0);
}

/** A hundredth of a token, for rounding. */
const rounding = 0.01;

/** How full a bucket can be when a request is decided, before it takes its token. */
interface Fill {
  /** So many were decided before. */
  readonly at: number;
  /** The most tokens at its end, in the smallest bucket. */
  readonly most: number;
  /** The fewest at its start, in the largest bucket. */
  readonly fewest: number;
}

/** What a version permits, up to the last request but one: the last decision may still grow. */
const fills = new WeakMap<Version, Fill>();

/**
 * A bucket of N tokens that refills evenly within a window. It never holds more than N, and less than
 * one where a request is refused: so a request that passed needs a bucket that is large enough. It
 * never holds less than nothing: so one that was refused needs a bucket that is small enough.
 */
export function tokenBucket(
  decisions: readonly Decision[],
  version: Version,
  since = 0,
): Span | undefined {
  const [small, large] = version.limit;
  let { at, most, fewest } = fills.get(version) ?? unknown;
  if (at >= since) ({ at, most, fewest } = unknown);
  for (let i = at; i < decisions.length; i += 1) {
    if (i > at || i === 0) {
      most = mostTokens(most, decisions, i, version, small);
      fewest = fewestTokens(fewest, decisions, i, version, large);
    }
    if (i === since - 1) fills.set(version, { at: i, most, fewest });
    const { passed, count } = decisions[i] as Decision;
    if (i < since || (passed ? most >= count - rounding : fewest < 1 + rounding)) continue;
    const limit = passed ? raised(decisions, version, i) : lowered(decisions, version, i);
    return limit && tokenBucket(decisions, { ...version, limit }, i + 1);
  }
  return version.limit;
}

const unknown: Fill = { at: 0, most: 0, fewest: 0 };

/** The least limit, and those above, with which this request can have passed. */
function raised(decisions: readonly Decision[], version: Version, last: number): Span | undefined {
  const needed = (decisions[last] as Decision).count - rounding;
  const [small, large] = version.limit;
  const isIn = (limit: number) => {
    let most = 0;
    for (let i = 0; i <= last; i += 1) most = mostTokens(most, decisions, i, version, limit);
    return most >= needed;
  };
  const least = firstThat(small + 1, large, isIn);
  return least <= large ? [least, large] : undefined;
}

/** The highest limit, and those below, with which this request can have been refused. */
function lowered(decisions: readonly Decision[], version: Version, last: number): Span | undefined {
  const [small, large] = version.limit;
  const isOut = (limit: number) => {
    let fewest = 0;
    for (let i = 0; i <= last; i += 1) fewest = fewestTokens(fewest, decisions, i, version, limit);
    return fewest >= 1 + rounding;
  };
  return spanOf(small, firstThat(small, large, isOut) - 1);
}

/** The first number of a span for which it is true, as it is for all above; one more than the last. */
function firstThat(least: number, most: number, isTrue: (number: number) => boolean): number {
  let [low, high] = [least, most + 1];
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
  decisions: readonly Decision[],
  i: number,
  { windowMs }: Version,
  limit: number,
): number {
  const { from, to, passed } = decisions[i] as Decision;
  const perMs = limit / windowMs[0];
  const whole = (passed ? limit : 1) + (to - from) * perMs;
  const last = decisions[i - 1];
  if (last === undefined) return whole;
  return Math.min(whole, before - tokensOf(last) + (to - last.to) * perMs);
}

function fewestTokens(
  before: number,
  decisions: readonly Decision[],
  i: number,
  { windowMs, knownSince }: Version,
  limit: number,
): number {
  const { from } = decisions[i] as Decision;
  const perMs = limit / windowMs[1];
  const last = decisions[i - 1];
  if (last === undefined) return Math.min(limit, Math.max(0, from - knownSince) * perMs);
  const back = Math.max(0, from - last.to) * perMs;
  const left = Math.min(before + (from - last.from) * perMs, limit + back) - tokensOf(last);
  return Math.max(back, left);
}

function tokensOf({ passed, count }: Decision): number {
  return passed ? count : 0;
}
