/**
 * Lets some work go on together, and some alone: that waits for all other work to end, and new work
 * waits for it.
 */
export class Turns {
  readonly #together = new Set<Promise<unknown>>();
  #alone: Promise<unknown> = Promise.resolve();

  async together<T>(work: () => Promise<T>): Promise<T> {
    for (let last: unknown; last !== this.#alone; ) {
      last = this.#alone;
      await last;
    }
    const running = work();
    this.#together.add(running);
    return running.finally(() => this.#together.delete(running));
  }

  alone(work: () => Promise<void>): Promise<void> {
    const running = Promise.allSettled([this.#alone, ...this.#together]).then(work);
    this.#alone = running.catch(() => {});
    return running;
  }
}
