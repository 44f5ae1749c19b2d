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
export const clusterMs = 500;

/** Some servers renew their `Date`, which has whole seconds, only once a second. */
const dateMs = 2_000;

/** What the `Date` of a reply shows; undefined without one. Wider than what a new message shows. */
export function aheadByDate({ headers, sentAt, answeredAt }: Reply): Ahead | undefined {
  const stamped = Date.parse(headers['date'] ?? '');
  if (Number.isNaN(stamped)) return undefined;
  return { least: stamped - answeredAt - clusterMs, most: stamped + dateMs - sentAt + clusterMs };
}

/** The bounds of both. */
export function around(one: Ahead | undefined, other: Ahead): Ahead {
  const { least, most } = one ?? other;
  return { least: Math.min(least, other.least), most: Math.max(most, other.most) };
}

export class ClockOffset {
  #ahead: Ahead | undefined;
  #byDate: Ahead | undefined;

  get ahead(): Ahead {
    return this.#ahead ?? this.#byDate ?? unknown;
  }

  /** Takes a reply, which may show the offset. */
  note(reply: Reply): void {
    const { status, json, headers, sentAt, answeredAt } = reply;
    const byDate = aheadByDate(reply);
    if (byDate !== undefined) this.#byDate = around(this.#byDate, byDate);
    const created = Date.parse(textOf(isObject(json) ? json['created_at'] : undefined));
    const stamped = Date.parse(headers['date'] ?? '');
    if (status !== 202 || Number.isNaN(created) || Number.isNaN(stamped)) return;
    // The header has no fraction of a second, and some servers renew it only once a second.
    const isConfirmed = created - stamped > -1_000 && created - stamped < 3_000;
    if (!isConfirmed) return;
    const seen = { least: created - answeredAt - clusterMs, most: created - sentAt + clusterMs };
    this.#ahead = around(this.#ahead, seen);
  }
}
