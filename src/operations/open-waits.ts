/**
 * The waits that are open in real time, so that closing the simulator ends them.
 */
import { LeverError } from '../sim/lever-error.ts';

/** Waits in real time that are open at once; one more is refused. */
export const mostWaits = 1_000;

export class OpenWaits {
  readonly #open = new Set<(error: LeverError) => void>();

  /** `end` is called should the simulator close first. */
  add(end: (error: LeverError) => void): void {
    if (this.#open.size >= mostWaits) {
      throw new LeverError('conflict', `there are ${mostWaits} waits already`);
    }
    this.#open.add(end);
  }

  delete(end: (error: LeverError) => void): void {
    this.#open.delete(end);
  }

  close(): void {
    for (const end of this.#open) end(new LeverError('conflict', 'the simulator is closing'));
  }
}
