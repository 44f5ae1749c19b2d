/**
 * Finds known keys and texts, and pieces of them, in texts of any notation, which `plain-text.ts`
 * makes alike before. The search yields after each slice, and its time grows linearly with the
 * text: a body can have a mebibyte.
 */
import { randomInt } from 'node:crypto';
import { isServiceWord } from './members.ts';
import { flatOf } from './plain-text.ts';

/** A piece of a value is found if it has this length. Shorter ones occur in replies by chance. */
const pieceLength = 12;
/** A value of at least this many characters is found as a whole word. */
const shortestValue = 4;
/** A cut echo has at least this many characters of the value, and then an ellipsis. */
const shortestCut = 6;
/** Bounds the short values that are looked for. */
const mostShort = 100;
/** Bounds the values that `editsIn` replaces. */
const mostInPlace = 1_000;
/** The characters that are read between two yields. */
const sliceLength = 10_000;
const wordCharacter = /[\p{L}\p{N}]/u;
/** Random, so that no client can know which pieces have the same hash, and slow the search down. */
const seed = randomInt(2 ** 32);

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export class KnownValues {
  readonly #values = new Map<string, string>();
  /** The values that are shorter than a piece. */
  readonly #short = new Set<string>();
  /** The starts of values, to which a cut echo may have been shortened. */
  readonly #cuts = new Set<string>();
  #isIndexed = true;
  /** All values, one after the other. */
  #all = '';
  /** A hash table of their pieces: the place of a piece in `#all` plus 1; 0 for an empty slot. */
  #table = new Int32Array();

  add(value: string, replacement: string): void {
    if (value.length < shortestValue || isServiceWord(value)) return;
    this.#values.set(value, replacement);
    this.#isIndexed = false;
  }

  /** Builds the table, `#short` and `#cuts` from the values. */
  *#index(): Generator<undefined, void> {
    this.#isIndexed = true;
    const all: string[] = [];
    for (const value of this.#values.keys()) {
      const flat = yield* flatOf(value);
      all.push(flat);
      if (flat.length < pieceLength && this.#short.size < mostShort) this.#short.add(flat);
      for (let length = shortestCut; length < pieceLength && length < flat.length; length++)
        this.#cuts.add(flat.slice(0, length));
    }
    this.#all = all.join('\0');
    this.#table = new Int32Array(2 ** Math.ceil(Math.log2(2 * this.#all.length + 2)));
    for (let at = 0; at + pieceLength <= this.#all.length; at++) {
      if (at % sliceLength === 0) yield;
      const slot = this.#slotOf(this.#all, at);
      if (this.#table[slot] === 0) this.#table[slot] = at + 1;
    }
  }

  /** The slot that has the piece at this place of a text, or the empty slot for it. */
  #slotOf(text: string, at: number): number {
    // FNV-1a. The length of the table is a power of two.
    let hash = seed;
    for (let index = at; index < at + pieceLength; index++)
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    const mask = this.#table.length - 1;
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const place = (this.#table[slot] ?? 0) - 1;
      if (place < 0 || isSamePiece(this.#all, place, text, at)) return slot;
    }
  }

  /** True if a value, or a piece of one, is in a text that `flatOf` returned. */
  *isAnyIn(flat: string): Generator<undefined, boolean> {
    if (this.#values.size === 0 || flat.length < shortestValue) return false;
    if (!this.#isIndexed) yield* this.#index();
    for (let at = 0; at + pieceLength <= flat.length; at++) {
      if (at % sliceLength === 0) yield;
      if (this.#table[this.#slotOf(flat, at)] !== 0) return true;
    }
    for (const short of this.#short) if (placesOf(short, flat).length > 0) return true;
    for (const { index } of flat.matchAll(/…|\.\.\./g)) {
      yield;
      for (let length = shortestCut; length < pieceLength; length++)
        if (this.#cuts.has(flat.slice(Math.max(0, index - length), index))) return true;
    }
    return false;
  }

  /** The edits that replace values where the text has them without escapes, case for case. */
  *editsIn(text: string): Generator<undefined, readonly Edit[]> {
    let rest = text;
    const edits: Edit[] = [];
    // A shorter value that begins a longer one would leave the end of the longer one visible.
    const longestFirst = [...this.#values]
      .slice(0, mostInPlace)
      .sort(([one], [other]) => other.length - one.length);
    for (const [value, replacement] of longestFirst) {
      const places = placesOf(value, rest);
      for (const start of places)
        edits.push({ start, end: start + value.length, text: replacement });
      if (places.length === 0) continue;
      rest = rest.replaceAll(value, '\0'.repeat(value.length));
      yield;
    }
    return edits;
  }
}

function isSamePiece(one: string, oneAt: number, other: string, otherAt: number): boolean {
  for (let index = 0; index < pieceLength; index++)
    if (one.charCodeAt(oneAt + index) !== other.charCodeAt(otherAt + index)) return false;
  return true;
}

/** Where a value is in a text; a short value only as a whole word. */
function placesOf(value: string, text: string): readonly number[] {
  const places: number[] = [];
  const isWhole = (at: number) =>
    !wordCharacter.test(text[at - 1] ?? '') && !wordCharacter.test(text[at + value.length] ?? '');
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length))
    if (value.length >= pieceLength || isWhole(at)) places.push(at);
  return places;
}
