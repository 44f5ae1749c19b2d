/**
 * Virtual time: the only time that the simulated service knows.
 * The clock moves to each deadline *before* it fires it. So a timer set by a timer counts from that
 * timer's deadline, and one long advance equals many short ones. Ties fire in order of arrival.
 * Implements XState's `Clock`; every actor uses it.
 */

/** Simulated time stops here, so that every year has four digits. Later timers never fire. */
export const latestTimeMs = Date.parse('9000-01-01T00:00:00.000Z');

/** A pending call. `index` is its place in the heap, or -1 once fired or cleared. */
export interface Timer {
  readonly deadlineMs: number;
  readonly arrival: number;
  readonly fire: () => void;
  index: number;
}

export class VirtualClock {
  #nowMs: number;
  #arrivals = 0;
  readonly #heap: Timer[] = [];

  /** `startMs`: epoch milliseconds. Never 0: `lru-cache` treats 0 as "no expiry". */
  constructor(startMs: number) {
    if (!Number.isSafeInteger(startMs) || startMs <= 0) {
      throw new RangeError(`the clock starts at a positive whole millisecond, not ${startMs}`);
    }
    this.#nowMs = startMs;
  }

  /** Epoch milliseconds. An own property, so that it can be passed on as a function. */
  readonly now = (): number => this.#nowMs;

  /** Timers that have not fired. */
  get pending(): number {
    return this.#heap.length;
  }

  /** Timers that have not fired: the next one first, the others in heap order. */
  get timers(): readonly Timer[] {
    return this.#heap;
  }

  /** The next deadline in epoch milliseconds, if any timer is pending. */
  get nextAtMs(): number | undefined {
    return this.#heap[0]?.deadlineMs;
  }

  setTimeout(fire: () => void, delayMs: number): Timer {
    // No advance in whole milliseconds could land exactly on a fractional deadline.
    const deadlineMs = this.#nowMs + Math.max(0, Math.ceil(delayMs));
    if (!Number.isSafeInteger(deadlineMs)) throw new RangeError(`not a delay: ${delayMs}`);
    const timer: Timer = { deadlineMs, arrival: this.#arrivals++, fire, index: this.#heap.length };
    this.#heap.push(timer);
    this.#rise(timer);
    return timer;
  }

  clearTimeout(timer: Timer | undefined): void {
    if (timer === undefined || timer.index < 0) return;
    this.#remove(timer);
  }

  /**
   * Moves time forward to `targetMs` and fires every timer that is due on the way. A past target
   * does nothing; a target after the end of time stops at the end. Returns how many timers fired.
   */
  advanceTo(wantedMs: number): number {
    if (!Number.isSafeInteger(wantedMs)) throw new RangeError(`not a time: ${wantedMs}`);
    const targetMs = Math.min(wantedMs, latestTimeMs);
    let fired = 0;
    for (let next = this.#heap[0]; next && next.deadlineMs <= targetMs; next = this.#heap[0]) {
      if (next.deadlineMs > this.#nowMs) this.#nowMs = next.deadlineMs;
      this.#remove(next);
      next.fire();
      fired++;
    }
    if (targetMs > this.#nowMs) this.#nowMs = targetMs;
    return fired;
  }

  #remove(timer: Timer): void {
    const last = this.#heap.pop();
    const hole = timer.index;
    timer.index = -1;
    if (last === undefined || last === timer) return;
    this.#heap[hole] = last;
    last.index = hole;
    this.#rise(last);
    this.#sink(last);
  }

  #rise(timer: Timer): void {
    while (timer.index > 0) {
      const parent = this.#heap[(timer.index - 1) >> 1];
      if (parent === undefined || !isBefore(timer, parent)) return;
      this.#swap(timer, parent);
    }
  }

  #sink(timer: Timer): void {
    for (;;) {
      const left = this.#heap[2 * timer.index + 1];
      const right = this.#heap[2 * timer.index + 2];
      const smaller = left && right && isBefore(right, left) ? right : left;
      if (smaller === undefined || !isBefore(smaller, timer)) return;
      this.#swap(smaller, timer);
    }
  }

  #swap(a: Timer, b: Timer): void {
    const index = a.index;
    a.index = b.index;
    b.index = index;
    this.#heap[a.index] = a;
    this.#heap[b.index] = b;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.deadlineMs !== b.deadlineMs ? a.deadlineMs < b.deadlineMs : a.arrival < b.arrival;
}

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
