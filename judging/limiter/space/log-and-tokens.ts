/** Limiters that look back from each request: a log of the last N, and a bucket of tokens. */
import {
  type Decision,
  type Group,
  type History,
  judgedIn,
  type PossibleLimits,
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
    const i = judgedIn(groups[g] as Group);
    const { from, to, passed } = decisions.all[i] as Decision;
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
export const tokenBucket: PossibleLimits = (history, version, { since }) => {
  const [small, large] = version.limit;
  if (isPermitted(history, version, since)) return version.limit;
  if (small === large) return undefined;
  const isEnough = (limit: number) => isBucketOf(limit, mostTokens, history, version, since);
  const isLittle = (limit: number) => isBucketOf(limit, fewestTokens, history, version, since);
  if (!isEnough(large) || !isLittle(small)) return undefined;
  const least = firstThat(small, large, isEnough);
  return spanOf(
    least,
    firstThat(least, large + 1, (limit) => limit > large || !isLittle(limit)) - 1,
  );
};

/** True if each of its limits permits all; it goes on where it is known. */
function isPermitted({ groups, decisions }: History, version: Version, since: number): boolean {
  const { all } = decisions;
  const [small, large] = version.limit;
  const kept = groups[since - 1]?.first ?? -1;
  const known = fills.get(version);
  const start = known !== undefined && known.at <= kept ? known : empty;
  let { at, most, fewest } = start;
  let next = since;
  for (; at < all.length; at += 1) {
    if (at > start.at || at === 0) {
      most = mostTokens(most, all, at, version, small);
      fewest = fewestTokens(fewest, all, at, version, large);
    }
    if (at === kept) fills.set(version, { at, most, fewest });
    if (next === groups.length || at !== judgedIn(groups[next] as Group)) continue;
    next += 1;
    const decision = all[at] as Decision;
    if (isContradicted(decision, decision.passed ? most : fewest)) return false;
  }
  return true;
}

/** True if a bucket of this size permits what passed, or what was refused. */
function isBucketOf(
  limit: number,
  tokensAt: typeof mostTokens,
  { groups, decisions: { all } }: History,
  version: Version,
  since: number,
): boolean {
  const ofPasses = tokensAt === mostTokens;
  let [tokens, next] = [0, since];
  for (let i = 0; i < all.length && next < groups.length; i += 1) {
    tokens = tokensAt(tokens, all, i, version, limit);
    if (i !== judgedIn(groups[next] as Group)) continue;
    next += 1;
    const decision = all[i] as Decision;
    if (decision.passed === ofPasses && isContradicted(decision, tokens)) return false;
  }
  return true;
}

function isContradicted({ passed, count }: Decision, tokens: number): boolean {
  return passed ? tokens < count - rounding : tokens >= 1 + rounding;
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
