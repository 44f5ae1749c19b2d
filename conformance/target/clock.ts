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

/** A clock that runs `rate` times as fast as the wall clock. */
export function scaledClock(rate: number, startMs = Date.now()): Clock {
  const began = performance.now();
  return {
    now: () => startMs + (performance.now() - began) * rate,
    sleep: (ms, signal) => wallClock.sleep(ms / rate, signal),
  };
}
