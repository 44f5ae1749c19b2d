/**
 * Limiters with one window, which a request opens. A window may have been opened by several of the
 * requests, so every window that may be open is followed from decision to decision.
 */
import { type Decision, hullOf, type Span, spanOf, type Version } from './decision.ts';
import type { Group, History, Part, PossibleLimits } from './history.ts';

/** The first request after the end of a window opens the next one. */
export const fixedWindow: PossibleLimits = (history, version, part) =>
  possibleLimits(history, version, part, () => false);

/** The same, but each request moves the end: the window ends after a pause of its length. */
export const prolongedWindow: PossibleLimits = (history, version, part) =>
  possibleLimits(history, version, part, ({ passed }) => passed || version.refusalsSpend);

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
