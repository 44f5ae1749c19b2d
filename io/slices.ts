/**
 * Runs long work so that other requests are answered in between. Such work is a generator that
 * yields every few hundred microseconds: a port calls `inSlices`, a method `atOnce`.
 */

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

export function atOnce<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
