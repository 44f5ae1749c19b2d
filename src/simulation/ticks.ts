/**
 * One timer of the process that pulls all simulated clocks along: a thousand worlds would each need
 * one otherwise. It does not keep the process running.
 */
// Not the global ones, which a test may fake: this timer outlasts the test.
import { clearInterval, setInterval } from 'node:timers';

const intervalMs = 25;
const listeners = new Set<() => void>();
let timer: NodeJS.Timeout | undefined;

/** Calls `listener` about every 25 ms. Returns the function that ends it. */
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
