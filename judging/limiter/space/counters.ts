/**
 * Limiters that count by windows whose borders do not depend on what passes: windows of a clock,
 * and two counters of which the last one counts by the share that a sliding window still covers.
 */
import { type Decision, hullOf, type Span, spanOf, type Version } from './decision.ts';
import { type Group, type History, judgedIn, type Part, type PossibleLimits } from './history.ts';

/** When the window of this number begins, at the earliest. */
function earliest({ version: { windowMs, phase }, origin }: Count, number: number): number {
  const windows = phase[0] + number;
  return origin + windows * windowMs[windows < 0 ? 1 : 0];
}

/** When the window of this number begins, at the latest. */
function latest({ version: { windowMs, phase }, origin }: Count, number: number): number {
  const windows = phase[1] + number;
  return origin + windows * windowMs[windows < 0 ? 0 : 1];
}

/** The numbers of the first and the last window that may hold a decision. */
function windowsOf({ version, origin }: Count, { from, to }: Decision): Span {
  const { windowMs, phase } = version;
  const [begin, end] = [from - origin, to - origin];
  const first = Math.floor(begin / windowMs[begin < 0 ? 0 : 1] - phase[1]);
  return [first, Math.floor(end / windowMs[0] - phase[0])];
}

/** If a decision may lie in more windows than this, one of them explains it. */
const manyWindows = 24;

/** N requests in each window of a clock. */
export const alignedWindow: PossibleLimits = (history, version, part) =>
  counted(history, version, part, { isSliding: false });

/** The last window counts by the share of it that the sliding window still covers. */
export const slidingCounter = alwaysRounded((rounding, history, version, part) =>
  counted(history, version, part, { isSliding: true, rounding }),
);

/**
 * The same counters, of windows whose first one is opened by a request after a window without any.
 * Where a window may or may not have had one, either may explain what follows.
 */
export const slidingCounterFromFirst = alwaysRounded(
  (rounding, history, version, { since, until }) => {
    const { groups } = history;
    let limit: Span | undefined = version.limit;
    // Before a pause that is surely long enough, nothing matters.
    let i = Math.min(since, until - 1);
    while (i > 0 && pauseBefore(groups, i)[0] < 2 * version.windowMs[1]) i -= 1;
    let openers: readonly number[] = [i];
    for (; i < until && limit !== undefined; i += 1) {
      openers = openersAt(history, version, openers, i);
      if (i >= since) limit = sinceOpeners(history, { ...version, limit }, openers, i, rounding);
    }
    return limit;
  },
);

/** What is added before a counter rounds down: it rounds down, to the next number, or up. */
const roundings = [0, 0.5, 1 - 1e-9];
const anyRounding: Span = [0, 1 - 1e-9];
/** The highest limit whose decisions show how a counter rounds. */
const fewToRound = 2;

/** A counter always rounds alike, which tells those of few requests apart from other limiters. */
function alwaysRounded(
  limitsOf: (rounding: Span, ...of: Parameters<PossibleLimits>) => Span | undefined,
): PossibleLimits {
  return (history, version, part) => {
    const limit = limitsOf(anyRounding, history, version, part);
    if (limit === undefined || limit[1] > fewToRound) return limit;
    const [whole, bounded] = [
      { ...part, since: part.begin },
      { ...version, limit },
    ];
    return hullOf(roundings.map((each) => limitsOf([each, each], history, bounded, whole)));
  };
}

