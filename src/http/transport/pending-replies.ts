/**
 * The requests of a server whose replies are not written yet: they wait for their body, an injected
 * delay, or the control handler. `close()` waits for them. Their number is bounded by that of the
 * connections: see docs/bounds.md.
 */
import { performance } from 'node:perf_hooks';
import { realTimers } from '#io/event-loop.ts';
import type { Outlet } from './outlet.ts';

// A server closes in real time. A fault delays a reply by the global `setTimeout`, which a test may
// fake.
const { setImmediate, setTimeout: setRealTimeout } = realTimers;

/** Finished replies are removed at this number of entries, then at twice the number that remains. */
const firstSweepSize = 4_096;

export class PendingReplies {
  /** The replies before the latest, done ones until the next sweep; each delayed one with its timer. */
  readonly #waiting = new Map<Outlet, NodeJS.Timeout | undefined>();
  /** The reply that was added last. Most are done before the next one, and never enter the map. */
  #latest: Outlet | undefined;
  #sweepSize = firstSweepSize;
  #delayed = 0;
  readonly #mostDelayed: number;

  constructor(mostDelayed: number) {
    this.#mostDelayed = mostDelayed;
  }

  get hasAny(): boolean {
    if (this.#latest?.isDone === false) return true;
    for (const outlet of this.#waiting.keys()) if (!outlet.isDone) return true;
    return false;
  }

  add(outlet: Outlet): void {
    const previous = this.#latest;
    this.#latest = outlet;
    if (previous === undefined || previous.isDone || previous === outlet) return;
    if (!this.#waiting.has(previous)) this.#waiting.set(previous, undefined);
    if (this.#waiting.size > this.#sweepSize) this.#sweep();
  }

  /** Calls `act` after a delay. Returns false if too many replies are delayed: `act` never runs. */
  delay(outlet: Outlet, delayMs: number, act: () => void): boolean {
    if (this.#delayed >= this.#mostDelayed) return false;
    this.#delayed++;
    const timer = setTimeout(() => {
      this.#delayed--;
      this.#waiting.set(outlet, undefined);
      act();
    }, delayMs);
    this.#waiting.set(outlet, timer);
    return true;
  }

  forget(outlet: Outlet): void {
    if (this.#latest === outlet) this.#latest = undefined;
    const timer = this.#waiting.get(outlet);
    if (timer !== undefined) this.#delayed--;
    clearTimeout(timer);
    this.#waiting.delete(outlet);
  }

  clear(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.#latest = undefined;
  }

  /** Forgets the replies that are written, and those whose client has left. */
  #sweep(): void {
    if (this.#latest?.isDone) this.#latest = undefined;
    for (const outlet of this.#waiting.keys()) if (outlet.isDone) this.forget(outlet);
    this.#sweepSize = Math.max(firstSweepSize, 2 * this.#waiting.size);
  }
}

/** Waits until `isBusy` returns false, at most `graceMs`. */
export async function waitUntilIdle(isBusy: () => boolean, graceMs: number): Promise<void> {
  // One turn of the event loop, so that a handler that closes its own server can still answer.
  await new Promise((resolve) => setImmediate(resolve));
  const deadlineMs = performance.now() + graceMs;
  while (isBusy() && performance.now() < deadlineMs)
    await new Promise((resolve) => setRealTimeout(resolve, 5));
}
