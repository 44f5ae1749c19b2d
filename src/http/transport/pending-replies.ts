/**
 * The requests of a server whose replies are not written yet: they wait for their body, an injected
 * delay, or the control handler. `close()` waits for them. Bound: the connections; see
 * docs/bounds.md.
 */
const firstSweepAt = 4_096;

export class PendingReplies<Reply extends { readonly isDone: boolean }> {
  /** Each with the timer of a delayed reply. */
  readonly #waiting = new Map<Reply, NodeJS.Timeout | undefined>();
  /** The latest request. It is nearly always answered next, which spares the map. */
  #latest: Reply | undefined;
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

  add(reply: Reply): void {
    const former = this.#latest;
    this.#latest = reply;
    if (former === undefined || former.isDone || former === reply) return;
    if (!this.#waiting.has(former)) this.#waiting.set(former, undefined);
    if (this.#waiting.size > this.#sweepAt) this.#sweep();
  }

  /** False if too many replies are delayed; `act` then never runs. */
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

  /** Forgets the requests that were answered, or whose clients have left. */
  #sweep(): void {
    if (this.#latest?.isDone) this.#latest = undefined;
    for (const reply of this.#waiting.keys()) if (reply.isDone) this.forget(reply);
    this.#sweepAt = Math.max(firstSweepAt, 2 * this.#waiting.size);
  }
}
