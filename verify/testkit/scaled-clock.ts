/** A fast clock for tests of the harness; the clock of the target must be as fast. */
import { type Clock, wallClock } from '#conformance/target/client.ts';

/** A clock that runs `rate` times as fast as the wall clock. */
export function scaledClock(rate: number, startMs = Date.now()): Clock {
  const began = performance.now();
  return {
    now: () => startMs + (performance.now() - began) * rate,
    sleep: (ms, signal) => wallClock.sleep(ms / rate, signal),
  };
}
