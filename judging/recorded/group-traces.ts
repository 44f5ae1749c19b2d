/**
 * What the judges of each rule see of a group of recorded exchanges. Rules that look at the same
 * exchanges share one trace, and what their judges computed for it.
 */
import type { Exchange } from '../evidence/exchange.ts';
import type { Recorded, Trace } from '../service/judge.ts';

// Made once, because each group has traces of its own.
const noItems: readonly never[] = [];
const noAnswer = () => undefined;

export class GroupTraces {
  readonly #whole: Trace;
  /** The last trace of a part of the group. */
  #part: Trace;

  /** `since`: all traffic of the group is known from this time on. */
  constructor(group: readonly Exchange[], since: number, recorded: Recorded) {
    this.#whole = {
      exchanges: group,
      log: group,
      listings: noItems,
      createdKeys: noItems,
      knownSince: since,
      hasExactTimes: false,
      recorded,
      assumption: noAnswer,
    };
    this.#part = this.#whole;
  }

  /** The trace of the exchanges that fit; undefined if none does. */
  of(fits: (one: Exchange) => boolean): Trace | undefined {
    const { exchanges: group } = this.#whole;
    const [only] = group;
    if (only !== undefined && group.length === 1) return fits(only) ? this.#whole : undefined;
    if (group.every(fits)) return this.#whole;
    const exchanges = group.filter(fits);
    if (exchanges.length === 0) return undefined;
    if (!areEqual(exchanges, this.#part.exchanges)) this.#part = { ...this.#whole, exchanges };
    return this.#part;
  }
}

function areEqual(some: readonly Exchange[], others: readonly Exchange[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at]);
}
