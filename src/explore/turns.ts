/**
 * Lets some work go on together, and some alone: that waits for all other work to end, and new work
 * waits for it.
 */
export class Turns {
  readonly #together = new Set<Promise<unknown>>();
  #alone: Promise<unknown> = Promise.resolve();
  #isAlone = false;

  async together<T>(work: () => Promise<T>): Promise<T> {
    while (this.#isAlone) await this.#alone;
    const running = work();
    this.#together.add(running);
    try {
      return await running;
    } finally {
      this.#together.delete(running);
    }
  }

  async alone(work: () => Promise<void>): Promise<void> {
    while (this.#isAlone) await this.#alone;
    this.#isAlone = true;
    let resolve = () => {};
    this.#alone = new Promise<void>((done) => {
      resolve = done;
    });
    try {
      await Promise.allSettled(this.#together);
      await work();
    } finally {
      this.#isAlone = false;
      resolve();
    }
  }
}
