/**
 * One real timer that advances all simulated clocks, because a thousand worlds would otherwise need
 * a timer each. It does not keep the process running.
 */
// Not the global ones, which a test may fake: this timer outlives the test.
import { clearInterval, setInterval } from 'node:timers';

const intervalMs = 25;
const listeners = new Set<() => void>();
let timer: NodeJS.Timeout | undefined;

/** Calls `listener` about every 25 ms. Returns the function that stops it. */
export function eachTick(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, intervalMs).unref();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  for (const listener of listeners) listener();
}
