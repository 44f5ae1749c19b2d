/** A finding of the explorer in the shape that files, reports and the page share. */
import type { FaultName, Schedule } from './fault-schedule.ts';

/** One exchange of the run. */
export interface TimelineEntry {
  /** Its number in the run, from 1. */
  readonly number: number;
  /** When the request came, on the service's clock. */
  readonly at: string;
  /** The HTTP method. */
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The endpoint; null for a path that the service does not have. */
  readonly endpoint: string | null;
  /** The number of its intent, from 1. */
  readonly intent: number | null;
  /** The number of the attempt at that intent, from 1. */
  readonly attempt: number | null;
  /** What the schedule did to the request. */
  readonly fault: FaultName | null;
  /** The body of the request. */
  readonly body: string;
  /** What the service answered, whether or not the client saw it. */
  readonly status: number;
  /** False if the client cannot have seen the whole reply. */
  readonly seen: boolean;
}

/** One way in which the client fails, and the smallest schedule that shows it. */
export interface FindingView {
  /** The faults. */
  readonly schedule: Schedule;
  /** False if the exploration ended first: fewer or weaker faults may fail too. */
  readonly shrunk: boolean;
  /** The client rule that was broken, or `sent_twice`, `not_accepted`, `timeout`, `failed`. */
  readonly cause: string;
  /** What the client did, in words. */
  readonly what: string;
  /** All failures of the run, with the numbers of the exchanges that prove them. */
  readonly failures: readonly {
    readonly cause: string;
    readonly what: string;
    readonly exchanges: readonly number[];
  }[];
  /** Every exchange of the run, in order. */
  readonly timeline: readonly TimelineEntry[];
  /**
   * Other schedules that fail for the same cause and shrink to this one, or to an equivalent
   * schedule.
   */
  readonly also: readonly Schedule[];
  /** The end of the client's output. */
  readonly output: string;
}
