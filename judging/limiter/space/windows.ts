/**
 * Limiters that count by windows: one that the first request opens, windows of a clock, and two
 * counters of which the last one counts by the share that a sliding window still covers.
 */
import {
  type Decision,
  firstFrom,
  firstTo,
  hullOf,
  type PossibleLimits,
  type Span,
  spanOf,
  spentBefore,
  type Version,
} from './decision.ts';

/** What a window may hold when its opener was decided at some time of a span. */
interface Open {
  /** The limits that permit all decisions up to here. */
  readonly limit: Span;
  readonly opened: Span;
  readonly least: number;
  readonly most: number;
  /** True after a refusal: nothing more passes. */
  readonly isFull: boolean;
}

/** The first request after the end of a window opens the next one. */
export const fixedWindow: PossibleLimits = (decisions, version) =>
  followed(decisions, version, (open, { from, to, passed }, { windowMs }) => {
    const end: Span = [open.opened[0] + windowMs[0], open.opened[1] + windowMs[1]];
    return { isIn: from < end[1], isAfter: to >= end[0], opened: passed ? open.opened : undefined };
  });

/** As above, but each request moves the end: the window ends after a pause without any. */
export const prolongedWindow: PossibleLimits = (decisions, version) =>
  followed(decisions, version, (open, { from, to, passed }, { windowMs, refusalsSpend }) => ({
    isIn: from < open.opened[1] + windowMs[1],
    isAfter: to >= open.opened[0] + windowMs[0],
    opened: passed || refusalsSpend ? [from, to] : undefined,
  }));

type Step = (
  open: Open,
  decision: Decision,
  version: Version,
) => { isIn: boolean; isAfter: boolean; opened: Span | undefined };

