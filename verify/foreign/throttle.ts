/**
 * Per-minute limits of the foreign server, written three usual ways. Each returns 0, or the whole
 * seconds after which the next request passes.
 */
import type { Variation } from './variation.ts';

const minuteMs = 60_000;

export interface Throttle {
  /** Spends a token at `nowMs`; or returns the seconds to wait. */
  take(nowMs: number): number;
  /** Takes the last spending back. */
  giveBack(): void;
}

export function throttleOf(refill: Variation['refill'], limit: number): Throttle {
  if (refill === 'fixed_window') return new FixedWindow(limit);
  return refill === 'sliding' ? new SlidingLog(limit) : new TokenBucket(limit);
}

class SlidingLog implements Throttle {
  readonly #limit: number;
  readonly #spent: number[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  take(nowMs: number): number {
    while ((this.#spent[0] ?? nowMs) <= nowMs - minuteMs) this.#spent.shift();
    const [first] = this.#spent;
    if (first !== undefined && this.#spent.length >= this.#limit) {
      return Math.ceil((first + minuteMs - nowMs) / 1_000);
    }
    this.#spent.push(nowMs);
    return 0;
  }

  giveBack(): void {
    this.#spent.pop();
  }
}

/** All tokens come back at each full minute of the clock. */
class FixedWindow implements Throttle {
  readonly #limit: number;
  #minute = 0;
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  take(nowMs: number): number {
    const minute = Math.floor(nowMs / minuteMs);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#count = 0;
    }
    if (this.#count >= this.#limit) {
      return Math.ceil(((minute + 1) * minuteMs - nowMs) / 1_000);
    }
    this.#count += 1;
    return 0;
  }

  giveBack(): void {
    this.#count -= 1;
  }
}

class TokenBucket implements Throttle {
  readonly #limit: number;
  /** When the bucket is full again; a classic generic cell rate algorithm. */
  #fullAtMs = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  take(nowMs: number): number {
    const perTokenMs = minuteMs / this.#limit;
    const fullAtMs = Math.max(this.#fullAtMs, nowMs) + perTokenMs;
    const waitMs = fullAtMs - nowMs - minuteMs;
    if (waitMs > 1e-6) return Math.ceil(waitMs / 1_000);
    this.#fullAtMs = fullAtMs;
    return 0;
  }

  giveBack(): void {
    this.#fullAtMs -= minuteMs / this.#limit;
  }
}
