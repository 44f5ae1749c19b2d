/**
 * Limiters that count requests in windows of equal length: windows of a clock, and counters that
 * add a share of the last window. `windows.ts` has the counter whose windows a request opens.
 *
 * A pass can only raise the lowest possible limit, and a refusal can only lower the highest. So
 * three passes and a refusal, all surely in one window of the clock, permit a limit of 3 alone. If
 * a border may lie between the first two passes, the other two permit a limit of 2, too.
 */
import { type Decision, type Span, spanOf, type Version } from './decision.ts';
import {
  type Group,
  type History,
  judgedIn,
  type LimitsByRounding,
  type Part,
  type PossibleLimits,
} from './history.ts';

/** N requests in each window of a clock. */
export const alignedWindow: PossibleLimits = (history, version, part) =>
  limitsByWindows(countOf(history, version, part, { isSliding: false }), version.limit, part);

/** The last window counts by the share of it that the sliding window still covers. */
export const slidingCounter: LimitsByRounding = (rounding, history, version, part) => {
  const count = countOf(history, version, part, { isSliding: true, rounding });
  return limitsByWindows(count, version.limit, part);
};

/** The same, which counts refusals too, but no more than the limit in one window. */
export const cappedSlidingCounter: LimitsByRounding = (rounding, history, version, part) => {
  const how = { isSliding: true, isCapped: true, rounding };
  return limitsByWindows(countOf(history, version, part, how), version.limit, part);
};

/** If a decision may lie in more windows than this, one of them explains it. */
const manyWindows = 24;
/** What may be added before a counter rounds down. */
export const anyRounding: Span = [0, 1 - 1e-9];

/** What a count by windows looks at. */
export interface Count {
  readonly history: History;
  readonly version: Version;
  /** The number of the first decision that counts. */
  readonly begin: number;
  readonly isSliding: boolean;
  /** True if a window counts no more than the limit. */
  readonly isCapped: boolean;
  readonly rounding: Span;
  /** Windows are numbered from this time on. */
  readonly origin: number;
  /** The number of the window that the first decision has opened. */
  readonly firstWindow: number;
}

/** A count of what the groups from `begin` on have spent. */
export function countOf(
  history: History,
  version: Version,
  { begin }: Pick<Part, 'begin'>,
  how: Partial<Count> & Pick<Count, 'isSliding'>,
): Count {
  const { isSliding, isCapped = false, rounding = anyRounding, origin = 0 } = how;
  const { firstWindow = Number.NEGATIVE_INFINITY } = how;
  const first = history.groups[begin]?.first ?? 0;
  return { history, version, begin: first, isSliding, isCapped, rounding, origin, firstWindow };
}

/** The limits, of those in the span, that permit the groups of a part. */
export function limitsByWindows(
  count: Count,
  limit: Span,
  { since, until }: Pick<Part, 'since' | 'until'>,
): Span | undefined {
  const { history } = count;
  const { groups, decisions, suspect } = history;
  let [least, most] = limit;
  // The suspect comes first, in place of the group before the part.
  for (let next = since - 1; next < until && least <= most; next += 1) {
    const group = next < since ? suspect : next;
    if (group < since || group >= until) continue;
    const at = judgedIn(groups[group] as Group);
    if (decisions.all[at]?.passed) least = leastLimit(count, at, least);
    else most = mostLimit(count, at, most);
    if (least > most) history.suspect = group;
  }
  return spanOf(least, most);
}

/** The lowest limit that lets decision `at` pass in one of its windows, or `least` if higher. */
function leastLimit(count: Count, at: number, least: number): number {
  const decision = count.history.decisions.all[at] as Decision;
  const [earliest, last] = windowsOf(count, decision);
  const first = Math.max(earliest, count.firstWindow);
  const inAny = last > first ? Math.max(least, leastAtAnyPhase(count, decision, at)) : least;
  if (last - earliest > manyWindows) return inAny;
  let inOne = Number.POSITIVE_INFINITY;
  for (let window = first; window <= last && inOne > inAny; window += 1)
    inOne = Math.min(inOne, leastIn(count, decision, at, window));
  // The requests of the decision may be spread over its windows.
  return Math.max(inAny, inOne, Math.ceil(decision.count / Math.max(1, last - first + 1)));
}

/** The highest limit that refuses decision `at` in one of its windows, or `most` if lower. */
function mostLimit(count: Count, at: number, most: number): number {
  const decision = count.history.decisions.all[at] as Decision;
  const [earliest, last] = windowsOf(count, decision);
  const first = Math.max(earliest, count.firstWindow);
  const inAny = last > first ? Math.min(most, mostAtAnyPhase(count, decision, at)) : most;
  if (last - earliest > manyWindows) return inAny;
  let inOne = 0;
  for (let window = first; window <= last && inOne < inAny; window += 1)
    inOne = Math.max(inOne, mostIn(count, decision, at, window));
  return Math.min(inAny, inOne);
}

/** When the window of this number begins, at the earliest. */
function earliestBegin({ version: { windowMs, phase }, origin }: Count, window: number): number {
  const windows = phase[0] + window;
  return origin + windows * windowMs[windows < 0 ? 1 : 0];
}

/** When the window of this number begins, at the latest. */
function latestBegin({ version: { windowMs, phase }, origin }: Count, window: number): number {
  const windows = phase[1] + window;
  return origin + windows * windowMs[windows < 0 ? 0 : 1];
}

/** The numbers of the first and the last window that may hold a decision. */
export function windowsOf(
  { version, origin }: Pick<Count, 'version' | 'origin'>,
  { from, to }: Decision,
): Span {
  const { windowMs, phase } = version;
  const [begin, end] = [from - origin, to - origin];
  const first = Math.floor(begin / windowMs[begin < 0 ? 0 : 1] - phase[1]);
  return [first, Math.floor(end / windowMs[0] - phase[0])];
}

