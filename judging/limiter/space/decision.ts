/**
 * What a limiter decided, as far as an observer knows it. Each instant is an interval: a request was
 * decided at some time between its start and its reply.
 */

/** Requests of one caller that followed each other, each decided between these times. */
export interface Decision {
  readonly from: number;
  readonly to: number;
  readonly passed: boolean;
  /** How many requests. */
  readonly count: number;
  /** True if it matters enough never to be joined with its neighbours. */
  readonly isAlone?: true;
}

/** A span of a number that is not known exactly; both ends are possible. */
export type Span = readonly [least: number, most: number];

/** One way in which a limiter may work, with a span for each number that is not known. */
export interface Version {
  /** The most requests in a window, or at once. */
  readonly limit: Span;
  readonly windowMs: Span;
  /** Where the windows begin, as a share of a window after time 0. */
  readonly phase: Span;
  /** True if refused requests count, too. */
  readonly refusalsSpend: boolean;
  /** Before this time, requests that the observer does not know may have spent. */
  readonly knownSince: number;
}

/**
 * The limits, of those of the version, with which a limiter can have made the decisions; undefined if
 * there are none. What passed and was refused is known, so each decision bounds the limit by itself.
 * `since`: the limits of the version permit those before it.
 */
export type PossibleLimits = (
  decisions: readonly Decision[],
  version: Version,
  since?: number,
) => Span | undefined;

/** The span, or undefined if it is empty. */
export function spanOf(least: number, most: number): Span | undefined {
  return least <= most ? [least, most] : undefined;
}

/** The span from the least to the most of all; undefined without any. */
export function hullOf(spans: readonly (Span | undefined)[]): Span | undefined {
  const known = spans.filter((each) => each !== undefined);
  return spanOf(
    Math.min(...known.map(([least]) => least)),
    Math.max(...known.map(([, most]) => most)),
  );
}

type Sums = readonly number[];
const knownSums = new WeakMap<readonly Decision[], Map<boolean, Sums>>();

/** Sums of the requests that spent, so that those between two decisions are one subtraction. */
export function spentBefore(decisions: readonly Decision[], refusalsSpend: boolean): Sums {
  const known = knownSums.get(decisions) ?? new Map<boolean, Sums>();
  knownSums.set(decisions, known);
  const sums = known.get(refusalsSpend) ?? sumsOf(decisions, refusalsSpend);
  known.set(refusalsSpend, sums);
  return sums;
}

function sumsOf(decisions: readonly Decision[], refusalsSpend: boolean): Sums {
  const sums = [0];
  let sum = 0;
  for (const { passed, count } of decisions) {
    sum += passed || refusalsSpend ? count : 0;
    sums.push(sum);
  }
  return sums;
}

/**
 * Joins neighbours of one outcome that lie within this span, or at the same instant: the fewer
 * decisions, the faster.
 */
export function joined(decisions: readonly Decision[], withinMs: number): Decision[] {
  const groups: Decision[] = [];
  for (const decision of decisions) {
    const last = groups.at(-1);
    const { from, to, passed, count } = decision;
    const isClose = last !== undefined && to - last.from <= Math.max(withinMs, to - from);
    if (isClose && last.passed === passed && !decision.isAlone && !last.isAlone)
      groups[groups.length - 1] = { ...last, to, count: last.count + count };
    else groups.push(decision);
  }
  return groups;
}

/** The first decision, up to one, that was surely not made before this time. */
export function firstFrom(decisions: readonly Decision[], at: number, until: number): number {
  return firstAt('from', decisions, at, until);
}

/** The first decision, up to one, that may have been made at this time or later. */
export function firstTo(decisions: readonly Decision[], at: number, until: number): number {
  return firstAt('to', decisions, at, until);
}

function firstAt(
  bound: 'from' | 'to',
  decisions: readonly Decision[],
  at: number,
  until: number,
): number {
  let [low, high] = [0, until];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((decisions[middle] as Decision)[bound] >= at) high = middle;
    else low = middle + 1;
  }
  return low;
}
