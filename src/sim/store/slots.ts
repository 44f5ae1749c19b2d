/** Gives objects small numbers, so that columns of numbers can refer to them. */

import { assert } from '../errors.ts';

/** An object that rows refer to. Only `Slots` writes `slot`; 0 means that it has none. */
export interface Slotted {
  slot: number;
}

/** Assigns a slot to each object. A slot is reused after its object was released. */
export class Slots<T extends Slotted> {
  /** The objects by slot; slot 0 stays empty. */
  readonly #items: (T | undefined)[] = [undefined];
  readonly #free: number[] = [];

  /** The slot of this object; assigns one if needed. */
  slotOf(item: T): number {
    if (item.slot > 0) return item.slot;
    item.slot = this.#free.pop() ?? this.#items.length;
    this.#items[item.slot] = item;
    return item.slot;
  }

  at(slot: number): T {
    const item = this.#items[slot];
    assert(item !== undefined, 'a slot in a column has an object');
    return item;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }

  release(item: T): void {
    if (item.slot === 0) return;
    this.#items[item.slot] = undefined;
    this.#free.push(item.slot);
    item.slot = 0;
  }
}
