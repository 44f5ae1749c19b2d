/**
 * Limiters whose window a request opens. A window may have been opened by several of the requests,
 * so every window that may be open is followed from decision to decision.
 */
import { alwaysRounded, limitsByWindows, windowsOf } from './counters.ts';
import { type Decision, hullOf, type Span, spanOf, type Version } from './decision.ts';
import type { Group, History, Part, PossibleLimits } from './history.ts';

/** The first request after the end of a window opens the next one. */
export const fixedWindow: PossibleLimits = (history, version, part) =>
  possibleLimits(history, version, part, () => false);

/** The same, but each request moves the end: the window ends after a pause of its length. */
export const prolongedWindow: PossibleLimits = (history, version, part) =>
  possibleLimits(history, version, part, ({ passed }) => passed || version.refusalsSpend);

/**
 * A sliding counter whose first window is opened by a request after a window without any. Where a
 * window may or may not have had one, either may explain what follows: `openers` are the groups
 * whose windows may go on.
 */
export const slidingCounterFromFirst = alwaysRounded(
  (rounding, history, version, { since, until }) => {
    const { groups } = history;
    let limit: Span | undefined = version.limit;
    // Before a pause that is surely long enough, nothing matters.
    const pauseBefore = (at: number) => (groups[at] as Group).from - (groups[at - 1] as Group).to;
    let at = Math.min(since, until - 1);
    while (at > 0 && pauseBefore(at) < 2 * version.windowMs[1]) at -= 1;
    const isKnown = at > 0 || version.knownSince === Number.NEGATIVE_INFINITY;
    let openers: readonly number[] = [isKnown ? at : unknownOpener];
    for (let end = at; at < until && limit !== undefined; at = end) {
      openers = openersAt(history, version, openers, at);
      end = at + 1;
      // What one has opened is judged together as far as no other may open windows.
      const isSame = () => openersAt(history, version, openers, end) === openers;
      while (openers.length === 1 && end < until && isSame()) end += 1;
      const part = { since: Math.max(at, since), until: end };
      if (end > since)
        limit = limitsByOpeners(history, { ...version, limit }, openers, part, rounding);
    }
    return limit;
  },
);

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
interface Checkpoint {
  readonly groups: readonly Group[];
  readonly at: number;
  readonly windows: readonly OpenWindow[];
}

/** An update judges from the last group on, which may still grow, so it continues before that one. */
const checkpoints = new WeakMap<Version, Checkpoint>();

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
    if (mayBeIn && passed && !isFull) {
      const sum = least + count;
      add(openedNow, spanOf(Math.max(lowest, sum), highest), sum, most + count);
    }
    if (mayBeIn && !passed)
      add(openedNow, spanOf(lowest, Math.min(highest, most)), Math.max(least, lowest), most);
    if (!mayBeAfter || !passed) continue;
    // Some of the requests may still have been in the window before.
    if (mayBeIn && !isFull) add([from, to], limit, 1, count);
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

/** Stands for a request before all that are known: it opened windows at the version's phase. */
const unknownOpener = -1;
/** Stands for one of many that may have opened windows: they begin at any phase. */
const anyOpener = -2;
/** If more may have opened windows than this, following each takes most of the time of an audit. */
const mostOpeners = 8;
/** The openers whose windows may go on at this group, and the group itself if it may open one. */
function openersAt(
  history: History,
  version: Version,
  openers: readonly number[],
  at: number,
): readonly number[] {
  const { windowMs } = version;
  const [before, after] = [history.groups[at - 1], history.groups[at] as Group];
  if (before === undefined || after.to - before.from < windowMs[0]) return openers;
  if (after.from - before.to >= 2 * windowMs[1]) return [at];
  let mayOpen = false;
  const going = openers.filter((opener) => {
    const windowsOf = windowsSince(history, version, opener);
    const [earlier, later] = [windowsOf(before), windowsOf(after)];
    // A window without a request in between ends the windows of an opener.
    mayOpen ||= later[1] >= earlier[0] + 2;
    return opener === at || later[0] <= earlier[1] + 1;
  });
  if (mayOpen) return going.length < mostOpeners ? [...going, at] : [anyOpener];
  return going.length === openers.length ? openers : going;
}

/** The numbers of the windows that may hold a decision, if this group has opened the first. */
function windowsSince(history: History, version: Version, opener: number) {
  if (opener < 0)
    return (decision: Decision) =>
      windowsOf({ version: openedBefore(version, opener), origin: 0 }, decision);
  const { windowMs } = version;
  const opening = openingOf(history, opener);
  return ({ from, to }: Decision): Span => [
    Math.max(0, Math.floor((from - opening.to) / windowMs[1])),
    Math.max(0, Math.floor((to - opening.from) / windowMs[0])),
  ];
}

function openedBefore(version: Version, opener: number): Version {
  return opener === anyOpener ? { ...version, phase: [0, 1] } : version;
}

/** The decision that opened windows. */
function openingOf({ groups, decisions }: History, opener: number): Decision {
  return decisions.all[(groups[opener] as Group).first] as Decision;
}

/** The limits that permit the groups, if one of these has opened the windows. */
function limitsByOpeners(
  history: History,
  version: Version,
  openers: readonly number[],
  judged: Pick<Part, 'since' | 'until'>,
  rounding: Span,
): Span | undefined {
  const spans = openers.map((begin) => {
    const part = { begin: Math.max(0, begin), ...judged };
    if (begin < 0)
      return limitsByWindows(history, openedBefore(version, begin), part, {
        isSliding: true,
        rounding,
      });
    const { from, to } = openingOf(history, begin);
    const phase: Span = [0, Math.min(1, (to - from) / version.windowMs[1])];
    const how = { isSliding: true, rounding, origin: from, firstWindow: 0 };
    // The windows that it opens hold nothing from before it.
    const opened = { ...version, phase, knownSince: Number.NEGATIVE_INFINITY };
    return limitsByWindows(history, opened, part, how);
  });
  return hullOf(spans);
}
