/**
 * The open waits in real time, kept so that closing the simulator can end them.
 */
import { OperationRefused } from '../sim/operation-refused.ts';

/** The largest number of open waits in real time; one more is refused. */
export const mostWaits = 1_000;

export class OpenWaits {
  readonly #open = new Set<(error: OperationRefused) => void>();

  /** Calls `end` if the simulator closes first. */
  add(end: (error: OperationRefused) => void): void {
    if (this.#open.size >= mostWaits) {
      throw new OperationRefused('conflict', `there are ${mostWaits} waits already`);
    }
    this.#open.add(end);
  }

  get size(): number {
    return this.#open.size;
  }

  delete(end: (error: OperationRefused) => void): void {
    this.#open.delete(end);
  }

  close(): void {
    for (const end of this.#open) end(new OperationRefused('conflict', 'the simulator is closing'));
  }
}
