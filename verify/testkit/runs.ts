/**
 * How many random runs a property test makes, and how many items of a long list a test uses: few,
 * and twice as many with `SMSTWIN_RUNS=2`. The seed is fixed, so that only a change of the code
 * changes a result; `SMSTWIN_SEED=N` sets another one.
 */
import fc from 'fast-check';

const factor = Number(process.env['SMSTWIN_RUNS'] ?? 1);

/** The seed of all random tests. */
export const seed = Number(process.env['SMSTWIN_SEED'] ?? 1);

/** Makes every property test draw from the seed. Vitest calls it before each test file. */
export function drawFromSeed(): void {
  fc.configureGlobal({ seed, numRuns: runs(35) });
}

const surrogates = { first: 0xd800, count: 0x800 };

/**
 * Any code point except half a surrogate pair: a unit for `fc.string`. Its own unit of this kind,
 * `'binary'`, takes a second of CPU in each process that uses it.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10ffff - surrogates.count).map(
  (place) => String.fromCodePoint(place < surrogates.first ? place : place + surrogates.count),
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== text)
      throw new Error('not one character');
    return code < surrogates.first ? code : code - surrogates.count;
  },
);

/** The number of random runs of a property test. */
export function runs(count: number): number {
  return count * factor;
}

/** A sample of the items, evenly spaced, and the same in each run. */
export function sample<T>(items: readonly T[], count: number): readonly T[] {
  const taken = Math.min(items.length, runs(count));
  const places = new Set(
    Array.from({ length: taken }, (_, index) => Math.floor((index * items.length) / taken)),
  );
  return items.filter((_, index) => places.has(index));
}
