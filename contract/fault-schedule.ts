/** Fault schedules as data: which attempt at which intent of a client meets which fault. */
import type { EndpointName } from './limits.ts';

/** From the weakest to the strongest: a finding shows the weakest that fails for the same cause. */
export const faultNames = [
  'slow',
  'throttle',
  'unavailable',
  'refuse',
  'reset',
  'lost_response',
  'truncate',
  'malformed',
  'lost_request',
  'hang',
  'crash_before',
  'crash_after',
] as const;

/** What a schedule can do to a request. */
export type FaultName = (typeof faultNames)[number];

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