function mayBeIn(count: Count, { from, to }: Decision, window: number): boolean {
  return to >= earliestBegin(count, window) && from < latestBegin(count, window + 1);
}

/** The first decision before `until` that is surely in this window. */
function firstSurelyIn(count: Count, window: number, until: number): number {
  const { begin, firstWindow, history } = count;
  if (window === firstWindow) return begin;
  return history.decisions.firstFrom(latestBegin(count, window), begin, until);
}

/** The first decision before `until` that may be in this window. */
function firstPossiblyIn(count: Count, window: number, until: number): number {
  return count.history.decisions.firstTo(earliestBegin(count, window), count.begin, until);
}

/** The least that this window may count before `until`, with its share of the one before. */
function leastCount(count: Count, window: number, until: number, share: number): number {
  const current = spentBetween(count, firstSurelyIn(count, window, until), until);
  const before = firstSurelyIn(count, window - 1, until);
  const last = spentBetween(count, before, firstPossiblyIn(count, window, until));
  return counted(count, current, last, share, count.rounding[0]);
}

/** The most that this window may count before `until`, with its share of the one before. */
function mostCount(count: Count, window: number, until: number, share: number): number {
  const current = spentBetween(count, firstPossiblyIn(count, window, until), until);
  const before = share === 0 ? 0 : firstPossiblyIn(count, window - 1, until);
  const last = share === 0 ? 0 : spentBetween(count, before, firstSurelyIn(count, window, until));
  return counted(count, current, last, share, count.rounding[1]);
}

/**
 * What a counter compares with the limit. A capped one counts no more than the limit N in the last
 * window: so if N is below `last`, `current + share * N` is to reach N, which solved for N is
 * `current / (1 - share)`.
 */
function counted(
  { isCapped }: Count,
  current: number,
  last: number,
  share: number,
  rounding: number,
): number {
  const whole = current + share * last + rounding;
  const ofLimit = isCapped && share < 1 ? (current + rounding) / (1 - share) : whole;
  return Math.floor(Math.min(whole, ofLimit));
}

/** In a full window of the clock, a refused request changes nothing. */
function spentBetween(
  { history, version, isSliding }: Count,
  first: number,
  until: number,
): number {
  return history.decisions.spentBetween(first, until, isSliding && version.refusalsSpend);
}

/** The share of the window before that a sliding window still covers. */
function shareOf({ isSliding }: Count, restMs: number, windowMs: number): number {
  return isSliding ? Math.min(1, Math.max(0, restMs / windowMs)) : 0;
}

/** The lowest limit with which this window may have let the decision pass. */
function leastIn(count: Count, decision: Decision, at: number, window: number): number {
  if (!mayBeIn(count, decision, window)) return Number.POSITIVE_INFINITY;
  const { history, version, isSliding } = count;
  const [begin, end] = [latestBegin(count, window), earliestBegin(count, window + 1)];
  const share = shareOf(count, end - decision.to, version.windowMs[1]);
  const least = leastCount(count, window, at, share);
  const first = firstSurelyIn(count, window, at);
  // A window of the clock that has refused a request stays full to its end.
  if (!isSliding && history.decisions.askedBetween(first, at) > least)
    return Number.POSITIVE_INFINITY;
  const isWhole = decision.from >= begin && decision.to < end;
  return least + (isWhole ? decision.count : 1);
}

/** The highest limit with which this window may have refused the decision. */
function mostIn(count: Count, decision: Decision, at: number, window: number): number {
  if (!mayBeIn(count, decision, window)) return 0;
  const { knownSince, windowMs, refusalsSpend } = count.version;
  if (earliestBegin(count, window) < knownSince) return Number.POSITIVE_INFINITY;
  const share = shareOf(count, latestBegin(count, window + 1) - decision.from, windowMs[0]);
  const isKnown = share === 0 || earliestBegin(count, window - 1) >= knownSince;
  if (isKnown) return mostCount(count, window, at, share);
  // Others passed in the last window, no more than the limit (solved for it as in `counted`); how
  // often they were refused is open.
  if (refusalsSpend || share === 1) return Number.POSITIVE_INFINITY;
  const current = spentBetween(count, firstPossiblyIn(count, window, at), at);
  return Math.floor((current + count.rounding[1]) / (1 - share));
}

/** Wherever the windows begin: the lowest limit that lets these requests pass. */
function leastAtAnyPhase(count: Count, { from, to }: Decision, at: number): number {
  const { decisions } = count.history;
  const [shortest] = count.version.windowMs;
  const since = Math.min(from, to - shortest);
  const first = Math.min(at, decisions.firstFrom(since, count.begin, at));
  const windows = (to - (decisions.all[first] as Decision).from) / shortest;
  const passes = decisions.passedBetween(first, at + 1);
  // The last window holds a limit at most, and a share of 1 - `windows` of it still counts: so no
  // more than 1 + `windows` limits pass, and one more by rounding.
  if (count.isSliding && windows < 1) return Math.ceil((passes - 1) / (1 + windows));
  // The passes touch no more windows than this.
  return Math.ceil(passes / (Math.floor(windows) + 2));
}

/** Wherever the windows begin: no more were spent in those that can refuse this decision. */
function mostAtAnyPhase(count: Count, { from }: Decision, at: number): number {
  const { version, begin, isSliding } = count;
  const reachMs = version.windowMs[1] * (isSliding ? 2 : 1);
  if (from - reachMs < version.knownSince) return Number.POSITIVE_INFINITY;
  return spentBetween(count, count.history.decisions.firstTo(from - reachMs, begin, at), at);
}