/** Follows every window that may be open, and drops those that a decision contradicts. */
function followed(decisions: readonly Decision[], version: Version, step: Step): Span | undefined {
  const { limit, windowMs, knownSince } = version;
  const isKnown = knownSince === Number.NEGATIVE_INFINITY;
  const before: Span = isKnown
    ? [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
    : [knownSince - windowMs[1], knownSince];
  let states: Open[] = [
    { limit, opened: before, least: 0, most: isKnown ? 0 : limit[1], isFull: false },
  ];
  for (const decision of decisions) {
    const { from, to, passed, count } = decision;
    const next: Open[] = [];
    let fresh: Open | undefined;
    const add = (opened: Span, limits: Span | undefined, least: number, most: number) => {
      if (limits === undefined) return;
      const isFull = !passed;
      const open = { limit: limits, opened, least, most: Math.min(limits[1], most), isFull };
      if (opened[0] === from) fresh = fresh === undefined ? open : either(fresh, open);
      else next.push(open);
    };
    for (const open of states) {
      const { isIn, isAfter, opened = open.opened } = step(open, decision, version);
      const [lowest, highest] = open.limit;
      const sum = open.least + count;
      if (isIn && passed && !open.isFull)
        add(opened, spanOf(Math.max(lowest, sum), highest), sum, open.most + count);
      if (isIn && !passed) {
        const limits = spanOf(lowest, Math.min(highest, open.most));
        add(opened, limits, Math.max(open.least, lowest), open.most);
      }
      if (!isAfter || !passed) continue;
      // Some of the requests may still have been in the window before.
      if (isIn && !open.isFull) add([from, to], open.limit, 1, count);
      else add([from, to], spanOf(Math.max(lowest, count), highest), count, count);
    }
    if (fresh !== undefined) next.push(fresh);
    if (next.length === 0) return undefined;
    // The oldest ones of many differ least.
    if (next.length > mostOpen) next.splice(0, 2, either(next[0] as Open, next[1] as Open));
    states = next;
  }
  return hullOf(states.map((state) => state.limit));
}

/** So many windows are followed apart. */
const mostOpen = 12;

/** A window that may hold what either may hold. */
function either(one: Open, other: Open): Open {
  return {
    opened: [Math.min(one.opened[0], other.opened[0]), Math.max(one.opened[1], other.opened[1])],
    limit: [Math.min(one.limit[0], other.limit[0]), Math.max(one.limit[1], other.limit[1])],
    least: Math.min(one.least, other.least),
    most: Math.max(one.most, other.most),
    isFull: one.isFull && other.isFull,
  };
}

/** When the window of this number may begin, and how far that is known. */
function border({ windowMs, phase }: Version, number: number): Span {
  const [least, most] = [phase[0] + number, phase[1] + number];
  return [least * windowMs[least < 0 ? 1 : 0], most * windowMs[most < 0 ? 0 : 1]];
}

/** The numbers of the first and the last window that may hold a decision. */
function windowsOf({ windowMs, phase }: Version, { from, to }: Decision): Span {
  const first = Math.floor(from / windowMs[from < 0 ? 0 : 1] - phase[1]);
  return [first, Math.floor(to / windowMs[0] - phase[0])];
}

/** One of so many windows explains anything. */
const manyWindows = 24;

/** N requests in each window of a clock. */
export const alignedWindow: PossibleLimits = (decisions, version, since) =>
  counted(anyRounding, decisions, version, () => 0, since);

/** The last window counts by the share of it that the sliding window still covers. */
export const slidingCounter = alwaysRounded((rounding, decisions, version, since) =>
  counted(rounding, decisions, version, bounded, since),
);

/** What is added before a counter rounds down: it rounds down, to the next number, or up. */
const roundings = [0, 0.5, 1 - 1e-9];
const anyRounding: Span = [0, 1 - 1e-9];
/** So few in a window show how a counter rounds. */
const fewToRound = 2;

/** A counter always rounds alike, which tells those of few requests apart from other limiters. */
function alwaysRounded(
  limitsOf: (rounding: Span, ...of: Parameters<PossibleLimits>) => Span | undefined,
): PossibleLimits {
  return (decisions, version, since) => {
    const limit = limitsOf(anyRounding, decisions, version, since);
    if (limit === undefined || limit[1] > fewToRound) return limit;
    const bounded = { ...version, limit };
    return hullOf(roundings.map((each) => limitsOf([each, each], decisions, bounded)));
  };
}

function bounded(share: number): number {
  return Math.min(1, Math.max(0, share));
}

/**
 * The same counters, of windows whose first one is opened by a request after a window without any.
 * Where a window may or may not have had one, either may explain what follows.
 */
export const slidingCounterFromFirst = alwaysRounded((rounding, decisions, version, since = 0) => {
  let limit: Span | undefined = version.limit;
  // Before a pause that is surely long enough, nothing matters.
  let i = Math.min(since, decisions.length - 1);
  while (i > 0 && !isLongPause(decisions, version, i)) i -= 1;
  let openers = [i];
  for (; i < decisions.length && limit !== undefined; i += 1) {
    openers = openersAt(decisions, version, openers, i);
    if (i >= since) limit = sinceOpeners(rounding, decisions, { ...version, limit }, openers, i);
  }
  return limit;
});

function isLongPause(decisions: readonly Decision[], { windowMs }: Version, i: number): boolean {
  const [before, after] = [decisions[i - 1] as Decision, decisions[i] as Decision];
  return after.from - before.to >= 2 * windowMs[1];
}

/** Those of the openers whose windows may go on, and the decision itself if it may open one. */
function openersAt(
  decisions: readonly Decision[],
  { windowMs }: Version,
  openers: readonly number[],
  i: number,
): number[] {
  const after = decisions[i] as Decision;
  const before = decisions[i - 1];
  const isPause = before !== undefined && after.to - before.from >= windowMs[0];
  if (!isPause) return [...openers];
  let opens = false;
  const going = openers.filter((opener) => {
    const { from, to } = decisions[opener] as Decision;
    const windowOf = (decision: Decision): Span => [
      Math.max(0, Math.floor((decision.from - to) / windowMs[1])),
      Math.max(0, Math.floor((decision.to - from) / windowMs[0])),
    ];
    const [last, now] = [windowOf(before), windowOf(after)];
    opens ||= now[1] >= last[0] + 2;
    return opener === i || now[0] <= last[1] + 1;
  });
  return opens ? [...going, i] : going;
}

/** The limits that permit the decision, if one of these has opened the windows. */
function sinceOpeners(
  rounding: Span,
  decisions: readonly Decision[],
  version: Version,
  openers: readonly number[],
  i: number,
): Span | undefined {
  const spans = openers.map((opener) => {
    const moved = movedTo(decisions, opener);
    const phase: Span = [0, Math.min(1, (moved[0] as Decision).to / version.windowMs[1])];
    return counted(rounding, moved, { ...version, phase }, bounded, i - opener, 0, i - opener + 1);
  });
  return hullOf(spans);
}

type Moved = Map<number, readonly Decision[]>;
const knownMoved = new WeakMap<readonly Decision[], Moved>();

/** The decisions from this one on, with its start as time 0. */
function movedTo(decisions: readonly Decision[], opener: number): readonly Decision[] {
  const known: Moved = knownMoved.get(decisions) ?? new Map();
  knownMoved.set(decisions, known);
  const start = (decisions[opener] as Decision).from;
  const moved =
    known.get(opener) ??
    decisions.slice(opener).map((each, i) => {
      // The first ones open the window, so they are surely in it, whatever is rounded.
      const to = each.to - start + (i === 0 ? 0.001 : 0);
      return { ...each, from: i === 0 ? to : each.from - start, to };
    });
  known.set(opener, moved);
  return moved;
}

/** What a count by windows looks at. */
interface Count {
  readonly decisions: readonly Decision[];
  readonly version: Version;
  /** Sums of what was spent before each decision. */
  readonly spent: readonly number[];
  /** The same sums with refusals. */
  readonly asked: readonly number[];
  readonly shareOf: (share: number) => number;
  readonly isSliding: boolean;
  readonly rounding: Span;
}

function counted(
  rounding: Span,
  decisions: readonly Decision[],
  version: Version,
  shareOf: (share: number) => number,
  since = 0,
  firstWindow = Number.NEGATIVE_INFINITY,
  until = decisions.length,
): Span | undefined {
  const { refusalsSpend } = version;
  const isSliding = shareOf(1) > 0;
  const spent = spentBefore(decisions, refusalsSpend && isSliding);
  const asked = spentBefore(decisions, true);
  const count: Count = { decisions, version, spent, asked, shareOf, isSliding, rounding };
  let [least, most] = version.limit;
  const suspects = suspectsOf(decisions);
  for (let n = since - suspects.length; n < until && least <= most; n += 1) {
    const i = n < since ? (suspects[since - n - 1] as number) : n;
    if (i < since || i >= until) continue;
    const decision = decisions[i] as Decision;
    if (decision.passed) least = Math.max(least, leastAnywhere(count, decision));
    else most = Math.min(most, mostAnywhere(count, decision, i));
    const [first, last] = windowsOf(version, decision);
    if (last - first > manyWindows) continue;
    const from = Math.max(first, firstWindow);
    if (decision.passed) {
      let needed = Number.POSITIVE_INFINITY;
      for (let number = from; number <= last && needed > least; number += 1)
        needed = Math.min(needed, leastIn(count, decision, i, number));
      least = Math.max(least, needed, Math.ceil(decision.count / Math.max(1, last - from + 1)));
    } else {
      let explained = 0;
      for (let number = from; number <= last && explained < most; number += 1)
        explained = Math.max(explained, mostIn(count, decision, i, number));
      most = Math.min(most, explained);
    }
    if (least > most && n >= since) suspects[i % mostSuspects] = i;
  }
  return spanOf(least, most);
}

const mostSuspects = 4;
const knownSuspects = new WeakMap<readonly Decision[], number[]>();

/** Decisions that have contradicted a version lately: they contradict its neighbours, too. */
function suspectsOf(decisions: readonly Decision[]): number[] {
  const suspects = knownSuspects.get(decisions) ?? Array.from({ length: mostSuspects }, () => -1);
  knownSuspects.set(decisions, suspects);
  return suspects;
}

function mayBeIn({ version }: Count, { from, to }: Decision, number: number): boolean {
  return to >= border(version, number)[0] && from < border(version, number + 1)[1];
}

/** The lowest limit with which this window may have let the decision pass. */
function leastIn(count: Count, decision: Decision, i: number, number: number): number {
  if (!mayBeIn(count, decision, number)) return Number.POSITIVE_INFINITY;
  const { version, shareOf, rounding } = count;
  const [begins, ends] = [border(version, number), border(version, number + 1)];
  const first = firstFrom(count.decisions, begins[1], i);
  const before = between(count, first, i);
  // A window of the clock that has refused a request stays full to its end.
  const asked = (count.asked[i] ?? 0) - (count.asked[first] ?? 0);
  if (!count.isSliding && asked > before) return Number.POSITIVE_INFINITY;
  const isWhole = decision.from >= begins[1] && decision.to < ends[0];
  const current = before + (isWhole ? decision.count - 1 : 0);
  const share = shareOf((ends[0] - decision.to) / version.windowMs[1]);
  if (share === 0) return current + 1;
  const [, earlier] = border(version, number - 1);
  const last = between(
    count,
    firstFrom(count.decisions, earlier, i),
    firstTo(count.decisions, begins[0], i),
  );
  return Math.floor(current + last * share + rounding[0]) + 1;
}

/** The highest limit with which this window may have refused the decision. */
function mostIn(count: Count, decision: Decision, i: number, number: number): number {
  if (!mayBeIn(count, decision, number)) return 0;
  const { version, shareOf, rounding } = count;
  const [begins, ends] = [border(version, number), border(version, number + 1)];
  if (begins[0] < version.knownSince) return Number.POSITIVE_INFINITY;
  const current = between(count, firstTo(count.decisions, begins[0], i), i);
  const share = shareOf((ends[1] - decision.from) / version.windowMs[0]);
  if (share === 0) return current;
  const [earlier] = border(version, number - 1);
  if (earlier < version.knownSince) {
    // Others passed in the last window, no more than the limit; how often they were refused is open.
    const isOpen = version.refusalsSpend || share === 1;
    return isOpen ? Number.POSITIVE_INFINITY : Math.floor((current + rounding[1]) / (1 - share));
  }
  const last = between(
    count,
    firstTo(count.decisions, earlier, i),
    firstFrom(count.decisions, begins[1], i),
  );
  return Math.floor(current + last * share + rounding[1]);
}

/** Wherever the windows begin: the lowest limit that lets so many pass in this time. */
function leastAnywhere({ version, isSliding }: Count, { from, to, count }: Decision): number {
  const windows = (to - from) / version.windowMs[0];
  // Just after a border the last window still counts nearly whole.
  if (isSliding && windows < 1) return Math.ceil((count - 1) / (1 + windows));
  return Math.ceil(count / (Math.floor(windows) + 2));
}

/** Wherever the windows begin: no more were spent in those that can refuse this decision. */
function mostAnywhere(count: Count, { from }: Decision, i: number): number {
  const reachMs = count.version.windowMs[1] * (count.isSliding ? 2 : 1);
  if (from - reachMs < count.version.knownSince) return Number.POSITIVE_INFINITY;
  return between(count, firstTo(count.decisions, from - reachMs, i), i);
}

/** What was spent by the decisions from one on and before another. */
function between({ spent }: Count, first: number, last: number): number {
  return Math.max(0, (spent[last] ?? 0) - (spent[first] ?? 0));
}
