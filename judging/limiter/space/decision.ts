/**
 * What a limiter decided, as far as an observer knows it, and a way in which it may work. Each
 * instant is an interval: a request was decided at some time between its start and its reply.
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
  /** True if refused requests also count. */
  readonly refusalsSpend: boolean;
  /** Before this time, requests that the observer does not know may have spent. */
  readonly knownSince: number;
}

/** The version with this limit: the same object if it has it, since judges know it by that. */
export function withLimit(version: Version, limit: Span | undefined): Version | undefined {
  if (limit === undefined) return undefined;
  const isSame = limit[0] === version.limit[0] && limit[1] === version.limit[1];
  return isSame ? version : { ...version, limit };
}

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

/**
 * The most of these that began within a time of this length and ended before its end: of `a` from 0
 * to 3, `b` from 1 to 9 and `c` from 5 to 6, within a length of 7, `a` and `c`.
 */
export function mostWithin<Each>(
  all: readonly Each[],
  timesOf: (each: Each) => Span,
  lengthMs: number,
): readonly Each[] {
  const byBegin = all.toSorted((one, other) => timesOf(one)[0] - timesOf(other)[0]);
  const place = new Map(byBegin.map((each, i) => [each, i]));
  // One that takes long ends after others that began later.
  const byEnd = byBegin.toSorted((one, other) => timesOf(one)[1] - timesOf(other)[1]);
  let [ended, within] = [0, 0];
  let most = { count: 0, begin: 0, until: Number.NEGATIVE_INFINITY };
  for (const [begin, first] of byBegin.entries()) {
    const until = timesOf(first)[0] + lengthMs;
    const isInTime = (each: Each) => timesOf(each)[1] < until;
    for (let next = byEnd[ended]; next && isInTime(next); next = byEnd[ended]) {
      ended += 1;
      if ((place.get(next) ?? 0) >= begin) within += 1;
    }
    if (within > most.count) most = { count: within, begin, until };
    if (isInTime(first)) within -= 1;
  }
  return byBegin.slice(most.begin).filter((each) => timesOf(each)[1] < most.until);
}

/**
 * The first number from `begin` on for which `holds` is true, or `until`. Searches by halves, so
 * `holds` must stay true after its first true number.
 */
export function firstThat(
  begin: number,
  until: number,
  holds: (number: number) => boolean,
): number {
  let [low, high] = [begin, until];
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
