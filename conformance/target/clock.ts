/**
 * The run's clock. A test passes one that runs faster, together with a target that also runs
 * faster.
 */
import { setTimeout as pause } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Rejects if the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const wallClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => pause(Math.max(0, ms), undefined, signal === undefined ? {} : { signal }),
};
