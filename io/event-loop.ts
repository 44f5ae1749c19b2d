/**
 * Real timers, work on several items at one time, and long work that leaves turns of the event loop
 * to others. Such work is a generator that yields every few hundred microseconds: a port calls
 * `inSlices`, a method `atOnce`.
 */
import timers from 'node:timers';

/**
 * Node's own timers, in real time. A test may fake the global ones, and also those that a module
 * imports by name; a module that is loaded later would take over fake ones.
 */
export const realTimers = { ...timers };

/** The time after which the work pauses for a turn of the event loop. */
const longestSliceMs = 2;

/** Runs the work to its end, and resolves with its result. */
export async function inSlices<T>(work: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const startedMs = performance.now();
    while (performance.now() - startedMs < longestSliceMs) {
      const { done, value } = work.next();
      if (done) return value;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Works on items in their order, on `width` of them at one time. */
export async function workOn<T>(
  items: ArrayIterator<T>,
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  // The workers share the iterator, so that each item is taken once.
  const worker = async () => {
    for (const item of items) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

export function atOnce<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
