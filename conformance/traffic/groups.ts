/**
 * Exchanges that are judged together, by key, in bounded memory. A group is handed over when nothing
 * was added for a day, when there is no more room, or at the end. Whatever is dropped earlier is only
 * missed: a judge of recorded traffic never concludes from what is not there.
 */
import { dayMs } from '../../src/ledger/time-units.ts';
import type { Exchange } from '../judges/exchange.ts';

export const mostHeldExchanges = 20_000;
const mostOfOne = 400;
const keptFirst = 50;
const longestQuietMs = dayMs + 3_600_000;

interface Group {
  readonly exchanges: Exchange[];
  lastAt: number;
}

export class Groups {
  /** The one that was used last is the last. */
  readonly #groups = new Map<string, Group>();
  readonly #judge: (exchanges: readonly Exchange[]) => void;
  #held = 0;

  constructor(judge: (exchanges: readonly Exchange[]) => void) {
    this.#judge = judge;
  }

  add(key: string, one: Exchange): void {
    const group = this.#groups.get(key) ?? { exchanges: [], lastAt: one.sentAt };
    this.#groups.delete(key);
    this.#groups.set(key, group);
    group.exchanges.push(one);
    group.lastAt = Math.max(group.lastAt, one.sentAt);
    this.#held++;
    if (group.exchanges.length > mostOfOne) {
      group.exchanges.splice(keptFirst, keptFirst);
      this.#held -= keptFirst;
    }
    for (const [oldest, { lastAt }] of this.#groups) {
      const isOver = lastAt < one.sentAt - longestQuietMs || this.#held > mostHeldExchanges;
      if (!isOver) break;
      this.#end(oldest);
    }
  }

  endAll(): void {
    for (const key of [...this.#groups.keys()]) this.#end(key);
  }

  #end(key: string): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    this.#groups.delete(key);
    this.#held -= group.exchanges.length;
    this.#judge(inOrder(group.exchanges));
  }
}

export function inOrder(exchanges: readonly Exchange[]): Exchange[] {
  return exchanges.toSorted((a, b) => a.sentAt - b.sentAt);
}
