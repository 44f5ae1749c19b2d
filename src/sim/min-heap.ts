/** A binary min-heap: `peek` takes constant time, `push` and `pop` logarithmic time. */
export class MinHeap<T> {
  readonly #isBefore: (a: T, b: T) => boolean;
  readonly #items: T[] = [];

  /** `isBefore` must be a total order; otherwise equal items come out in any order. */
  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let hole = items.length;
    items.push(item);
    while (hole > 0) {
      const up = (hole - 1) >> 1;
      const parent = items[up] as T;
      if (!this.#isBefore(item, parent)) break;
      items[hole] = parent;
      hole = up;
    }
    items[hole] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return top;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#isBefore(items[child + 1] as T, items[child] as T))
        child++;
      if (!this.#isBefore(items[child] as T, last)) break;
      items[hole] = items[child] as T;
      hole = child;
    }
    items[hole] = last;
    return top;
  }

  clear(): void {
    this.#items.length = 0;
  }
}
