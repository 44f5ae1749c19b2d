/**
 * A lock for runs: shared by those that may overlap, and exclusive for those that must run alone.
 * An exclusive run waits until all others have ended, and later runs wait for it.
 */
export class RunLock {
  readonly #shared = new Set<Promise<unknown>>();
  #lastExclusive: Promise<unknown> = Promise.resolve();

  async shared<T>(work: () => Promise<T>): Promise<T> {
    let awaited: Promise<unknown>;
    // While this waits, another exclusive run may queue up: then it also waits for that one.
    do {
      awaited = this.#lastExclusive;
      await awaited;
    } while (awaited !== this.#lastExclusive);
    const running = work();
    this.#shared.add(running);
    return running.finally(() => this.#shared.delete(running));
  }

  exclusive(work: () => Promise<void>): Promise<void> {
    const running = Promise.allSettled([this.#lastExclusive, ...this.#shared]).then(work);
    this.#lastExclusive = running.catch(() => {});
    return running;
  }
}
