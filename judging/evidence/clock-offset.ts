/**
 * How far the target's clock is ahead of ours. The `created_at` of an accepted send shows it to the
 * millisecond, if the `Date` header confirms that time. Judges need it to tell whether a time of
 * the target is past.
 */

import { isObject, textOf } from '../service/expectations.ts';
import type { Reply } from './reply.ts';

/** Bounds of the target's time minus ours, in milliseconds. */
export interface Ahead {
  readonly least: number;
  readonly most: number;
}

/** The bounds before any reply has shown the offset. Clocks rarely differ by more. */
export const unknown: Ahead = { least: -15_000, most: 15_000 };
/** How much machines of a cluster may differ, and a clock may drift during a run. */
const slackMs = 500;

export class ClockOffset {
  #ahead: Ahead | undefined;

  get ahead(): Ahead {
    return this.#ahead ?? unknown;
  }

  /** Takes a reply, which may show the offset. */
  note({ status, json, headers, sentAt, answeredAt }: Reply): void {
    const created = Date.parse(textOf(isObject(json) ? json['created_at'] : undefined));
    const stamped = Date.parse(headers['date'] ?? '');
    if (status !== 202 || Number.isNaN(created) || Number.isNaN(stamped)) return;
    // The header has no fraction of a second, and some servers renew it only once a second.
    const isConfirmed = created - stamped > -1_000 && created - stamped < 3_000;
    if (!isConfirmed) return;
    const seen = { least: created - answeredAt - slackMs, most: created - sentAt + slackMs };
    const { least, most } = this.#ahead ?? seen;
    this.#ahead = { least: Math.min(least, seen.least), most: Math.max(most, seen.most) };
  }
}
