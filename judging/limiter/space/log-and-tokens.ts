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

/**
 * A bucket of N tokens that refills evenly within a window. It never holds more than N, and less than
 * one where a request is refused: so a request that passed needs a bucket that is large enough. It
 * never holds less than nothing: so one that was refused needs a bucket that is small enough.
 */
export const tokenBucket: PossibleLimits = (history, version, { since }) => {
  const [small, large] = version.limit;
  const isEnough = (limit: number) => isBucketOf(limit, full, history, version, since);
  const isLittle = (limit: number) => isBucketOf(limit, empty, history, version, since);
  const least = firstThat(small, large, isEnough);
  if (least > large) return undefined;
  return spanOf(least, -firstThat(-large, -small, (limit) => isLittle(-limit)));
};

/** How full a bucket may be when a request is decided, before that takes its token. */
interface Fill {
  readonly tokensAt: typeof mostTokens;
  /** The same of a version, before the last group that it permits: that one may still grow. */
  readonly known: WeakMap<Version, { readonly at: number; readonly before: number }>;
}

const full: Fill = { tokensAt: mostTokens, known: new WeakMap() };
const empty: Fill = { tokensAt: fewestTokens, known: new WeakMap() };
const unknown = { at: 0, before: 0 };

/** True if a bucket of this size permits what passed, or what was refused. */
function isBucketOf(
  limit: number,
  fill: Fill,
  { groups, decisions: { all } }: History,
  version: Version,
  since: number,
): boolean {
  const ofPasses = fill === full;
  const isKept = limit === version.limit[ofPasses ? 0 : 1];
  const kept = (isKept ? groups[since - 1]?.first : undefined) ?? -1;
  const known = fill.known.get(version) ?? unknown;
  let { at, before } = known.at <= kept ? known : unknown;
  for (let next = since; next < groups.length; at += 1) {
    if (at === kept) fill.known.set(version, { at, before });
    before = fill.tokensAt(before, all, at, version, limit);
    if (at !== judgedIn(groups[next] as Group)) continue;
    next += 1;
    const { passed, count } = all[at] as Decision;
    const isPermitted = passed ? before >= count - rounding : before < 1 + rounding;
    if (passed === ofPasses && !isPermitted) return false;
  }
  return true;
}

/** The first number of a span for which it is true, as it is for all above; one more without any. */
function firstThat(least: number, most: number, isTrue: (number: number) => boolean): number {
  if (isTrue(least)) return least;
  if (least === most || !isTrue(most)) return most + 1;
  let [low, high] = [least + 1, most];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The most tokens at the end of a decision. `before`: the same of the decision before. */
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

/** The fewest tokens at the start of a decision. */
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
