/** A fast clock for tests of the harness; the clock of the target must be as fast. */
import { type Clock, wallClock } from '#conformance/target/client.ts';

/**
 * A clock that runs `rate` times as fast as the wall clock. It reads the date, as the target's clock
 * does: a machine may correct its date, which a monotonic clock does not follow.
 */
export function scaledClock(rate: number, startMs = Date.now()): Clock {
  const began = Date.now();
  return {
    now: () => startMs + (Date.now() - began) * rate,
    sleep: (ms, signal) => wallClock.sleep(ms / rate, signal),
  };
}
