/** Fault schedules as data: which attempt at which intent of a client meets which fault. */
import type { FaultName } from './fault-kinds.ts';
import type { EndpointName } from './limits.ts';

/** One request of a client, named so that concurrency does not shift it. */
export interface Point {
  /** The endpoint that is called. */
  readonly endpoint: EndpointName;
  /** Which message that is sent there, or which target that is read; from 1. */
  readonly intent: number;
  /** From 1. */
  readonly attempt: number;
}

/** One fault and the call that it strikes. */
export interface ScheduledFault {
  /** The call. */
  readonly at: Point;
  /** What happens to it. */
  readonly fault: FaultName;
}

/** The faults of one run. */
export type Schedule = readonly ScheduledFault[];
