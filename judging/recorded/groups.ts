/**
 * Groups of exchanges that are judged together, such as those of one message, in bounded memory. A
 * group is judged when nothing was added to it for a day, when there is no more room, or at the
 * end. A long group loses exchanges from its middle. That is safe: a judge of recorded traffic
 * never concludes anything from a missing exchange.
 */
import { dayMs, hourMs } from '#contract/time.ts';
import type { Exchange } from '../evidence/exchange.ts';

/** A group is judged once it got none of so many exchanges that came after its last one. */
const reach = 18_000;
const mostInGroup = 400;
/** A group that is full keeps its first exchanges and drops as many that follow them. */
const keptFirst = 50;
const longestQuietMs = dayMs + hourMs;

/** A list alone, because tens of thousands are held. */
type Group = Exchange[];

export class Groups {
  /** The groups that were used of late. */
  #recent = new Map<string, Group>();
  /** Those that were not used since `#recent` was new. They end together, as a whole Map. */
  #older = new Map<string, Group>();
  readonly #judge: (exchanges: readonly Exchange[]) => void;
  /** How many exchanges were added to `#recent` since it was new. */
  #added = 0;
  /** When the groups that had been quiet for long were last ended. */
  #quietEndedAt = Number.NEGATIVE_INFINITY;

  constructor(judge: (exchanges: readonly Exchange[]) => void) {
    this.#judge = judge;
  }

  add(key: string, exchange: Exchange): void {
    const { sentAt } = exchange;
    const group = this.#recent.get(key) ?? this.#taken(key);
    if (group === undefined) this.#recent.set(key, [exchange]);
    // Most groups stay small: a list to which one is pushed gets room for many more.
    else if (group.length < 4) this.#recent.set(key, [...group, exchange]);
    else if (group.push(exchange) > mostInGroup) group.splice(keptFirst, keptFirst);
    if (++this.#added > reach) this.#endOlder();
    if (sentAt - this.#quietEndedAt < hourMs) return;
    this.#quietEndedAt = sentAt;
    const isQuiet = (one: Exchange) => one.sentAt < sentAt - longestQuietMs;
    for (const groups of [this.#older, this.#recent])
      for (const [name, group] of groups) if (group.every(isQuiet)) this.#end(groups, name);
  }

  endAll(): void {
    this.#endOlder();
    this.#endOlder();
  }

  /** An older group, which becomes a recent one. */
  #taken(key: string): Group | undefined {
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
