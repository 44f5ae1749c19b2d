/**
 * Seeded random numbers in named streams, and the ids and keys that are drawn from them.
 * Rules: RES-2 (UUIDs), AUTH-2 (keys).
 * Each stream follows only from the seed and its name, so a new draw elsewhere, or another
 * account's traffic, does not change its numbers. The generator is sfc32, whose state of four
 * 32-bit words fits in a snapshot.
 */
import { hashText } from './store/text-slab.ts';

export type RngState = readonly [number, number, number, number];

/** The golden ratio as a 32-bit fraction: the usual constant for a seed without a pattern. */
const goldenRatio = 0x9e3779b9;
/** The usual number of first draws for sfc32: they mix the seed into every word of the state. */
const warmUpDraws = 12;

export class Rng {
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  constructor(state: RngState) {
    [this.#a, this.#b, this.#c, this.#counter] = state;
  }

  static stream(seed: number, name: string): Rng {
    const rng = new Rng([seed | 0, hashText(name, goldenRatio), hashText(name, seed | 0), 1]);
    for (let i = 0; i < warmUpDraws; i++) rng.uint32();
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

const keyAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** The characters of a key behind its prefix. */
export const keyLength = 40;

/** The words of the UUID that `drawUuid` draws; kept here to avoid an allocation. */
const uuidWords = new Uint32Array(4);

/** A UUID of version 4, in lower case. */
export function drawUuid(rng: Rng): string {
  drawUuidWords(rng, uuidWords, 0);
  return uuidText(uuidWords, 0);
}

/** A full API key: the prefix of `keyFormat` and 40 letters and digits. */
export function drawKey(rng: Rng, prefix: string): string {
  let key = prefix;
  for (let i = 0; i < keyLength; i++) key += keyAlphabet[rng.below(keyAlphabet.length)];
  return key;
}

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** True for an id in the only spelling that the service returns: lower case with hyphens. */
export function isUuid(text: string): boolean {
  return uuidShape.test(text);
}

/** All four hyphens, or none. */
const looseUuid = /^([0-9a-f]{8})(-?)([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{4})\2([0-9a-f]{12})$/i;

/**
 * Converts a UUID in capitals, or without hyphens if `form` is `any`, to the service's spelling.
 * Returns any other text unchanged (`pathIdForm`).
 */
export function canonicalUuid(text: string, form: 'any' | 'any_case' = 'any'): string {
  if (form === 'any_case') {
    const lower = text.toLowerCase();
    return isUuid(lower) ? lower : text;
  }
  return looseUuid.test(text) ? text.replace(looseUuid, '$1-$3-$4-$5-$6').toLowerCase() : text;
}

// UUIDs are four words of 32 bits here, as columns store them.

const digits = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const hyphen = 45;

export function drawUuidWords(rng: Rng, words: Uint32Array, at: number): void {
  words[at] = rng.uint32();
  words[at + 1] = (rng.uint32() & 0xffff0fff) | 0x00004000;
  words[at + 2] = (rng.uint32() & 0x3fffffff) | 0x80000000;
  words[at + 3] = rng.uint32();
}

/**
 * The lower-case text. One call makes one flat string; concatenated pieces would make a tree of
 * strings and cost four times as much.
 */
export function uuidText(words: Uint32Array, at: number): string {
  const a = words[at] as number;
  const b = words[at + 1] as number;
  const c = words[at + 2] as number;
  const d = words[at + 3] as number;
  // biome-ignore format: a line for each word
  return String.fromCharCode(
    hex(a >>> 28), hex(a >>> 24), hex(a >>> 20), hex(a >>> 16), hex(a >>> 12), hex(a >>> 8), hex(a >>> 4), hex(a), hyphen,
    hex(b >>> 28), hex(b >>> 24), hex(b >>> 20), hex(b >>> 16), hyphen, hex(b >>> 12), hex(b >>> 8), hex(b >>> 4), hex(b), hyphen,
    hex(c >>> 28), hex(c >>> 24), hex(c >>> 20), hex(c >>> 16), hyphen, hex(c >>> 12), hex(c >>> 8), hex(c >>> 4), hex(c),
    hex(d >>> 28), hex(d >>> 24), hex(d >>> 20), hex(d >>> 16), hex(d >>> 12), hex(d >>> 8), hex(d >>> 4), hex(d),
  );
}

/** The character of the lowest four bits. */
function hex(word: number): number {
  return digits[word & 15] as number;
}

const uuidLength = 36;
/** The value of each character code; 255 if it is not a lower-case hexadecimal digit. */
const values = new Uint8Array(128).fill(255);
for (const [value, code] of digits.entries()) values[code] = value;

/** Reads a UUID in the spelling of `uuidText`; false for any other text. */
export function readUuid(text: string, words: Uint32Array, at: number): boolean {
  if (text.length !== uuidLength) return false;
  let word = 0;
  let count = 0;
  for (let i = 0; i < uuidLength; i++) {
    const code = text.charCodeAt(i);
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (code !== hyphen) return false;
      continue;
    }
    const value = code < 128 ? (values[code] as number) : 255;
    if (value === 255) return false;
    word = (word << 4) | value;
    if (++count % 8 === 0) words[at + count / 8 - 1] = word;
  }
  return true;
}
