/**
 * How many random runs a property test makes, and how many items of a long list a test uses: few,
 * and twice as many with `SMSTWIN_RUNS=2`.
 *
 * The seed is fixed, so that only a change of the code changes a result. `SMSTWIN_SEED=N` sets
 * another one.
 */
import fc from 'fast-check';

const factor = Number(process.env['SMSTWIN_RUNS'] ?? 1);

/** The seed of all random tests. */
export const seed = Number(process.env['SMSTWIN_SEED'] ?? 1);

/** Makes every property test draw from the seed. Vitest calls it before each test file. */
export function drawFromSeed(): void {
  fc.configureGlobal({ seed, numRuns: runs(35) });
}

/** The number of random runs of a property test. */
export function runs(count: number): number {
  return count * factor;
}

/** A sample of the items, evenly spaced; the same ones each time. */
export function sample<T>(items: readonly T[], count: number): readonly T[] {
  const taken = Math.min(items.length, runs(count));
  const places = new Set(
    Array.from({ length: taken }, (_, index) => Math.floor((index * items.length) / taken)),
  );
  return items.filter((_, index) => places.has(index));
}
