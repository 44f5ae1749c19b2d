/**
 * What a search reports: its findings, how far it got, and why it stopped.
 */
import type { Problem } from './learn.ts';
import type { KnownIntents } from './points.ts';
import type { Run } from './run.ts';
import type { Schedule } from './schedule.ts';
import { type Failure, kindOf } from './verdict.ts';

export interface Finding {
  readonly schedule: Schedule;
  /** Why the run failed, the gravest failure first; never empty. */
  readonly failures: readonly Failure[];
  readonly run: Run;
  /** False if the search ended first: fewer or weaker faults may fail too. */
  readonly isShrunk: boolean;
  /** Other schedules that fail for the same cause and shrink to this one, or to its like. */
  readonly also: Schedule[];
}

/** All schedules of one size. */
export interface Level {
  /** Faults per schedule. */
  readonly size: number;
  readonly total: number;
  done: number;
}

/** Why the search ended before it had tried every schedule. */
export type Stop = 'budget' | 'bail' | 'interrupted';

export interface Progress {
  /** All runs of the client, those without faults and those that confirm and shrink included. */
  readonly runs: number;
  readonly points: number;
  readonly levels: readonly Level[];
  readonly findings: readonly Finding[];
}

export interface SearchResult extends Progress {
  /** The intents whose numbers all runs share. */
  readonly intents: KnownIntents;
  readonly problem: Problem | undefined;
  /** Failures that the search had not run again when it ended. */
  readonly unconfirmed: readonly Finding[];
  /** Failures that did not repeat. */
  readonly unstable: readonly Finding[];
  /** Schedules that cannot differ from one that was run. */
  readonly skipped: number;
  /** Faults of a replayed schedule at calls that the client did not make. */
  readonly unmet?: number;
  readonly stop: Stop | undefined;
}

export function findingOf(run: Run): Finding {
  return { schedule: run.schedule, failures: run.failures, run, isShrunk: true, also: [] };
}

/** The kind of the gravest failure; undefined if the run passed. */
export function kindOfRun({ failures: [gravest] }: Run): string | undefined {
  return gravest && kindOf(gravest);
}
