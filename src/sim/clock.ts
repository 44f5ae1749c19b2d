/**
 * Virtual time: the only time that the simulated service knows.
 * The clock moves to each deadline *before* it fires it. So a timer set by a timer counts from that
 * timer's deadline, and one long advance equals many short ones. Ties fire in order of arrival.
 * Implements XState's `Clock`; every actor uses it.
 */
import { MinHeap } from './min-heap.ts';

/** Simulated time stops here, so that every year has four digits. Later timers never fire. */
export const latestTimeMs = Date.parse('9000-01-01T00:00:00.000Z');

/** A function to call at a deadline. */
export interface Timer {
  readonly deadlineMs: number;
  /** The number of timers set before it. */
  readonly arrival: number;
  readonly fire: () => void;
  /** Its index in the heap, or -1 once it was fired or cleared. */
  index: number;
}

export class VirtualClock {
  #nowMs: number;
  #arrivals = 0;
  readonly #heap = new MinHeap<Timer>(isBefore, (timer, index) => {
    timer.index = index;
  });

  /** `startMs`: epoch milliseconds. Never 0: `lru-cache` treats 0 as "no expiry". */
  constructor(startMs: number) {
    if (!Number.isSafeInteger(startMs) || startMs <= 0)
      throw new RangeError(`the clock starts at a positive whole millisecond, not ${startMs}`);
    this.#nowMs = startMs;
  }

  /** Epoch milliseconds. A property and not a method, so that it can be passed on as a function. */
  readonly now = (): number => this.#nowMs;

  /** The number of timers that have not fired. */
  get pending(): number {
    return this.#heap.items.length;
  }

  /** Timers that have not fired: the next one first, the others in heap order. */
  get timers(): readonly Timer[] {
    return this.#heap.items;
  }

  /** The next deadline in epoch milliseconds, if any timer is pending. */
  get nextAtMs(): number | undefined {
    return this.#heap.peek()?.deadlineMs;
  }

  setTimeout(fire: () => void, delayMs: number): Timer {
    // No advance in whole milliseconds could land exactly on a fractional deadline.
    const deadlineMs = this.#nowMs + Math.max(0, Math.ceil(delayMs));
    if (!Number.isSafeInteger(deadlineMs)) throw new RangeError(`not a delay: ${delayMs}`);
    const timer: Timer = { deadlineMs, arrival: this.#arrivals++, fire, index: -1 };
    this.#heap.push(timer);
    return timer;
  }

  clearTimeout(timer: Timer | undefined): void {
    if (timer === undefined || timer.index < 0) return;
    this.#heap.removeAt(timer.index);
    timer.index = -1;
  }

  /**
   * Moves time forward to `wantedMs`, at most to `latestTimeMs`, and fires every timer that is due
   * on the way. Does nothing for a past time. Returns how many timers fired.
   */
  advanceTo(wantedMs: number): number {
    if (!Number.isSafeInteger(wantedMs)) throw new RangeError(`not a time: ${wantedMs}`);
    const targetMs = Math.min(wantedMs, latestTimeMs);
    const heap = this.#heap;
    let fired = 0;
    for (let next = heap.peek(); next && next.deadlineMs <= targetMs; next = heap.peek()) {
      if (next.deadlineMs > this.#nowMs) this.#nowMs = next.deadlineMs;
      this.clearTimeout(next);
      next.fire();
      fired++;
    }
    if (targetMs > this.#nowMs) this.#nowMs = targetMs;
    return fired;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.deadlineMs !== b.deadlineMs ? a.deadlineMs < b.deadlineMs : a.arrival < b.arrival;
}
