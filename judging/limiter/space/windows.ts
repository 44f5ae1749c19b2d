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
 * If a pause may or may not have been so long, nothing is known until the next one.
 */
export const slidingCounterFromFirst: Contradiction = (decisions, version, since = 0) => {
  const { windowMs, knownSince } = version;
  let start = 0;
  let isKnown = knownSince === Number.NEGATIVE_INFINITY;
  for (let i = 1; i <= decisions.length; i += 1) {
    const [before, next] = [decisions[i - 1], decisions[i]];
    if (before === undefined) return undefined;
    if (next !== undefined && next.to - before.from < 2 * windowMs[0]) continue;
    const isNew = isKnown && i > since;
    const found = isNew ? sinceFirst(decisions.slice(start, i), version, since - start) : undefined;
    if (found !== undefined) return start + found;
    isKnown = next !== undefined && next.from - before.to >= 2 * windowMs[1];
    start = i;
  }
  return undefined;
};

function sinceFirst(
  decisions: readonly Decision[],
  version: Version,
  since: number,
): number | undefined {
  const first = decisions[0]?.from ?? 0;
  const width = (decisions[0]?.to ?? 0) - first;
  const moved = decisions.map((each, i) => {
    // The first ones open the window, so they are surely in it.
    if (i === 0) return { ...each, from: width, to: width };
    return { ...each, from: each.from - first, to: each.to - first };
  });
  const phase: Span = [0, Math.min(1, width / version.windowMs[0])];
  const moment = { ...version, phase, knownSince: Number.NEGATIVE_INFINITY };
  return counted(moved, moment, bounded, Math.max(0, since), 0);
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
  const firstAfter = (at: number, until: number, key: 'from' | 'to') => {
    let [low, high] = [0, until];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((decisions[middle] as Decision)[key] >= at) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const between = (first: number, last: number) =>
    Math.max(0, (spent[last] ?? 0) - (spent[first] ?? 0));
  const isPossible = (decision: Decision, i: number, number: number): boolean => {
    const { from, to, passed, count } = decision;
    const [begins, ends] = [border(version, number), border(version, number + 1)];
    if (to < begins[0] || from >= ends[1]) return false;
    const earlier = border(version, number - 1);
    if (passed) {
      const isWhole = from >= begins[1] && to < ends[0];
      const current = between(firstAfter(begins[1], i, 'from'), i) + (isWhole ? count - 1 : 0);
      const last = between(firstAfter(earlier[1], i, 'from'), firstAfter(begins[0], i, 'to'));
      return current + last * shareOf((ends[0] - to) / windowMs[1]) < limit[1];
    }
    const current = between(firstAfter(begins[0], i, 'to'), i);
    const last = between(firstAfter(earlier[0], i, 'to'), firstAfter(begins[1], i, 'from'));
    const estimate = current + last * shareOf((ends[1] - from) / windowMs[0]);
    return isSliding ? estimate > limit[0] - 1 : estimate >= limit[0];
  };
  for (let i = since; i < decisions.length; i += 1) {
    const decision = decisions[i] as Decision;
    if (!decision.passed && decision.from - 2 * windowMs[1] < knownSince) continue;
    const [first, last] = windowsOf(version, decision);
    if (last - first > manyWindows) continue;
    let [isExplained, held] = [false, 0];
    for (let number = Math.max(first, firstWindow); number <= last; number += 1) {
      isExplained ||= isPossible(decision, i, number);
      held += limit[1];
      if (isExplained && (!decision.passed || held >= decision.count)) break;
    }
    if (!isExplained || (decision.passed && held < decision.count)) return i;
  }
  return undefined;
}
