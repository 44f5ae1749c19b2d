/**
 * The requests of a server whose replies are not written yet: they wait for their body, an injected
 * delay, or the control handler. `close()` waits for them. Their number is bounded by that of the
 * connections: see docs/bounds.md.
 */
/** Finished replies are removed at this number of entries, then at twice what remains. */
const firstSweepSize = 4_096;

export class PendingReplies<Reply extends { readonly isDone: boolean }> {
  /** All pending replies but the latest, each with its timer if a fault delays it. */
  readonly #waiting = new Map<Reply, NodeJS.Timeout | undefined>();
  /** The reply that was added last. Most are done before the next one, and never enter the map. */
  #latest: Reply | undefined;
  #sweepSize = firstSweepSize;
  #delayed = 0;
  readonly #mostDelayed: number;

  constructor(mostDelayed: number) {
    this.#mostDelayed = mostDelayed;
  }

  get hasAny(): boolean {
    this.#sweep();
    return this.#waiting.size > 0 || this.#latest !== undefined;
  }

  add(reply: Reply): void {
    const previous = this.#latest;
    this.#latest = reply;
    if (previous === undefined || previous.isDone || previous === reply) return;
    if (!this.#waiting.has(previous)) this.#waiting.set(previous, undefined);
    if (this.#waiting.size > this.#sweepSize) this.#sweep();
  }

  /** Calls `act` after a delay. Returns false if too many replies are delayed: `act` never runs. */
  delay(reply: Reply, delayMs: number, act: () => void): boolean {
    if (this.#delayed >= this.#mostDelayed) return false;
    this.#delayed++;
    const timer = setTimeout(() => {
      this.#delayed--;
      this.#waiting.set(reply, undefined);
      act();
    }, delayMs);
    this.#waiting.set(reply, timer);
    return true;
  }

  forget(reply: Reply): void {
    if (this.#latest === reply) this.#latest = undefined;
    const timer = this.#waiting.get(reply);
    if (timer !== undefined) this.#delayed--;
    clearTimeout(timer);
    this.#waiting.delete(reply);
  }

  clear(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.#latest = undefined;
  }

  /** Forgets the replies that are written, and those whose client has left. */
  #sweep(): void {
    if (this.#latest?.isDone) this.#latest = undefined;
    for (const reply of this.#waiting.keys()) if (reply.isDone) this.forget(reply);
    this.#sweepSize = Math.max(firstSweepSize, 2 * this.#waiting.size);
  }
}
