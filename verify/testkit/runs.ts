/**
 * How much of a law or of a long list is tried: little in `npm test`; `SMSTWIN_RUNS=5` tries five
 * times as much, as `npm run test:all` does.
 */
const factor = Number(process.env['SMSTWIN_RUNS'] ?? 1);

/** How many random runs a property plays. */
export function runs(count: number): number {
  return count * factor;
}

/** So many of the items, evenly spaced; the same ones each time. */
export function sample<T>(items: readonly T[], count: number): readonly T[] {
  const taken = Math.min(items.length, runs(count));
  const places = new Set(
    Array.from({ length: taken }, (_, at) => Math.floor((at * items.length) / taken)),
  );
  return items.filter((_, at) => places.has(at));
}
