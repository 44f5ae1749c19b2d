/** Limiters with one window, which a request opens: the first one, or each anew. */
import { type Decision, hullOf, type Span, spanOf, type Version } from './decision.ts';
import type { Group, History, Part, PossibleLimits } from './history.ts';

/** A window that may be open, and what it may hold. It was opened at some time of a span. */
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
export const fixedWindow: PossibleLimits = (history, version, part) =>
  followed(history, version, part, () => false);

/** The same, but each request moves the end: the window ends after a pause of its length. */
export const prolongedWindow: PossibleLimits = (history, version, part) =>
  followed(history, version, part, ({ passed }) => passed || version.refusalsSpend);

/** The windows that may be open after all groups but the last one, which may still grow. */
interface Opens {
  readonly groups: readonly Group[];
  readonly at: number;
  readonly states: readonly Open[];
}

const opens = new WeakMap<Version, Opens>();

/** Follows every window that may be open, and drops those that a decision contradicts. */
function followed(
  { groups }: History,
  version: Version,
  { begin, since, until }: Part,
  isMoving: (decision: Decision) => boolean,
): Span | undefined {
  const known = opens.get(version);
  const start =
    known?.groups === groups && known.at < since ? known : { at: begin, states: [before(version)] };
  let { states } = start;
  for (let i = start.at; i < until; i += 1) {
    if (i === since - 1) opens.set(version, { groups, at: i, states });
    const group = groups[i] as Group;
    states = after(states, group, version.windowMs, isMoving(group));
    if (states.length === 0) return undefined;
  }
  return hullOf(states.map(({ limit }) => limit));
}

function before({ limit, windowMs, knownSince }: Version): Open {
  const isKnown = knownSince === Number.NEGATIVE_INFINITY;
  const opened: Span = isKnown
    ? [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
    : [knownSince - windowMs[1], knownSince];
  return { limit, opened, least: 0, most: isKnown ? 0 : limit[1], isFull: false };
}

function after(
  states: readonly Open[],
  { from, to, passed, count }: Decision,
  windowMs: Span,
  isMoving: boolean,
): readonly Open[] {
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
    const opened: Span = isMoving ? [from, to] : open.opened;
    const isIn = from < open.opened[1] + windowMs[1];
    const isAfter = to >= open.opened[0] + windowMs[0];
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
  // The oldest ones of many differ least.
  if (next.length > mostOpen) next.splice(0, 2, either(next[0] as Open, next[1] as Open));
  return next;
}

/** At most this many possible windows are kept apart; above it, two are merged. */
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
