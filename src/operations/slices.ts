/**
 * Long work is a generator that yields every few hundred microseconds. In process it runs at once; a
 * port runs it in slices, so that other requests are answered in between.
 */
const longestSliceMs = 2;

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
