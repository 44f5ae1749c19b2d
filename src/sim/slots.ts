/**
 * Live objects by small numbers, which columns hold in their place. A number is used again once its
 * object has left.
 */
import type { Cohort } from './cohort.ts';
import { assert } from './errors.ts';

/** `slot` is written by `Slots` alone; 0: it has none. */
export interface Slotted {
  slot: number;
}

export class Slots<T extends Slotted> {
  protected items: (T | undefined)[] = [undefined];
  readonly #free: number[] = [];

  /** The number of this object; one that has none gets one. */
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

  /** The same numbers, of the same objects or of copies. */
  copy(copyOf: (item: T) => T = (item) => item): this {
    const copy = Object.create(Object.getPrototypeOf(this)) as this;
    copy.items = this.items.map((item) => item && copyOf(item));
    return copy;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const item of this.items) if (item !== undefined) yield item;
  }

  /** Gives each object the number that it had; there are no others. */
  restore(items: Iterable<readonly [slot: number, item: T]>): void {
    for (const [slot, item] of items) {
      item.slot = slot;
      this.items[slot] = item;
    }
    for (let slot = this.items.length - 1; slot > 0; slot--) {
      if (this.items[slot] === undefined) this.#free.push(slot);
    }
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
