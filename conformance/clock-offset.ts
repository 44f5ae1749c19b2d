/**
 * How far the target's clock is ahead of ours, as far as its replies show it: `created_at` to the
 * millisecond, confirmed by the `Date` header where that is near. Judges need it to tell a time of a
 * few seconds ago from one that is still to come.
 */
import type { Reply } from './client.ts';
import { isObject, textOf } from './verify.ts';

/** Bounds of the target's time minus ours, in milliseconds. */
export interface Ahead {
  readonly least: number;
  readonly most: number;
}

/** Without any sign: clocks of a cluster may differ by so much. */
export const unknown: Ahead = { least: -15_000, most: 15_000 };
/** Machines of a cluster, and what a clock drifts during a run. */
const slackMs = 500;

export class ClockOffset {
  #ahead: Ahead | undefined;

  get ahead(): Ahead {
    return this.#ahead ?? unknown;
  }

  note({ status, json, headers, sentAt, answeredAt }: Reply): void {
    const created = Date.parse(textOf(isObject(json) ? json['created_at'] : undefined));
    const stamped = Date.parse(headers['date'] ?? '');
    if (status !== 202 || Number.isNaN(created) || Number.isNaN(stamped)) return;
    // A date is cut to its second, and some servers renew it once a second.
    const isConfirmed = created - stamped > -1_000 && created - stamped < 3_000;
    if (!isConfirmed) return;
    const seen = { least: created - answeredAt - slackMs, most: created - sentAt + slackMs };
    const { least, most } = this.#ahead ?? seen;
    this.#ahead = { least: Math.min(least, seen.least), most: Math.max(most, seen.most) };
  }
}
