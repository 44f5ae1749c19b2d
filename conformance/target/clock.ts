/** The run's clock. Tests pass a faster one, with a target that is equally fast. */
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
