/** One run of the client, before and after it is judged, and the function that starts one. */

import type { Point, Schedule } from '#contract/fault-schedule.ts';
import type { KnownIntents } from './points.ts';
import { type Expected, type Failure, failuresOf, type RawRun } from './verdict.ts';

/** A judged run. */
export interface Run extends Pick<RawRun, 'ending' | 'seen'> {
  readonly schedule: Schedule;
  /** The points that it reached, in order. */
  readonly trace: readonly Point[];
  /** The gravest first. */
  readonly failures: readonly Failure[];
}

/**
 * Runs the client once in a fresh world. `throttleWaits`: the seconds of `Retry-After` that the
 * first `throttle` of the schedule asks for, the second and so on; the last one holds for the rest.
 * Rejects with `Ended` if the user interrupts it.
 */
export type RunClient = (
  schedule: Schedule,
  known: KnownIntents,
  throttleWaits: readonly number[],
) => Promise<RawRun>;

/** Thrown instead of a run: the user has interrupted the search, or its budget has ended. */
export class Ended extends Error {
  readonly stop: 'interrupted' | 'budget';

  constructor(stop: Ended['stop']) {
    super(stop);
    this.stop = stop;
  }
}

/** Judges a run. `mayFail`: the run does not fail only because the client ends with an error. */
export function runOf(
  raw: RawRun,
  schedule: Schedule,
  expected: Expected | undefined,
  mayFail: boolean,
): Run {
  const { ending, seen } = raw;
  const trace = seen.flatMap(({ point }) => point ?? []);
  return { schedule, trace, failures: failuresOf(raw, expected, mayFail), ending, seen };
}
