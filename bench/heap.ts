/** Heap bytes in use after a full collection. Run with `--expose-gc`. */
export function heapBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
