/**
 * Counts the last requests per interval of simulated time, with intervals sized for a plot.
 */
import type { ServiceRequest, Traffic } from '../wire.ts';

export interface Counts {
  readonly total: number;
  readonly throttled: number;
  /** The length of one interval. */
  readonly widthMs: number;
  /** The start of each interval, in epoch seconds. */
  readonly startS: readonly number[];
  readonly passed: readonly number[];
  readonly refused: readonly number[];
}

interface Entry {
  readonly atMs: number;
  passed: number;
  refused: number;
}

const mostKept = 5_000;
/** Ten seconds of traffic: far longer than loading the list takes. */
const mostRecent = 100;
const mostStretches = 60;
const widthsMs = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400].map((s) => s * 1_000);
const throttledStatus = 429;

export class RequestCounts {
  #kept: Entry[] = [];
  #lastNumber = 0;
  #recent: Traffic[] = [];

  /** Starts again with the listed requests, newest first, and the traffic since then. */
  start(requests: readonly ServiceRequest[]): void {
    this.#kept = [];
    this.#lastNumber = requests[0]?.number ?? 0;
    for (const { at, status } of requests.toReversed()) this.#add(at, status, 1);
    for (const traffic of this.#recent) this.#count(traffic);
  }

  /** Call before the list is reloaded: earlier traffic may belong to another world. */
  forgetRecent(): void {
    this.#recent = [];
  }

  add(traffic: Traffic): void {
    this.#recent.push(traffic);
    if (this.#recent.length > mostRecent) this.#recent.shift();
    this.#count(traffic);
  }

  /**
   * Counts each request once: from traffic that began before the list was read, only the later
   * part.
   */
  #count({ at, last_number: lastNumber, counts }: Traffic): void {
    const all = counts.reduce((sum, { count }) => sum + count, 0);
    let known = Math.min(all, Math.max(0, this.#lastNumber - (lastNumber - all)));
    for (const { status, count } of counts) {
      const skipped = Math.min(known, count);
      known -= skipped;
      if (count > skipped) this.#add(at, status, count - skipped);
    }
    this.#lastNumber = Math.max(this.#lastNumber, lastNumber);
  }

  counts(): Counts {
    const fromMs = this.#kept[0]?.atMs ?? 0;
    const toMs = this.#kept.at(-1)?.atMs ?? 0;
    const spanMs = toMs - fromMs;
    const widthMs =
      widthsMs.find((width) => spanMs / width < mostStretches) ?? Math.ceil(spanMs / mostStretches);
    const first = Math.floor(fromMs / widthMs);
    // A single interval would be drawn as one bar across the whole plot.
    const size = Math.max(12, Math.floor(toMs / widthMs) - first + 1);
    const passed = new Array<number>(size).fill(0);
    const refused = new Array<number>(size).fill(0);
    for (const entry of this.#kept) {
      const place = Math.floor(entry.atMs / widthMs) - first;
      passed[place] = (passed[place] ?? 0) + entry.passed;
      refused[place] = (refused[place] ?? 0) + entry.refused;
    }
    const throttled = sumOf(refused);
    return {
      total: throttled + sumOf(passed),
      throttled,
      widthMs,
      startS: passed.map((_, place) => ((first + place) * widthMs) / 1_000),
      passed,
      refused,
    };
  }

  #add(at: string, status: number, count: number): void {
    const atMs = Date.parse(at);
    let last = this.#kept.at(-1);
    if (last?.atMs !== atMs) {
      last = { atMs, passed: 0, refused: 0 };
      this.#kept.push(last);
      if (this.#kept.length > 2 * mostKept) this.#kept = this.#kept.slice(-mostKept);
    }
    if (status === throttledStatus) last.refused += count;
    else last.passed += count;
  }
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
