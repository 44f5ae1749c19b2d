/**
 * Seeded random numbers in named streams. Each stream follows only from the seed and its name, so a
 * new draw elsewhere, or another account's traffic, does not change its numbers. The generator is
 * sfc32, whose state of four 32-bit words fits in a snapshot.
 */

import { hashText } from './text-slab.ts';

export type RngState = readonly [number, number, number, number];

export class Rng {
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  constructor(state: RngState) {
    [this.#a, this.#b, this.#c, this.#counter] = state;
  }

  /** The stream called `name` under `seed`. */
  static stream(seed: number, name: string): Rng {
    const rng = new Rng([seed | 0, hashText(name, 0x9e3779b9), hashText(name, seed | 0), 1]);
    for (let i = 0; i < 12; i++) rng.uint32(); // sfc32's usual warm-up: mixes the seed into every word
    return rng;
  }

  get state(): RngState {
    return [this.#a, this.#b, this.#c, this.#counter];
  }

  /** Continues from the state of another generator. */
  restore(state: RngState): void {
    [this.#a, this.#b, this.#c, this.#counter] = state;
  }

  /** A whole number from 0 to 2^32 − 1. */
  uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** A fraction from 0 up to, but not including, 1. */
  fraction(): number {
    return this.uint32() / 4_294_967_296;
  }

  /** A whole number from 0 to `bound` − 1. */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound);
  }
}
