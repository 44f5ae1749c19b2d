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
 * The first of the decisions, in their order, that no limiter of this version can have made;
 * undefined if one can have made all. `since`: those before it are known to contradict nothing.
 */
export type Contradiction = (
  decisions: readonly Decision[],
  version: Version,
  since?: number,
) => number | undefined;

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
    if (isClose && last.passed === passed)
      groups[groups.length - 1] = { ...last, to, count: last.count + count };
    else groups.push(decision);
  }
  return groups;
}
