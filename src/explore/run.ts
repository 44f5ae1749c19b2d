/**
 * One run of the client, before and after it is judged, and the function that starts one.
 */
import type { Report } from '../referee/intents-file.ts';
import type { KnownIntents } from './points.ts';
import type { Point, Schedule } from './schedule.ts';
import { type Ending, type Expected, type Failure, failuresOf } from './verdict.ts';
import type { Seen } from './watched-run.ts';

/** A run that is not judged yet. */
export interface RawRun {
  readonly ending: Ending;
  readonly seen: readonly Seen[];
  readonly intents: KnownIntents;
  readonly reports: readonly Report[] | undefined;
}

/** A judged run. */
export interface Run {
  readonly schedule: Schedule;
  /** The points that it reached, in order. */
  readonly trace: readonly Point[];
  /** The gravest first. */
  readonly failures: readonly Failure[];
  readonly ending: Ending;
  readonly seen: readonly Seen[];
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

/** No more runs: the user has interrupted them, or the budget has ended. */
export class Ended extends Error {
  readonly stop: 'interrupted' | 'budget';

  constructor(stop: Ended['stop']) {
    super(stop);
    this.stop = stop;
  }
}

/** Judges a run. `mayFail`: the run does not fail only because the client ends with an error. */
export function runOf(
  { ending, seen, reports }: RawRun,
  schedule: Schedule,
  expected: Expected | undefined,
  mayFail: boolean,
): Run {
  const exchanges = seen.map(({ exchange }) => exchange);
  return {
    schedule,
    trace: seen.flatMap(({ point }) => (point === undefined ? [] : [point])),
    failures: failuresOf({ ending, exchanges, reports, expected, mayFail }),
    ending,
    seen,
  };
}
