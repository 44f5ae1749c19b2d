/**
 * Groups of exchanges that are judged together, such as those of one message, in bounded memory. A
 * group is judged when nothing was added to it for a day, when there is no more room, or at the
 * end. A long group loses exchanges from its middle. That is safe: a judge of recorded traffic
 * never concludes anything from a missing exchange.
 */
import { dayMs, hourMs } from '#contract/time.ts';
import type { Exchange } from '../service/exchange.ts';

export const mostHeldExchanges = 20_000;
/** Ends groups until so few are held: each walk over a Map first passes what was deleted from it. */
const leastHeld = 18_000;
const mostInGroup = 400;
/** A group that is full keeps its first exchanges and drops as many that follow them. */
const keptFirst = 50;
const longestQuietMs = dayMs + hourMs;

interface Group {
  readonly exchanges: Exchange[];
  lastAt: number;
}

export class Groups {
  /** The group that was used last is the last. */
  readonly #groups = new Map<string, Group>();
  readonly #judge: (exchanges: readonly Exchange[]) => void;
  #held = 0;
  /** When the groups that had been quiet for long were last ended. */
  #quietEndedAt = Number.NEGATIVE_INFINITY;

  constructor(judge: (exchanges: readonly Exchange[]) => void) {
    this.#judge = judge;
  }

  add(key: string, exchange: Exchange): void {
    const { sentAt } = exchange;
    const group = this.#groups.get(key) ?? { exchanges: [], lastAt: sentAt };
    this.#groups.delete(key);
    this.#groups.set(key, group);
    group.exchanges.push(exchange);
    group.lastAt = Math.max(group.lastAt, sentAt);
    this.#held++;
    if (group.exchanges.length > mostInGroup) {
      group.exchanges.splice(keptFirst, keptFirst);
      this.#held -= keptFirst;
    }
    if (this.#held > mostHeldExchanges) this.#endWhile(() => this.#held > leastHeld);
    if (sentAt - this.#quietEndedAt < hourMs) return;
    this.#quietEndedAt = sentAt;
    this.#endWhile(({ lastAt }) => lastAt < sentAt - longestQuietMs);
  }

  endAll(): void {
    this.#endWhile(() => true);
  }

  #endWhile(isOver: (oldest: Group) => boolean): void {
    for (const [key, oldest] of this.#groups) {
      if (!isOver(oldest)) break;
      this.#groups.delete(key);
      this.#held -= oldest.exchanges.length;
      this.#judge(inOrder(oldest.exchanges));
    }
  }
}

/** Sorts exchanges by the time when they were sent. */
export function inOrder(exchanges: readonly Exchange[]): readonly Exchange[] {
  const isSorted = exchanges.every(
    ({ sentAt }, i) => sentAt >= (exchanges[i - 1]?.sentAt ?? sentAt),
  );
  return isSorted ? exchanges : exchanges.toSorted((a, b) => a.sentAt - b.sentAt);
}
