/**
 * Counts of what messages did since the process started. They outlive a reset, so that they never
 * go back.
 */
import { Histogram } from './histogram.ts';
import { msPerSecond } from './limits.ts';
import type { Status } from './status.ts';

/** In seconds: around the 20 s of a poll, and long holds by `send_at`. */
const ageBounds = [1, 5, 10, 20, 40, 60, 80, 120, 300, 900, 3_600, 21_600, 86_400, 604_800];

export class MessageCounts {
  accepted = 0;
  /** Simulated seconds from acceptance to each later status. */
  readonly ages: Readonly<Record<Exclude<Status, 'queued'>, Histogram>> = {
    sending: new Histogram(ageBounds),
    sent: new Histogram(ageBounds),
    delivered: new Histogram(ageBounds),
    failed: new Histogram(ageBounds),
  };

  reached(status: Status, ageMs: number): void {
    if (status !== 'queued') this.ages[status].observe(ageMs / msPerSecond);
  }
}
