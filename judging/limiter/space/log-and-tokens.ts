/** Limiters that look back from each request: a log of the last N, and a bucket of tokens. */
import { type Decision, firstThat, type Span, spanOf, type Version } from './decision.ts';
import { type Group, History, judgedIn, type PossibleLimits } from './history.ts';

/**
 * At most N requests in any window: a token comes back exactly one window after it was spent. With
 * passes at 0, 1 and 2 s and windows of 10 s, a pass at 9 s shows that N is at least 4, and a refusal
 * at 9 s that N is at most 3. So a pass counts those that certainly were in its window, by the
 * shortest one, and a refusal those that may have been, by the longest.
 */
export const slidingLog: PossibleLimits = ({ decisions, groups }, version, part) => {
  const { windowMs, refusalsSpend, knownSince } = version;
  const [shortest, longest] = windowMs;
  const { all } = decisions;
  let [least, most] = version.limit;
  const begin = groups[part.begin]?.first ?? 0;
  for (let g = part.since; g < part.until && least <= most; g += 1) {
    const i = judgedIn(groups[g] as Group);
    const { from, to, passed } = all[i] as Decision;
    if (passed) {
      // The request may have been decided in any of these windows, each of which holds N at most.
      const windows = Math.floor((to - from) / shortest) + 1;
      const reachMs = windows * shortest;
      const certain = firstThat(begin, i, (at) => to - (all[at] as Decision).from < reachMs);
      const spends = refusalsSpend && windows === 1;
      const spent = decisions.spentBetween(certain, i + 1, spends);
      least = Math.max(least, Math.ceil(spent / windows));
    } else if (from - longest >= knownSince) {
      const possible = firstThat(begin, i, (at) => from - (all[at] as Decision).to < longest);
      most = Math.min(most, decisions.spentBetween(possible, i, refusalsSpend));
    }
  }
  return spanOf(least, most);
};

/** A hundredth of a token, for rounding. */
const rounding = 0.01;

/**
 * A bucket of N tokens that refills evenly within a window. It never holds more than N, and less
 * than one where a request is refused: so a request that passed needs a bucket that is large
 * enough. It never holds less than nothing: so one that was refused needs a bucket that is small
 * enough. Where refusals spend, they leave a debt of at most N - 1.
 */
export const tokenBucket: PossibleLimits = (history, version, { since }) => {
  const [small, large] = version.limit;
  const isEnough = (limit: number) => isBucketOf(limit, full, history, version, since);
  const isLittle = (limit: number) => isBucketOf(limit, empty, history, version, since);
  let least = small;
  if (!isEnough(small)) least = isEnough(large) ? firstThat(small, large, isEnough) : large + 1;
  if (least > large || isLittle(large)) return spanOf(least, large);
  const most = firstThat(small, large, (limit) => !isLittle(limit)) - 1;
  return spanOf(least, most);
};

/** The tokens when a request is decided, before it takes one. `before`: at the decision before. */
type Tokens = (before: number, decision: Decision, last: Decision | undefined) => number;

/** How full a bucket may be. */
interface Fill {
  /** The decisions that a bucket of this fill must permit. */
  readonly checks: 'passes' | 'refusals';
  tokensOf(version: Version, limit: number): Tokens;
  /**
   * Where the next check of a version continues: before the last group that it permits, which may
   * still grow. Only for the end of its limit that each check begins with: the search for the other
   * end tries other limits each time.
   */
  readonly progress: WeakMap<Version, Progress>;
}

/** The most tokens there can be, at the end of a decision: they return fastest in short windows. */
const full: Fill = {
  checks: 'passes',
  tokensOf({ windowMs, refusalsSpend }, limit) {
    const perMs = limit / windowMs[0];
    return (before, { from, to, passed }, last) => {
      const whole = (passed ? limit : 1) + (to - from) * perMs;
      if (last === undefined) return whole;
      const owed = 1 - limit + (last.to - last.from) * perMs;
      const left = Math.max(before - spentBy(last, refusalsSpend), owed);
      return Math.min(whole, left + (to - last.to) * perMs);
    };
  },
  progress: new WeakMap(),
};

