/**
 * Counts of message events since the process started. They survive a reset, so that they never
 * decrease.
 */
import { Histogram } from './histogram.ts';
import { msPerSecond } from './limits.ts';
import type { Status } from './status.ts';

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
