/**
 * The requests of a native server without a reply: they wait for their body, an injected delay, or
 * the control handler. `close()` waits for them. Bound: the connections; see docs/bounds.md.
 */
import type { Outgoing } from './uws-reply.ts';

const firstSweepAt = 4_096;

export class PendingReplies {
  /** Each with the timer of a delayed reply. */
  readonly #waiting = new Map<Outgoing, NodeJS.Timeout | undefined>();
  /** The request whose body is awaited. It is nearly always answered next, which spares the map. */
  #latest: Outgoing | undefined;
  #sweepAt = firstSweepAt;
  #delayed = 0;
  readonly #mostDelayed: number;

  constructor(mostDelayed: number) {
    this.#mostDelayed = mostDelayed;
  }

  get hasAny(): boolean {
    this.#sweep();
    return this.#waiting.size > 0 || this.#latest !== undefined;
  }

  awaitBody(response: Outgoing): void {
    const former = this.#latest;
    this.#latest = response;
    if (former === undefined) return;
    if (!former.completed) this.#waiting.set(former, undefined);
    if (this.#waiting.size > this.#sweepAt) this.#sweep();
  }

  awaitHandler(response: Outgoing): void {
    this.#waiting.set(response, undefined);
  }

  /** False if too many replies are delayed; `act` then never runs. */
  delay(response: Outgoing, delayMs: number, act: () => void): boolean {
    if (this.#delayed >= this.#mostDelayed) return false;
    this.#delayed++;
    const timer = setTimeout(() => {
      this.#delayed--;
      act();
    }, delayMs);
    this.#waiting.set(response, timer);
    return true;
  }

  settle(response: Outgoing): void {
    if (this.#latest === response) this.#latest = undefined;
    if (this.#waiting.size > 0) this.#waiting.delete(response);
  }

  clear(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.#latest = undefined;
  }

  /** Forgets the requests whose clients have disconnected. */
  #sweep(): void {
    if (this.#latest?.completed) this.#latest = undefined;
    for (const [response, timer] of this.#waiting) {
      if (!response.completed) continue;
      if (timer !== undefined) this.#delayed--;
      clearTimeout(timer);
      this.#waiting.delete(response);
    }
    this.#sweepAt = Math.max(firstSweepAt, 2 * this.#waiting.size);
  }
}
