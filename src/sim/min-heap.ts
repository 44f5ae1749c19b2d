/**
 * A binary min-heap, for timers and for the times at which the work of a device is due. `peek`
 * takes constant time, every change logarithmic time.
 */
export class MinHeap<T> {
  readonly #isBefore: (a: T, b: T) => boolean;
  readonly #onMove: (item: T, index: number) => void;
  /** The first item, then the others in heap order. */
  readonly items: T[] = [];

  /**
   * Items of equal rank come out in any order. `onMove` gets the new index of each item that moves;
   * `removeAt` takes such an index.
   */
  constructor(
    isBefore: (a: T, b: T) => boolean,
    onMove: (item: T, index: number) => void = () => {},
  ) {
    this.#isBefore = isBefore;
    this.#onMove = onMove;
  }

  peek(): T | undefined {
    return this.items[0];
  }

  push(item: T): void {
    this.#rise(item, this.items.push(item) - 1);
  }

  pop(): T | undefined {
    return this.removeAt(0);
  }

  removeAt(index: number): T | undefined {
    const { items } = this;
    const removed = items[index];
    const last = items.pop();
    if (last !== undefined && index < items.length) this.#sink(last, this.#rise(last, index));
    return removed;
  }

  clear(): void {
    this.items.length = 0;
  }

  /** Moves an item up from an index to where it belongs, and returns its new index. */
  #rise(item: T, from: number): number {
    let hole = from;
    while (hole > 0) {
      const up = (hole - 1) >> 1;
      const parent = this.items[up] as T;
      if (!this.#isBefore(item, parent)) break;
      this.#put(parent, hole);
      hole = up;
    }
    this.#put(item, hole);
    return hole;
  }

  /** Moves an item down from an index to where it belongs. */
  #sink(item: T, from: number): void {
    const { items } = this;
    let hole = from;
    for (;;) {
      const left = 2 * hole + 1;
      const right = left + 1;
      if (left >= items.length) break;
      const isRightFirst =
        right < items.length && this.#isBefore(items[right] as T, items[left] as T);
      const child = isRightFirst ? right : left;
      if (!this.#isBefore(items[child] as T, item)) break;
      this.#put(items[child] as T, hole);
      hole = child;
    }
    this.#put(item, hole);
  }

  #put(item: T, index: number): void {
    this.items[index] = item;
    this.#onMove(item, index);
  }
}
