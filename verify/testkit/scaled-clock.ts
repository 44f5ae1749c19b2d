/** A clock of the harness that runs faster than the wall clock, with a target that does, too. */
import { type Clock, wallClock } from '#conformance/target/clock.ts';

/** A clock that runs `rate` times as fast as the wall clock. */
export function scaledClock(rate: number, startMs = Date.now()): Clock {
  const began = performance.now();
  return {
    now: () => startMs + (performance.now() - began) * rate,
    sleep: (ms, signal) => wallClock.sleep(ms / rate, signal),
  };
}