function pauseBefore(groups: readonly Group[], i: number): Span {
  const { from, to } = groups[i] as Group;
  const last = groups[i - 1] ?? { from: Number.NEGATIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
  return [from - last.to, to - last.from];
}

/** Those of the openers whose windows may go on, and the group itself if it may open one. */
function openersAt(
  history: History,
  { windowMs }: Version,
  openers: readonly number[],
  i: number,
): readonly number[] {
  const [before, after] = [history.groups[i - 1], history.groups[i] as Group];
  if (before === undefined || after.to - before.from < windowMs[0]) return openers;
  if (after.from - before.to >= 2 * windowMs[1]) return [i];
  let opens = false;
  const going = openers.filter((opener) => {
    const { from, to } = openerOf(history, opener);
    const windowOf = (at: Decision): Span => [
      Math.max(0, Math.floor((at.from - to) / windowMs[1])),
      Math.max(0, Math.floor((at.to - from) / windowMs[0])),
    ];
    const [last, now] = [windowOf(before), windowOf(after)];
    opens ||= now[1] >= last[0] + 2;
    return opener === i || now[0] <= last[1] + 1;
  });
  return opens ? [...going, i] : going;
}

function openerOf({ groups, decisions }: History, number: number): Decision {
  return decisions.all[(groups[number] as Group).first] as Decision;
}

/** The limits that permit the group, if one of these has opened the windows. */
function sinceOpeners(
  history: History,
  version: Version,
  openers: readonly number[],
  i: number,
  rounding: Span,
): Span | undefined {
  const spans = openers.map((begin) => {
    const { from, to } = openerOf(history, begin);
    const phase: Span = [0, Math.min(1, (to - from) / version.windowMs[1])];
    const part = { begin, since: i, until: i + 1 };
    const how = { isSliding: true, rounding, origin: from, firstWindow: 0 };
    return counted(history, { ...version, phase }, part, how);
  });
  return hullOf(spans);
}

/** How windows count. */
interface Counting {
  readonly isSliding: boolean;
  readonly rounding: Span;
  /** Windows are numbered from this time on. */
  readonly origin: number;
  /** The number of the window that the first decision has opened. */
  readonly firstWindow: number;
}

/** What a count by windows looks at. */
interface Count extends Counting {
  readonly history: History;
  readonly version: Version;
  /** The number of the first decision that counts. */
  readonly begin: number;
}

function counted(
  history: History,
  version: Version,
  { begin, since, until }: Part,
  how: Partial<Counting> & Pick<Counting, 'isSliding'>,
): Span | undefined {
  const { groups, decisions } = history;
  const first = groups[begin]?.first ?? 0;
  const { isSliding, rounding = anyRounding, origin = 0 } = how;
  const { firstWindow = Number.NEGATIVE_INFINITY } = how;
  const count: Count = { isSliding, rounding, origin, firstWindow, history, version, begin: first };
  let [least, most] = version.limit;
  for (let n = since - 1; n < until && least <= most; n += 1) {
    const g = n < since ? history.suspect : n;
    if (g < since || g >= until) continue;
    const i = judgedIn(groups[g] as Group);
    const decision = decisions.all[i] as Decision;
    const { passed } = decision;
    const [lowest, last] = windowsOf(count, decision);
    const from = Math.max(lowest, count.firstWindow);
    if (last > from) {
      if (passed) least = Math.max(least, leastAnywhere(count, decision, i));
      else most = Math.min(most, mostAnywhere(count, decision, i));
    }
    if (last - lowest > manyWindows) continue;
    let bound = passed ? Number.POSITIVE_INFINITY : 0;
    for (
      let number = from;
      number <= last && (passed ? bound > least : bound < most);
      number += 1
    ) {
      bound = passed
        ? Math.min(bound, leastIn(count, decision, i, number))
        : Math.max(bound, mostIn(count, decision, i, number));
    }
    if (!passed) most = Math.min(most, bound);
    else least = Math.max(least, bound, Math.ceil(decision.count / Math.max(1, last - from + 1)));
    if (least > most) history.suspect = g;
  }
  return spanOf(least, most);
}

function mayBeIn(count: Count, { from, to }: Decision, number: number): boolean {
  return to >= earliest(count, number) && from < latest(count, number + 1);
}

/** The first decision before `until` that is surely in this window. */
function firstSurelyIn(count: Count, number: number, until: number): number {
  const { begin, firstWindow, history } = count;
  if (number === firstWindow) return begin;
  return history.decisions.firstFrom(latest(count, number), begin, until);
}

/** The first decision before `until` that may be in this window. */
function firstPossiblyIn(count: Count, number: number, until: number): number {
  return count.history.decisions.firstTo(earliest(count, number), count.begin, until);
}

/** At least so much was spent before `until` in this window, and in a share of the one before. */
function leastSpentIn(count: Count, number: number, until: number, share: number): number {
  const current = spentBetween(count, firstSurelyIn(count, number, until), until);
  if (share === 0) return current;
  const before = firstSurelyIn(count, number - 1, until);
  return current + share * spentBetween(count, before, firstPossiblyIn(count, number, until));
}

/** At most so much was spent before `until` in this window, and in a share of the one before. */
function mostSpentIn(count: Count, number: number, until: number, share: number): number {
  const current = spentBetween(count, firstPossiblyIn(count, number, until), until);
  if (share === 0) return current;
  const before = firstPossiblyIn(count, number - 1, until);
  return current + share * spentBetween(count, before, firstSurelyIn(count, number, until));
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
function leastIn(count: Count, decision: Decision, i: number, number: number): number {
  if (!mayBeIn(count, decision, number)) return Number.POSITIVE_INFINITY;
  const { history, version, isSliding } = count;
  const [begin, end] = [latest(count, number), earliest(count, number + 1)];
  const share = shareOf(count, end - decision.to, version.windowMs[1]);
  const spent = leastSpentIn(count, number, i, share);
  const first = firstSurelyIn(count, number, i);
  // A window of the clock that has refused a request stays full to its end.
  if (!isSliding && history.decisions.askedBetween(first, i) > spent)
    return Number.POSITIVE_INFINITY;
  const isWhole = decision.from >= begin && decision.to < end;
  return Math.floor(spent + count.rounding[0]) + (isWhole ? decision.count : 1);
}

/** The highest limit with which this window may have refused the decision. */
function mostIn(count: Count, decision: Decision, i: number, number: number): number {
  if (!mayBeIn(count, decision, number)) return 0;
  const { knownSince, windowMs, refusalsSpend } = count.version;
  if (earliest(count, number) < knownSince) return Number.POSITIVE_INFINITY;
  const share = shareOf(count, latest(count, number + 1) - decision.from, windowMs[0]);
  const isKnown = share === 0 || earliest(count, number - 1) >= knownSince;
  if (isKnown) return Math.floor(mostSpentIn(count, number, i, share) + count.rounding[1]);
  // Others passed in the last window, no more than the limit; how often they were refused is open.
  if (refusalsSpend || share === 1) return Number.POSITIVE_INFINITY;
  return Math.floor((mostSpentIn(count, number, i, 0) + count.rounding[1]) / (1 - share));
}

/** Wherever the windows begin: the lowest limit that lets these requests pass. */
function leastAnywhere(count: Count, { to }: Decision, i: number): number {
  const { decisions } = count.history;
  const [shortest] = count.version.windowMs;
  const first = Math.min(i, decisions.firstFrom(to - shortest, count.begin, i));
  const windows = (to - (decisions.all[first] as Decision).from) / shortest;
  const passes = decisions.passedBetween(first, i + 1);
  // Just after a border the last window still counts nearly whole.
  if (count.isSliding && windows < 1) return Math.ceil((passes - 1) / (1 + windows));
  return Math.ceil(passes / (Math.floor(windows) + 2));
}

/** Wherever the windows begin: no more were spent in those that can refuse this decision. */
function mostAnywhere(count: Count, { from }: Decision, i: number): number {
  const { version, begin, isSliding } = count;
  const reachMs = version.windowMs[1] * (isSliding ? 2 : 1);
  if (from - reachMs < version.knownSince) return Number.POSITIVE_INFINITY;
  return spentBetween(count, count.history.decisions.firstTo(from - reachMs, begin, i), i);
}