/** The fewest tokens there can be, at the start of a decision: by the longest window. */
const empty: Fill = {
  checks: 'refusals',
  tokensOf({ windowMs, knownSince, refusalsSpend }, limit) {
    const perMs = limit / windowMs[1];
    const atStart = refusalsSpend ? 1 - limit : 0;
    return (before, { from }, last) => {
      if (last === undefined)
        return Math.min(limit, atStart + Math.max(0, from - knownSince) * perMs);
      const back = (from - last.to) * perMs;
      const spent = spentBy(last, refusalsSpend);
      const left = Math.min(before + (from - last.from) * perMs, limit + back) - spent;
      return Math.max(last.passed ? back : atStart + back, left);
    };
  },
  progress: new WeakMap(),
};

/** For each decision, true if a bucket of so many tokens may be empty then. */
function mayBeEmpty(all: readonly Decision[], version: Version, limit: number): readonly boolean[] {
  const tokens = empty.tokensOf(version, limit);
  let before = 0;
  return all.map((decision, i) => {
    before = tokens(before, decision, all[i - 1]);
    return before < 1 + rounding;
  });
}

function spentBy({ passed, count }: Decision, refusalsSpend: boolean): number {
  return passed || refusalsSpend ? count : 0;
}

interface Progress {
  readonly groups: readonly Group[];
  /** The next decision to look at. */
  readonly at: number;
  /** The tokens at the decision before it. */
  readonly before: number;
}

const atStart: Progress = { groups: [], at: 0, before: 0 };

/** True if a bucket of `limit` tokens permits the decisions that its fill checks, from `since` on. */
function isBucketOf(
  limit: number,
  fill: Fill,
  { groups, decisions: { all } }: History,
  version: Version,
  since: number,
): boolean {
  const checksPasses = fill.checks === 'passes';
  const isOwnEnd = limit === version.limit[checksPasses ? 0 : 1];
  const savedAt = (isOwnEnd ? groups[since - 1]?.first : undefined) ?? -1;
  const saved = fill.progress.get(version) ?? atStart;
  const tokens = fill.tokensOf(version, limit);
  let { at, before } = saved.groups === groups && saved.at <= savedAt ? saved : atStart;
  for (let next = since; next < groups.length; at += 1) {
    if (at === savedAt) fill.progress.set(version, { groups, at, before });
    const decision = all[at] as Decision;
    before = tokens(before, decision, all[at - 1]);
    if (at !== judgedIn(groups[next] as Group)) continue;
    next += 1;
    const { passed, count } = decision;
    const isPermitted = passed ? before >= count - rounding : before < 1 + rounding;
    if (passed === checksPasses && !isPermitted) return false;
  }
  return true;
}

/**
 * A window and a bucket of `limit` tokens at once: a request needs a place in both. What passed is
 * known, so each of the two is known by itself: both permit each pass, and one of them each refusal.
 */
export function withBucket(
  window: PossibleLimits,
  limit: number,
  [shortest, longest]: Span,
): PossibleLimits {
  return ({ decisions: { all } }, { limit: permitted, ...rest }) => {
    if (rest.windowMs[0] > longest || rest.windowMs[1] < shortest) return undefined;
    const version: Version = { ...rest, limit: [limit, limit] };
    const passes = History.of(all.filter(({ passed }) => passed));
    if (tokenBucket(passes, version, passes.whole) === undefined) return undefined;
    const isEmpty = mayBeEmpty(all, version, limit);
    // Where the bucket refuses, some open a window all the same: as no pass at all does.
    const opening = all.map((each, i) =>
      each.passed || !isEmpty[i] ? each : { ...each, passed: true, count: 0 },
    );
    const isPermitted = [opening.filter(({ count }) => count > 0), opening].some((list) => {
      const history = History.of(list);
      return window(history, version, history.whole) !== undefined;
    });
    return isPermitted ? permitted : undefined;
  };
}
