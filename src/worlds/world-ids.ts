/**
 * Draws the ids of new worlds from the seed of the server. Processes of one fleet draw the same
 * sequence, and each takes only its share of it, so no two processes create the same id.
 */
import { Rng } from '../sim/random.ts';

/** The share of one process of a fleet: number `index` (from 0) of `count`. */
export interface Share {
  readonly index: number;
  readonly count: number;
}

const idAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
const idLength = 7;

export class WorldIds {
  readonly #seed: number;
  readonly #share: Share;
  #rng: Rng | undefined;
  #drawn = 0;

  constructor(seed: number, share: Share) {
    this.#seed = seed;
    this.#share = share;
  }

  /** How many ids were drawn. A journal records it as the number of its world. */
  get drawn(): number {
    return this.#drawn;
  }

  /** Draws until an id belongs to this process and is not in use. */
  next(isUsed: (worldId: string) => boolean): string {
    for (;;) {
      const worldId = this.#draw();
      const isOfShare = this.#drawn % this.#share.count === this.#share.index;
      if (isOfShare && !isUsed(worldId)) return worldId;
    }
  }

  /** Skips the ids that an earlier process drew, so that no new world gets the id of an old one. */
  skipTo(drawn: number): void {
    while (this.#drawn < drawn) this.#draw();
  }

  #draw(): string {
    this.#rng ??= Rng.stream(this.#seed, 'worlds');
    this.#drawn++;
    let worldId = 'w';
    for (let n = 0; n < idLength; n++) worldId += idAlphabet[this.#rng.below(idAlphabet.length)];
    return worldId;
  }
}
