/**
 * Finds values that are known, and pieces of them, in other texts, in time that grows with the
 * length of the texts only. The case of letters and the kind of blanks do not matter.
 */

/** A longer piece of a value is found anywhere. Shorter ones occur in replies by chance. */
const pieceLength = 12;
/** A value of so many characters is found as a whole word. */
export const shortestValue = 4;
/** An echo that is cut shows so many characters, and then an ellipsis. */
const shortestCut = 6;
/** How many places of a value with the same beginning are compared. */
const mostPlaces = 16;
/** A place that is alike for so long is taken at once. */
const longPiece = 4_096;
const ellipsis = /^(?:…|\.\.\.)/;
const sliceLength = 20_000;
const word = /[\p{L}\p{N}]/u;

export interface Found {
  readonly start: number;
  readonly end: number;
  /** Which value it is a piece of, and from where. */
  readonly value: number;
  readonly offset: number;
}

export class Pieces {
  /** A key is secret even if only its first half is seen. */
  readonly #areKeys: boolean;
  readonly #values: string[] = [];
  /** Where each value begins in `#all`. */
  readonly #starts: number[] = [];
  /** Values, and beginnings of values, that are shorter than a piece. */
  readonly #words = new Map<string, number>();
  readonly #cuts = new Map<string, number>();
  #length = 0;
  /** All values, one after the other; a table of their pieces; the next piece of the same hash. */
  #all = new Uint16Array();
  #heads = new Int32Array();
  #next = new Int32Array();
  #isIndexed = true;

  constructor(areKeys: boolean) {
    this.#areKeys = areKeys;
  }

  *add(text: string): Generator<undefined, void> {
    const value = yield* folded(text);
    const number = this.#values.push(value) - 1;
    this.#starts.push(this.#length);
    this.#length += value.length + 1;
    this.#isIndexed = false;
    if (value.length < pieceLength) this.#words.set(value, number);
    const half = Math.max(shortestCut, Math.ceil(value.length / 2));
    for (let length = shortestCut; length < Math.min(pieceLength, value.length); length++) {
      const cut = value.slice(0, length);
      if (!this.#cuts.has(cut)) this.#cuts.set(cut, number);
      if (this.#areKeys && length >= half && !this.#words.has(cut)) this.#words.set(cut, number);
    }
  }

  *#index(): Generator<undefined, void> {
    this.#isIndexed = true;
    this.#all = new Uint16Array(this.#length);
    for (const [number, value] of this.#values.entries()) {
      const start = this.#starts[number] ?? 0;
      for (let index = 0; index < value.length; index++) {
        this.#all[start + index] = value.charCodeAt(index);
        if (index % sliceLength === 0) yield;
      }
    }
    // Both hold a place plus one, or zero for none.
    this.#heads = new Int32Array(2 ** Math.ceil(Math.log2(this.#length + 2)));
    this.#next = new Int32Array(this.#length);
    // From the end, so that the first place of a piece is found first.
    for (let place = this.#length - pieceLength; place >= 0; place--) {
      if (place % sliceLength === 0) yield;
      const slot = hashOf(this.#all, place) & (this.#heads.length - 1);
      this.#next[place] = this.#heads[slot] ?? 0;
      this.#heads[slot] = place + 1;
    }
  }

  /** All places in a text, from left to right. `mayTake` can refuse one. */
  *in(text: string, mayTake: (found: Found) => boolean): Generator<undefined, readonly Found[]> {
    const found: Found[] = [];
    if (this.#values.length === 0 || text.length < shortestValue) return found;
    if (!this.#isIndexed) yield* this.#index();
    const plain = yield* folded(text);
    const codes = new Uint16Array(text.length);
    for (let index = 0; index < codes.length; index++) {
      codes[index] = plain.charCodeAt(index);
      if (index % sliceLength === 0) yield;
    }
    for (let at = 0; at < codes.length; ) {
      if (at % sliceLength === 0) yield;
      const one = this.#longestAt(codes, at) ?? this.#wordAt(plain, at);
      const isTaken = one !== undefined && mayTake(one);
      if (isTaken) found.push(one);
      if (isTaken && one.end - at >= sliceLength) yield;
      at = isTaken ? one.end : at + 1;
    }
    return found;
  }

  #longestAt(codes: Uint16Array, at: number): Found | undefined {
    if (at + pieceLength > codes.length) return undefined;
    let [longest, longestPlace] = [pieceLength - 1, -1];
    let place = (this.#heads[hashOf(codes, at) & (this.#heads.length - 1)] ?? 0) - 1;
    for (let places = 0; place >= 0 && places < mostPlaces && longest < longPiece; places++) {
      let length = 0;
      while (codes[at + length] === this.#all[place + length] && this.#all[place + length] !== 0)
        length++;
      if (length > longest) [longest, longestPlace] = [length, place];
      place = (this.#next[place] ?? 0) - 1;
    }
    if (longestPlace < 0) return undefined;
    const value = this.#valueAt(longestPlace);
    const offset = longestPlace - (this.#starts[value] ?? 0);
    return { start: at, end: at + longest, value, offset };
  }

  #wordAt(text: string, at: number): Found | undefined {
    if (at > 0 && word.test(text[at - 1] ?? '') && word.test(text[at] ?? '')) return undefined;
    for (let length = pieceLength - 1; length >= shortestValue; length--) {
      const end = at + length;
      const piece = text.slice(at, end);
      const whole = this.#words.get(piece);
      const isWord = !word.test(text[end] ?? '') || !word.test(text[end - 1] ?? '');
      if (whole !== undefined && isWord) return { start: at, end, value: whole, offset: 0 };
      const cut = this.#cuts.get(piece);
      if (cut !== undefined && ellipsis.test(text.slice(end, end + 3)))
        return { start: at, end, value: cut, offset: 0 };
    }
    return undefined;
  }

  #valueAt(place: number): number {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Lower case, with one kind of blank; `+` is the blank of forms. The length stays. */
function* folded(text: string): Generator<undefined, string> {
  let result = '';
  for (let at = 0; at < text.length; at += sliceLength) {
    if (at > 0) yield;
    const slice = text.slice(at, at + sliceLength);
    const lower = slice.toLowerCase();
    const plain = lower.length === slice.length ? lower : slice.split('').map(lowerOf).join('');
    result += plain.replace(/[\s+]/g, ' ');
  }
  return result;
}

/** A few letters, such as the Turkish dotted I, have a lower case that is longer. */
function lowerOf(character: string): string {
  const lower = character.toLowerCase();
  return lower.length === character.length ? lower : character;
}

function hashOf(codes: Uint16Array, place: number): number {
  let hash = 0;
  for (let index = 0; index < pieceLength; index++)
    hash = Math.imul(hash, 0x01000193) ^ (codes[place + index] ?? 0);
  return hash ^ (hash >>> 15);
}
