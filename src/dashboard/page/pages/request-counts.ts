/**
 * The last requests, counted by stretches of simulated time that are just wide enough for a plot.
 */
import type { ServiceRequest } from '../wire.ts';

export interface Counts {
  readonly total: number;
  readonly throttled: number;
  /** How long one stretch is. */
  readonly widthMs: number;
  /** Epoch seconds at which each stretch begins. */
  readonly startS: readonly number[];
  readonly passed: readonly number[];
  readonly refused: readonly number[];
}

const mostKept = 5_000;
const mostStretches = 60;
const widthsMs = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400].map((s) => s * 1_000);
const throttledStatus = 429;

export class RequestCounts {
  #kept: { readonly atMs: number; readonly throttled: boolean }[] = [];
  #lastNumber = 0;

  clear(): void {
    this.#kept = [];
    this.#lastNumber = 0;
  }

  /** Each request counts once, however often it is told. */
  add({ number, at, status }: ServiceRequest): void {
    if (number <= this.#lastNumber) return;
    this.#lastNumber = number;
    this.#kept.push({ atMs: Date.parse(at), throttled: status === throttledStatus });
    if (this.#kept.length > 2 * mostKept) this.#kept = this.#kept.slice(-mostKept);
  }

  counts(): Counts {
    const fromMs = this.#kept[0]?.atMs ?? 0;
    const toMs = this.#kept.at(-1)?.atMs ?? 0;
    const spanMs = toMs - fromMs;
    const widthMs =
      widthsMs.find((width) => spanMs / width < mostStretches) ?? Math.ceil(spanMs / mostStretches);
    const first = Math.floor(fromMs / widthMs);
    // A single stretch would be a plot of one bar as wide as everything.
    const size = Math.max(12, Math.floor(toMs / widthMs) - first + 1);
    const passed = new Array<number>(size).fill(0);
    const refused = new Array<number>(size).fill(0);
    for (const { atMs, throttled } of this.#kept) {
      const place = Math.floor(atMs / widthMs) - first;
      const counts = throttled ? refused : passed;
      counts[place] = (counts[place] ?? 0) + 1;
    }
    return {
      total: this.#kept.length,
      throttled: refused.reduce((sum, count) => sum + count, 0),
      widthMs,
      startS: passed.map((_, place) => ((first + place) * widthMs) / 1_000),
      passed,
      refused,
    };
  }
}
