/**
 * Calls a function repeatedly in real time, by timers that do not keep the process running. The
 * function returns for how long it has nothing to do, and is not called until then, so thousands of
 * idle worlds cost next to nothing.
 */
import { realTimers } from '#io/event-loop.ts';

// In real time: they outlive a test that fakes the timers.
const { clearTimeout, setTimeout } = realTimers;

/** The pause before a call that may have something to do. */
const shortestMs = 25;
/** The longest pause: real time may jump. */
const longestMs = 1_000;

export class Ticks {
  readonly #act: () => number;
  /** Undefined while stopped. */
  #timer: NodeJS.Timeout | undefined;
  /** True while a call is due after the shortest pause, or is running. */
  #isDueSoon = false;

  /** `act` returns for how many real milliseconds it need not be called. */
  constructor(act: () => number) {
    this.#act = act;
  }

  start(): void {
    if (this.#timer === undefined) this.#callAfter(shortestMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Asks for a call soon, because something may be due earlier than `act` returned. */
  hurry(): void {
    if (this.#isDueSoon || this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#callAfter(shortestMs);
  }

  #callAfter(ms: number): void {
    this.#isDueSoon = ms === shortestMs;
    const timer = setTimeout(() => {
      // `act` may call `hurry`, which then changes nothing, or `stop`.
      this.#isDueSoon = true;
      const idleMs = this.#act();
      if (this.#timer !== timer) return;
      this.#callAfter(Math.min(Math.max(shortestMs, idleMs), longestMs));
    }, ms).unref();
    this.#timer = timer;
  }
}
