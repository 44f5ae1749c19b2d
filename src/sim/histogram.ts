/**
 * A histogram with fixed buckets. Counting a value costs a few comparisons and allocates nothing.
 */
export class Histogram {
  /** The upper bounds of the buckets, ascending; a bound belongs to its bucket. */
  readonly bounds: readonly number[];
  /** Values per bucket; the last bucket has no upper bound. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = [...bounds, 0].fill(0);
  }

  observe(value: number, times = 1): void {
    const { bounds, counts } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
    counts[bucket] = (counts[bucket] ?? 0) + times;
    this.sum += value * times;
  }
}
