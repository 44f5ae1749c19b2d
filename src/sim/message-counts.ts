/**
 * Counts of message events since the process started. They survive a reset, so that they never
 * decrease.
 */
import { msPerSecond } from './limits.ts';
import type { Status } from './status.ts';

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

/** In seconds: around the 20 s of a poll, and up to long `send_at` holds. */
const ageBounds = [1, 5, 10, 20, 40, 60, 80, 120, 300, 900, 3_600, 21_600, 86_400, 604_800];

export class MessageCounts {
  accepted = 0;
  /**
   * Messages forgotten before the last reset, minus the number that this simulation started with.
   */
  forgottenBefore = 0;
  /** Simulated seconds from acceptance to each later status. */
  readonly ages: Readonly<Record<Exclude<Status, 'queued'>, Histogram>> = {
    sending: new Histogram(ageBounds),
    sent: new Histogram(ageBounds),
    delivered: new Histogram(ageBounds),
    failed: new Histogram(ageBounds),
  };

  /** `created`: when the messages were accepted, as pairs of a time and a count. */
  reached(status: Status, nowMs: number, created: readonly number[]): void {
    if (status === 'queued') return;
    const ages = this.ages[status];
    for (let at = 0; at + 1 < created.length; at += 2) {
      ages.observe((nowMs - (created[at] ?? 0)) / msPerSecond, created[at + 1] ?? 0);
    }
  }
}
