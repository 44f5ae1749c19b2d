/**
 * Reading something again when events say that it may have changed.
 */

/** Many events in a row are one reading. */
export const settleMs = 120;

/** One reading at a time; whatever is asked for meanwhile is one more after it. */
export class Reading<T> {
  readonly #load: () => Promise<T>;
  readonly #done: (value: T) => void;
  readonly #failed: (error: unknown) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #runs = false;
  #again = false;
  #isOver = false;

  constructor(load: () => Promise<T>, done: (value: T) => void, failed: (error: unknown) => void) {
    this.#load = load;
    this.#done = done;
    this.#failed = failed;
  }

  soon(delayMs: number): void {
    if (this.#isOver) return;
    if (delayMs === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      void this.#run();
    } else {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        void this.#run();
      }, delayMs);
    }
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    if (this.#runs) {
      this.#again = true;
      return;
    }
    this.#runs = true;
    try {
      const value = await this.#load();
      if (!this.#isOver) this.#done(value);
    } catch (error) {
      if (!this.#isOver) this.#failed(error);
    }
    this.#runs = false;
    if (this.#again && !this.#isOver) {
      this.#again = false;
      this.soon(settleMs);
    }
  }
}
