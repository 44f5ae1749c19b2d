/**
 * Limiters whose window a request opens. A window may have been opened by several of the requests,
 * so every window that may be open is followed from decision to decision.
 */
import { type Count, countOf, limitsByWindows, windowsOf } from './counters.ts';
import { type Decision, hullOf, type Span, spanOf, type Version } from './decision.ts';
import type { Group, History, LimitsByRounding, Part, PossibleLimits } from './history.ts';

/** The first request after the end of a window opens the next one. */
export const fixedWindow: PossibleLimits = (history, version, part) =>
  possibleLimits(history, version, part, () => false);

/** The same, but each request moves the end: the window ends after a pause of its length. */
export const prolongedWindow: PossibleLimits = (history, version, part) =>
  possibleLimits(history, version, part, ({ passed }) => passed || version.refusalsSpend);

/**
 * A sliding counter whose first window is opened by a request after a window without any. Where a
 * window may or may not have had one, either may explain what follows: the windows of each request
 * that may have opened some are followed, as far as they permit what was decided.
 */
export const slidingCounterFromFirst: LimitsByRounding = (rounding, history, version, part) => {
  const { since, until } = part;
  if (until === 0) return version.limit;
  const base = countOf(history, version, { begin: 0 }, { isSliding: true, rounding });
  const { groups } = history;
  let { at, windows } = seriesBefore(base, part);
  while (at < until && windows.length > 0) {
    if (at === since && since > 0) seriesCheckpoints.set(version, { groups, at, windows });
    const opened = seriesAt(base, windows, at);
    // As far as no other may open windows, groups are judged together.
    const end = sameUntil(base, opened, at, at < since ? since : until);
    windows = permittedBy(opened, { since: at, until: end });
    at = end;
  }
  return hullOf(windows.map(({ limit }) => limit));
};

/** A window that may be open after a decision. */
interface OpenWindow {
  /** The limits that permit all decisions up to here. */
  readonly limit: Span;
  readonly opened: Span;
  /** How many requests it holds. */
  readonly spent: Span;
  /** True after a refusal: nothing more passes. */
  readonly isFull: boolean;
}

/** The windows that may be open before group `at`. */
interface Checkpoint<Window> {
  readonly groups: readonly Group[];
  readonly at: number;
  readonly windows: readonly Window[];
}

/** An update judges from the last group on, which may still grow, so it continues before that one. */
const checkpoints = new WeakMap<Version, Checkpoint<OpenWindow>>();

/** `prolongs`: true if a decision moves the end of the window. */
function possibleLimits(
  { groups }: History,
  version: Version,
  { begin, since, until }: Part,
  prolongs: (decision: Decision) => boolean,
): Span | undefined {
  const saved = checkpoints.get(version);
  const isUsable = saved?.groups === groups && saved.at < since;
  let windows = isUsable ? saved.windows : [windowAtStart(version)];
  for (let at = isUsable ? saved.at : begin; at < until; at += 1) {
    if (at === since - 1) checkpoints.set(version, { groups, at, windows });
    const group = groups[at] as Group;
    windows = windowsAfter(group, windows, version.windowMs, prolongs(group));
    if (windows.length === 0) return undefined;
  }
  return hullOf(windows.map(({ limit }) => limit));
}

/** The window before all decisions: long over, or open with unknown requests before `knownSince`. */
function windowAtStart({ limit, windowMs, knownSince }: Version): OpenWindow {
  if (knownSince === Number.NEGATIVE_INFINITY)
    return { limit, opened: [knownSince, knownSince], spent: [0, 0], isFull: false };
  const opened: Span = [knownSince - windowMs[1], knownSince];
  return { limit, opened, spent: [0, limit[1]], isFull: false };
}

/** The windows that may be open after a decision. Drops those that it contradicts. */
function windowsAfter(
  { from, to, passed, count }: Decision,
  windows: readonly OpenWindow[],
  windowMs: Span,
  isProlonged: boolean,
): readonly OpenWindow[] {
  const next: OpenWindow[] = [];
  /** All windows that this decision opens, as one. */
  let fresh: OpenWindow | undefined;
  const add = (opened: Span, limit: Span | undefined, least: number, most: number) => {
    if (limit === undefined) return;
    const spent: Span = [least, Math.min(limit[1], most)];
    const window = { limit, opened, spent, isFull: !passed };
    if (opened[0] === from) fresh = fresh === undefined ? window : merged(fresh, window);
    else next.push(window);
  };
  for (const { limit, opened, spent, isFull } of windows) {
    const mayBeIn = from < opened[1] + windowMs[1];
    const mayBeAfter = to >= opened[0] + windowMs[0];
    const [lowest, highest] = limit;
    const [least, most] = spent;
    const openedNow: Span = isProlonged ? [from, to] : opened;
    // It passes in this window, which must have room for it.
    if (mayBeIn && passed && (count === 0 || !isFull)) {
      const sum = least + count;
      add(openedNow, spanOf(Math.max(lowest, sum), highest), sum, most + count);
    }
    // This window refuses it, so it is full: the limit is no more than it may hold.
    if (mayBeIn && !passed)
      add(openedNow, spanOf(lowest, Math.min(highest, most)), Math.max(least, lowest), most);
    // It opens the next window. Some of its requests may still have been in this one.
    if (!mayBeAfter || !passed) continue;
    if (mayBeIn && !isFull) add([from, to], limit, Math.min(1, count), count);
    else add([from, to], spanOf(Math.max(lowest, count), highest), count, count);
  }
  if (fresh !== undefined) next.push(fresh);
  // The oldest ones of many differ least.
  if (next.length > mostOpen)
    next.splice(0, 2, merged(next[0] as OpenWindow, next[1] as OpenWindow));
  return next;
}

