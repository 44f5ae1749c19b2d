/**
 * Per-minute limits of the foreign server, in four common algorithms. Each returns 0, or the
 * seconds until the next request passes.
 */
import type { Variation } from './variation.ts';

const minuteMs = 60_000;

export interface Throttle {
  /** Spends a token at `nowMs`, or returns the seconds to wait. */
  take(nowMs: number): number;
  /** Undoes the last spending. */
  giveBack(): void;
}

export function throttleOf({ refill, refusalsSpend = false }: Variation, limit: number): Throttle {
  if (refill === 'fixed_window') return new FixedWindow(limit, (nowMs) => nowMs % minuteMs);
  if (refill === 'from_first') return new FixedWindow(limit, () => 0);
  return refill === 'token_bucket' ? new TokenBucket(limit) : new SlidingLog(limit, refusalsSpend);
}

class SlidingLog implements Throttle {
  readonly #limit: number;
  readonly #refusalsSpend: boolean;
  readonly #spent: number[] = [];

  constructor(limit: number, refusalsSpend: boolean) {
    this.#limit = limit;
    this.#refusalsSpend = refusalsSpend;
  }

  take(nowMs: number): number {
    while ((this.#spent[0] ?? nowMs) <= nowMs - minuteMs) this.#spent.shift();
    if (this.#spent.length >= this.#limit) {
      if (this.#refusalsSpend) this.#spent.push(nowMs);
      const oldest = this.#spent.at(-this.#limit) ?? nowMs;
      return (oldest + minuteMs - nowMs) / 1_000;
    }
    this.#spent.push(nowMs);
    return 0;
  }

  giveBack(): void {
    this.#spent.pop();
  }
}

/**
 * All tokens return together: a minute after the first was spent, or at a full minute of the clock.
 */
class FixedWindow implements Throttle {
  readonly #limit: number;
  /** The age of a window that begins now. */
  readonly #agedMs: (nowMs: number) => number;
  #endsAtMs = 0;
  #count = 0;

  constructor(limit: number, agedMs: (nowMs: number) => number) {
    this.#limit = limit;
    this.#agedMs = agedMs;
  }

  take(nowMs: number): number {
    if (nowMs >= this.#endsAtMs) {
      this.#endsAtMs = nowMs - this.#agedMs(nowMs) + minuteMs;
      this.#count = 0;
    }
    if (this.#count >= this.#limit) return (this.#endsAtMs - nowMs) / 1_000;
    this.#count += 1;
    return 0;
  }

  giveBack(): void {
    this.#count -= 1;
  }
}

class TokenBucket implements Throttle {
  readonly #limit: number;
  /** When the bucket is full again (generic cell rate algorithm). */
  #fullAtMs = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  take(nowMs: number): number {
    const perTokenMs = minuteMs / this.#limit;
    const fullAtMs = Math.max(this.#fullAtMs, nowMs) + perTokenMs;
    const waitMs = fullAtMs - nowMs - minuteMs;
    if (waitMs > 1e-6) return waitMs / 1_000;
    this.#fullAtMs = fullAtMs;
    return 0;
  }

  giveBack(): void {
    this.#fullAtMs -= minuteMs / this.#limit;
  }
}
