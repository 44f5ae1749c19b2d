/**
 * How far the target's clock is ahead of ours. The `created_at` of an accepted send shows it to the
 * millisecond. Judges need it to tell whether a time of the target is past.
 */
import { isObject } from '#contract/request-and-reply.ts';
import { secondMs } from '#contract/time.ts';
import { getOrAdd } from '#io/grouped.ts';
import { textOf } from '../service/expectations.ts';
import { timeIn } from './reading.ts';
import type { Reply } from './reply.ts';

/** Bounds of the target's time minus ours, in milliseconds. */
export interface Ahead {
  readonly least: number;
  readonly most: number;
}

/** The bounds before any reply has shown the offset. Clocks rarely differ by more. */
export const unknownOffset: Ahead = { least: -15_000, most: 15_000 };
/** How much machines of a cluster may differ, and a clock may drift during a run. */
const clusterMs = 500;

/** Some servers renew their `Date`, which has whole seconds, only once a second. */
const dateMs = 2_000;
/** A new message without a `Date` shows a clock that is off by less than this. */
const withoutDateMs = 120_000;

/** What the `Date` of a reply shows; undefined without one. Wider than what a new message shows. */
function aheadByDate({ headers, sentAt, answeredAt }: Reply): Ahead | undefined {
  const stamped = timeIn(headers['date'] ?? '');
  if (Number.isNaN(stamped)) return undefined;
  return { least: stamped - answeredAt - clusterMs, most: stamped + dateMs - sentAt + clusterMs };
}

/** The bounds of both. */
export function around(one: Ahead | undefined, other: Ahead): Ahead {
  if (one === undefined) return other;
  if (one.least <= other.least && one.most >= other.most) return one;
  return { least: Math.min(one.least, other.least), most: Math.max(one.most, other.most) };
}

/** True if the `Date` confirms this time to a second. Without one, it must be near our own. */
function isLikely(created: number, reply: Reply): boolean {
  const stamped = timeIn(reply.headers['date'] ?? '');
  if (Number.isNaN(stamped)) return isNear(created, reply);
  const sinceStampMs = created - stamped;
  return sinceStampMs > -secondMs && sinceStampMs < dateMs + secondMs;
}

function isNear(created: number, { sentAt }: Reply): boolean {
  return Math.abs(created - sentAt) < withoutDateMs;
}

/** The difference of two offsets that replies showed in the same way. */
function apart(one: Ahead | undefined, other: Ahead | undefined): Ahead | undefined {
  if (one === undefined || other === undefined) return undefined;
  return { least: one.least - other.most, most: one.most - other.least };
}

export class ClockOffset {
  #seen: Ahead | undefined;
  #byDate: Ahead | undefined;
  readonly #needsDate: boolean;
  /** The bounds that include all new messages so far, and `unknownOffset`. */
  widest: Ahead = unknownOffset;

  /** `needsDate`: a new message shows the offset only if its time `isLikely`. */
  constructor({ needsDate }: { readonly needsDate: boolean }) {
    this.#needsDate = needsDate;
  }

  get ahead(): Ahead {
    return this.#seen ?? this.#byDate ?? unknownOffset;
  }

  /** The bounds of the other clock's time minus this one's; undefined if no reply shows them. */
  behind(other: ClockOffset): Ahead | undefined {
    return apart(this.#seen, other.#seen) ?? apart(this.#byDate, other.#byDate);
  }

  /** Takes a reply, which may show the offset. */
  note(reply: Reply): void {
    const { status, json, sentAt, answeredAt } = reply;
    const byDate = aheadByDate(reply);
    if (byDate !== undefined) this.#byDate = around(this.#byDate, byDate);
    if (status !== 202) return;
    const created = Date.parse(textOf(isObject(json) ? json['created_at'] : undefined));
    if (Number.isNaN(created)) return;
    const seen = { least: created - answeredAt - clusterMs, most: created - sentAt + clusterMs };
    if (this.#needsDate && !isLikely(created, reply)) {
      // A gateway may state the `Date` by its own clock. Then either clock may decide.
      if (isNear(created, reply)) this.#byDate = around(this.#byDate, seen);
      return;
    }
    this.#seen = around(this.#seen, seen);
    this.widest = around(this.widest, seen);
  }
}

/** What several recorders' clocks show of one target: it alone says how far they are apart. */
export class Clocks {
  readonly #offsets = new Map<string, ClockOffset>();

  /** The offset of a clock; clocks without a name are one. */
  of(name = ''): ClockOffset {
    return getOrAdd(this.#offsets, name, () => new ClockOffset({ needsDate: false }));
  }

  /** The most by which two of the clocks may differ. */
  get spreadMs(): number {
    if (this.#offsets.size < 2) return 0;
    const [first, ...others] = this.#offsets.values();
    let [least, most] = [0, 0];
    for (const other of others) {
      const bounds = first?.behind(other) ?? { least: Number.NEGATIVE_INFINITY, most: 0 };
      least = Math.min(least, bounds.least);
      most = Math.max(most, bounds.most);
    }
    return most - least;
  }
}