/** At most this many possible windows are kept apart; above it, two are merged. */
const mostOpen = 12;

/** A window that permits what one of the two permits. */
function merged(one: OpenWindow, other: OpenWindow): OpenWindow {
  return {
    limit: hullOfTwo(one.limit, other.limit),
    opened: hullOfTwo(one.opened, other.opened),
    spent: hullOfTwo(one.spent, other.spent),
    isFull: one.isFull && other.isFull,
  };
}

/** `hullOf` without lists, because a decision may call it for each window. */
function hullOfTwo(one: Span, other: Span): Span {
  return [Math.min(one[0], other[0]), Math.max(one[1], other[1])];
}

/** Windows that follow each other, the first of which a request has opened. */
interface WindowSeries {
  /** The limits that permit all decisions up to here. */
  readonly limit: Span;
  readonly count: Count;
}

/** The same for windows that follow each other. */
const seriesCheckpoints = new WeakMap<Version, Checkpoint<WindowSeries>>();
/** If more may have opened windows than this, following each takes most of the time of an audit. */
const mostWindowSeries = 3;

/** What may be open before the part, or before a group in front of it. */
function seriesBefore(base: Count, { since, until }: Part): Checkpoint<WindowSeries> {
  const { groups } = base.history;
  const { limit, windowMs, knownSince } = base.version;
  const saved = seriesCheckpoints.get(base.version);
  if (saved?.groups === groups && saved.at <= since) return saved;
  // Before a pause that is surely long enough, nothing matters.
  const pauseBefore = (at: number) => (groups[at] as Group).from - (groups[at - 1] as Group).to;
  let at = Math.min(since, until - 1);
  while (at > 0 && pauseBefore(at) < 2 * windowMs[1]) at -= 1;
  // If that is unknown, an earlier request has opened windows at the version's phase.
  const isKnown = knownSince === Number.NEGATIVE_INFINITY;
  return { groups, at, windows: [{ limit, count: isKnown ? countFrom(base, at) : base }] };
}

/** The count of the windows that the first request of this group opens. */
function countFrom(base: Count, at: number): Count {
  const { history, version } = base;
  const { limit, windowMs, refusalsSpend } = version;
  const { first } = history.groups[at] as Group;
  const { from, to } = history.decisions.all[first] as Decision;
  const phase: Span = [0, Math.min(1, (to - from) / windowMs[1])];
  // The windows that it opens hold nothing from before it.
  const knownSince = Number.NEGATIVE_INFINITY;
  const opened: Version = { limit, windowMs, phase, refusalsSpend, knownSince };
  return { ...base, version: opened, begin: first, origin: from, firstWindow: 0 };
}

/** The windows that may go on at this group, and those that it may open. */
function seriesAt(
  base: Count,
  opened: readonly WindowSeries[],
  at: number,
): readonly WindowSeries[] {
  const { groups } = base.history;
  const [before, after] = [groups[at - 1], groups[at] as Group];
  const ended = opened.filter(({ count }) => mayHaveEnded(count, before, after));
  if (ended.length === 0 || before === undefined) return opened;
  const going = opened.filter(({ count }) => mayGoOn(count, before, after));
  // The first request of a window passes.
  if (!after.passed) return going;
  if (going.length < mostWindowSeries) return [...going, joined(ended, countFrom(base, at))];
  // One of many may have opened the windows: they begin at any phase.
  const version = { ...base.version, phase: [0, 1] as const };
  return [joined([...going, ...ended], { ...base, version })];
}

/** True if a window without a request may lie between the two: it ends the windows that go on. */
function mayHaveEnded(count: Count, before: Decision | undefined, after: Decision): boolean {
  if (before === undefined || after.to - before.from < count.version.windowMs[0]) return false;
  const [earliest] = windowsOf(count, before);
  const [, last] = windowsOf(count, after);
  return last >= Math.max(earliest, count.firstWindow) + 2;
}

/** True if each window between the two may hold one of them. */
function mayGoOn(count: Count, before: Decision, after: Decision): boolean {
  if (after.from - before.to >= 2 * count.version.windowMs[1]) return false;
  const [, latest] = windowsOf(count, before);
  const [next] = windowsOf(count, after);
  return next <= latest + 1;
}

/** The group before which no other may open windows; the next one if several may have. */
function sameUntil(
  { history: { groups } }: Count,
  opened: readonly WindowSeries[],
  at: number,
  until: number,
): number {
  let end = at + 1;
  const [one, ...others] = opened;
  if (one === undefined || others.length > 0) return end;
  while (end < until && !mayHaveEnded(one.count, groups[end - 1], groups[end] as Group)) end += 1;
  return end;
}

/** Those that permit the groups, with the limits that do. */
function permittedBy(
  opened: readonly WindowSeries[],
  judged: Pick<Part, 'since' | 'until'>,
): WindowSeries[] {
  const permitted: WindowSeries[] = [];
  for (const { limit: before, count } of opened) {
    const limit = limitsByWindows(count, before, judged);
    if (limit !== undefined) permitted.push({ limit, count });
  }
  return permitted;
}

/** What any of these permits, with another count. */
function joined(opened: readonly WindowSeries[], count: Count): WindowSeries {
  return { limit: opened.map(({ limit }) => limit).reduce(hullOfTwo), count };
}
