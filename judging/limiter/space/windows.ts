/**
 * Limiters that count by windows: one that the first request opens, windows of a clock, and two
 * counters of which the last one counts by the share that a sliding window still covers.
 */
import {
  type Contradiction,
  type Decision,
  type Span,
  spentBefore,
  type Version,
} from './decision.ts';

/** What a window may hold when its opener was decided at some time of a span. */
interface Open {
  readonly opened: Span;
  readonly least: number;
  readonly most: number;
}

/** The first request after the end of a window opens the next one. */
export const fixedWindow: Contradiction = (decisions, version) =>
  followed(decisions, version, (open, { from, to, passed }, { windowMs }) => {
    const end: Span = [open.opened[0] + windowMs[0], open.opened[1] + windowMs[1]];
    return { isIn: from < end[1], isAfter: to >= end[0], opened: passed ? open.opened : undefined };
  });

/** As above, but each request moves the end: the window ends after a pause without any. */
export const prolongedWindow: Contradiction = (decisions, version) =>
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
function followed(
  decisions: readonly Decision[],
  version: Version,
  step: Step,
): number | undefined {
  const { limit, windowMs, knownSince } = version;
  const isKnown = knownSince === Number.NEGATIVE_INFINITY;
  const before: Span = isKnown
    ? [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
    : [knownSince - windowMs[1], knownSince];
  let states: Open[] = [{ opened: before, least: 0, most: isKnown ? 0 : limit[1] }];
  for (const [i, decision] of decisions.entries()) {
    const { from, to, passed, count } = decision;
    const next: Open[] = [];
    for (const open of states) {
      const { isIn, isAfter, opened = open.opened } = step(open, decision, version);
      if (isIn && passed && open.least + count <= limit[1])
        next.push({
          opened,
          least: open.least + count,
          most: Math.min(limit[1], open.most + count),
        });
      if (isIn && !passed && open.most >= limit[0])
        next.push({ opened, least: Math.max(open.least, limit[0]), most: open.most });
      // Some of the requests may still have been in the window before.
      if (isAfter && passed && (isIn || count <= limit[1]))
        next.push({ opened: [from, to], least: isIn ? 1 : count, most: Math.min(limit[1], count) });
    }
    if (next.length === 0) return i;
    states = merged(next);
  }
  return undefined;
}

/** Of windows with one opener, one that may hold what any of them holds. */
function merged(states: readonly Open[]): Open[] {
  const byOpener = new Map<number, Open>();
  for (const open of states) {
    const same = byOpener.get(open.opened[0]) ?? open;
    byOpener.set(open.opened[0], {
      opened: open.opened,
      least: Math.min(same.least, open.least),
      most: Math.max(same.most, open.most),
    });
  }
  return [...byOpener.values()];
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
export const alignedWindow: Contradiction = (decisions, version, since) =>
  counted(decisions, version, () => 0, since);

/** The last window counts by the share of it that the sliding window still covers. */
export const slidingCounter: Contradiction = (decisions, version, since) =>
  counted(decisions, version, bounded, since);

function bounded(share: number): number {
  return Math.min(1, Math.max(0, share));
}

/**
 * The same counters, of windows whose first one is opened by a request after a pause of two windows.
 * A pause may or may not have been so long: then either may explain the rest.
 */
export const slidingCounterFromFirst: Contradiction = (decisions, version) =>
  fromFirst(decisions, version, [0, 1], mostUnclear);

/** More unclear pauses than this explain anything. */
const mostUnclear = 3;

/** From the first decision of the current windows; `next`: where pauses are looked for. */
function fromFirst(
  decisions: readonly Decision[],
  version: Version,
  [start, next]: readonly [number, number],
  unclear: number,
): number | undefined {
  const { windowMs, knownSince } = version;
  for (let i = next; i <= decisions.length; i += 1) {
    const [before, after] = [decisions[i - 1], decisions[i]];
    if (before === undefined) return undefined;
    if (after !== undefined && after.to - before.from < 2 * windowMs[0]) continue;
    const isLong = after === undefined || after.from - before.to >= 2 * windowMs[1];
    if (!isLong) {
      if (unclear === 0) return undefined;
      const place = [start, i + 1] as const;
      if (fromFirst(decisions, version, place, unclear - 1) === undefined) return undefined;
    }
    const isKnown = start > 0 || knownSince === Number.NEGATIVE_INFINITY;
    const found = isKnown ? sinceFirst(decisions.slice(start, i), version) : undefined;
    if (found !== undefined) return start + found;
    if (i === decisions.length) return undefined;
    return fromFirst(decisions, version, [i, i + 1], unclear);
  }
  return undefined;
}

function sinceFirst(decisions: readonly Decision[], version: Version): number | undefined {
  const first = decisions[0]?.from ?? 0;
  const width = (decisions[0]?.to ?? 0) - first;
  const moved = decisions.map((each, i) => {
    // The first ones open the window, so they are surely in it.
    if (i === 0) return { ...each, from: width, to: width };
    return { ...each, from: each.from - first, to: each.to - first };
  });
  const phase: Span = [0, Math.min(1, width / version.windowMs[0])];
  const moment = { ...version, phase, knownSince: Number.NEGATIVE_INFINITY };
  return counted(moved, moment, bounded, 0, 0);
}

/** What a count by windows looks at. */
interface Count {
  readonly decisions: readonly Decision[];
  readonly version: Version;
  /** Sums of what was spent before each decision. */
  readonly spent: readonly number[];
  readonly shareOf: (share: number) => number;
  readonly isSliding: boolean;
}

function counted(
  decisions: readonly Decision[],
  version: Version,
  shareOf: (share: number) => number,
  since = 0,
  firstWindow = Number.NEGATIVE_INFINITY,
): number | undefined {
  const { limit, windowMs, refusalsSpend, knownSince } = version;
  const isSliding = shareOf(1) > 0;
  const spent = spentBefore(decisions, refusalsSpend && isSliding);
  const count: Count = { decisions, version, spent, shareOf, isSliding };
  for (let i = since; i < decisions.length; i += 1) {
    const decision = decisions[i] as Decision;
    if (!decision.passed && decision.from - 2 * windowMs[1] < knownSince) continue;
    if (isOutOfReach(count, decision, i)) return i;
    const [first, last] = windowsOf(version, decision);
    if (last - first > manyWindows) continue;
    let [isExplained, held] = [false, 0];
    for (let number = Math.max(first, firstWindow); number <= last; number += 1) {
      isExplained ||= canBeIn(count, decision, i, number);
      held += limit[1];
      if (isExplained && (!decision.passed || held >= decision.count)) break;
    }
    if (!isExplained || (decision.passed && held < decision.count)) return i;
  }
  return undefined;
}

/** True if this window may have made the decision. */
function canBeIn(count: Count, decision: Decision, i: number, number: number): boolean {
  const { version, shareOf, isSliding } = count;
  const { limit, windowMs } = version;
  const [begins, ends] = [border(version, number), border(version, number + 1)];
  if (decision.to < begins[0] || decision.from >= ends[1]) return false;
  const earlier = border(version, number - 1);
  if (decision.passed) {
    const isWhole = decision.from >= begins[1] && decision.to < ends[0];
    const current =
      between(count, firstFrom(count, begins[1], i), i) + (isWhole ? decision.count - 1 : 0);
    const last = between(count, firstFrom(count, earlier[1], i), firstTo(count, begins[0], i));
    return current + last * shareOf((ends[0] - decision.to) / windowMs[1]) < limit[1];
  }
  const current = between(count, firstTo(count, begins[0], i), i);
  const last = between(count, firstTo(count, earlier[0], i), firstFrom(count, begins[1], i));
  const estimate = current + last * shareOf((ends[1] - decision.from) / windowMs[0]);
  return isSliding ? estimate > limit[0] - 1 : estimate >= limit[0];
}

/** Wherever the windows begin: how many of them can touch these requests, or explain a refusal. */
function isOutOfReach(count: Count, { from, to, ...decision }: Decision, i: number): boolean {
  const { limit, windowMs } = count.version;
  const windows = (to - from) / windowMs[0];
  // Just after a border the last window still counts nearly whole.
  if (decision.passed && count.isSliding && windows < 1)
    return decision.count > limit[1] * (1 + windows) + 1;
  if (decision.passed) return decision.count > limit[1] * (Math.floor(windows) + 2);
  const reachMs = windowMs[1] * (count.isSliding ? 2 : 1);
  return between(count, firstTo(count, from - reachMs, i), i) < limit[0];
}

/** What was spent by the decisions from one on and before another. */
function between({ spent }: Count, first: number, last: number): number {
  return Math.max(0, (spent[last] ?? 0) - (spent[first] ?? 0));
}

/** The first decision, up to one, that was surely not made before this time. */
function firstFrom({ decisions }: Count, at: number, until: number): number {
  let [low, high] = [0, until];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((decisions[middle] as Decision).from >= at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The first decision, up to one, that may have been made at this time or later. */
function firstTo({ decisions }: Count, at: number, until: number): number {
  let [low, high] = [0, until];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((decisions[middle] as Decision).to >= at) high = middle;
    else low = middle + 1;
  }
  return low;
}
