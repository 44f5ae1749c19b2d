/**
 * Assigns small numbers to live objects, so that columns can store numbers. A number is reused once
 * its object has left.
 */
import type { Cohort } from './cohort.ts';
import { assert } from './errors.ts';

/** Only `Slots` writes `slot`; 0: no number. */
export interface Slotted {
  slot: number;
}

export class Slots<T extends Slotted> {
  protected items: (T | undefined)[] = [undefined];
  readonly #free: number[] = [];

  /** The number of this object; assigns one if needed. */
  slotOf(item: T): number {
    if (item.slot > 0) return item.slot;
    item.slot = this.#free.pop() ?? this.items.length;
    this.items[item.slot] = item;
    return item.slot;
  }

  at(slot: number): T {
    const item = this.items[slot];
    assert(item !== undefined, 'a column names an object that is there');
    return item;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const item of this.items) if (item !== undefined) yield item;
  }

  release(item: T): void {
    if (item.slot === 0) return;
    this.items[item.slot] = undefined;
    this.#free.push(item.slot);
    item.slot = 0;
  }
}

export class CohortSlots extends Slots<Cohort> {
  releaseIfEmpty(slot: number): void {
    const cohort = this.at(slot);
    if (cohort.size === 0) this.release(cohort);
  }
}
