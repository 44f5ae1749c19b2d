/**
 * Groups of exchanges that are judged together, such as those of one message, in bounded memory. A
 * group is judged when nothing was added to it for a day, when there is no more room, or at the
 * end. A long group loses exchanges from its middle. That is safe: a judge of recorded traffic
 * never concludes anything from a missing exchange.
 *
 * Groups have two generations: one that is added to becomes recent. When the recent generation is
 * full, the older one is judged, and the recent one becomes the older one.
 */
import { dayMs, hourMs } from '#contract/time.ts';
import type { Exchange } from '../evidence/exchange.ts';

/** The exchanges that fill a generation. */
const mostInGeneration = 18_000;
const mostInGroup = 400;
/** A full group keeps this many of its first exchanges and drops as many after them. */
const keptFirst = 50;
const longestQuietMs = dayMs + hourMs;

/** A plain array, because tens of thousands of groups are held. */
type Group = Exchange[];

export class Groups {
  #recent = new Map<string, Group>();
  /** Groups without an exchange since `#recent` began. */
  #older = new Map<string, Group>();
  readonly #judge: (exchanges: readonly Exchange[]) => void;
  /** The number of exchanges in `#recent`. */
  #added = 0;
  /** When the groups that were quiet for a day were last judged. */
  #quietEndedAt = Number.NEGATIVE_INFINITY;

  constructor(judge: (exchanges: readonly Exchange[]) => void) {
    this.#judge = judge;
  }

  add(key: string, exchange: Exchange): void {
    const { sentAt } = exchange;
    const group = this.#recent.get(key) ?? this.#makeRecent(key);
    if (group === undefined) this.#recent.set(key, [exchange]);
    // Most groups stay small: a list to which one is pushed gets room for many more.
    else if (group.length < 4) this.#recent.set(key, [...group, exchange]);
    else if (group.push(exchange) > mostInGroup) group.splice(keptFirst, keptFirst);
    if (++this.#added > mostInGeneration) this.#endOlder();
    if (sentAt - this.#quietEndedAt < hourMs) return;
    this.#quietEndedAt = sentAt;
    const isQuiet = (one: Exchange) => one.sentAt < sentAt - longestQuietMs;
    for (const groups of [this.#older, this.#recent])
      for (const [name, other] of groups) if (other.every(isQuiet)) this.#end(groups, name);
  }

  endAll(): void {
    this.#endOlder();
    this.#endOlder();
  }

  /** Moves a group from the older to the recent generation. Undefined if there is none. */
  #makeRecent(key: string): Group | undefined {
    const group = this.#older.get(key);
    if (group === undefined) return undefined;
    this.#older.delete(key);
    this.#recent.set(key, group);
    this.#added += group.length;
    return group;
  }

  #endOlder(): void {
    for (const group of this.#older.values()) this.#judge(inOrder(group));
    this.#older = this.#recent;
    this.#recent = new Map();
    this.#added = 0;
  }

  #end(groups: Map<string, Group>, name: string): void {
    const group = groups.get(name) ?? [];
    groups.delete(name);
    this.#judge(inOrder(group));
  }
}

/** Sorts exchanges by the time when they were sent. */
export function inOrder(exchanges: readonly Exchange[]): readonly Exchange[] {
  if (exchanges.length === 1) return exchanges;
  const isSorted = exchanges.every(
    ({ sentAt }, i) => sentAt >= (exchanges[i - 1]?.sentAt ?? sentAt),
  );
  return isSorted ? exchanges : exchanges.toSorted((a, b) => a.sentAt - b.sentAt);
}
