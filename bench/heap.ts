/** Bytes in use after a full collection; needs `--expose-gc` to mean anything. */
export function heapBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
