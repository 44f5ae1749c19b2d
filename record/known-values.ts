/**
 * Finds keys and texts that are known, and pieces of them, in other texts, in time that grows with
 * the length of the texts only.
 */
import { randomInt } from 'node:crypto';
import { isServiceWord } from './members.ts';
import { flatOf } from './plain-text.ts';

/** A longer piece of a value is found anywhere. Shorter ones occur in replies by chance. */
const pieceLength = 12;
/** A value of so many characters is found as a whole word. */
const shortestValue = 4;
/** An echo that is cut shows so many characters, and then an ellipsis. */
const shortestCut = 6;
/** How many short values are found, and how many values are replaced in place. */
const mostShort = 100;
const mostInPlace = 1_000;
const sliceLength = 10_000;
const word = /[\p{L}\p{N}]/u;
/** Clients cannot know which pieces have the same hash. */
const seed = randomInt(2 ** 32);

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export class KnownValues {
  readonly #values = new Map<string, string>();
  readonly #short = new Set<string>();
  readonly #cuts = new Set<string>();
  #isIndexed = true;
  /** All values, one after the other, and a table of the places of their pieces plus one. */
  #all = '';
  #table = new Int32Array();

  add(value: string, replacement: string): void {
    if (value.length < shortestValue || isServiceWord(value)) return;
    this.#values.set(value, replacement);
    this.#isIndexed = false;
  }

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

  /** Where a piece is in the table, or would be. */
  #slotOf(text: string, at: number): number {
    let hash = seed;
    for (let index = at; index < at + pieceLength; index++)
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    for (let slot = hash ^ (hash >>> 15); ; slot++) {
      slot &= this.#table.length - 1;
      const place = (this.#table[slot] ?? 0) - 1;
      if (place < 0) return slot;
      let length = 0;
      while (this.#all.charCodeAt(place + length) === text.charCodeAt(at + length))
        if (++length === pieceLength) return slot;
    }
  }

  /** True if a value, or a piece of one, is in a text, which is in lower case with single blanks. */
  *areIn(flat: string): Generator<undefined, boolean> {
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

  /** Where values are as they were learned, with their replacements. */
  *in(text: string): Generator<undefined, readonly Edit[]> {
    let [rest, count] = [text, 0];
    const edits: Edit[] = [];
    for (const [value, replacement] of this.#values) {
      if (++count > mostInPlace) break;
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

/** A short value is found as a whole word. */
function placesOf(value: string, text: string): readonly number[] {
  const places: number[] = [];
  const isWhole = (at: number) =>
    !word.test(text[at - 1] ?? '') && !word.test(text[at + value.length] ?? '');
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length))
    if (value.length >= pieceLength || isWhole(at)) places.push(at);
  return places;
}
