/**
 * Finds known keys and texts, and pieces of them, in texts of any notation. To compare, a text
 * loses its escapes (`plainOf`), its upper case and its different blanks (`flatOf`). The search
 * yields after each slice, and its time grows linearly with the text: a body can have a mebibyte.
 */
import { isUtf8 } from 'node:buffer';
import { randomInt } from 'node:crypto';
import { isServiceWord } from './members.ts';

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
  /** The replacement of each value. */
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
    let count = 0;
    for (const [value, replacement] of this.#values) {
      count++;
      if (count > mostInPlace) break;
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

/**
 * Escapes of URLs, JSON and HTML, and digits of other scripts; `unescaped` names the groups. A run
 * of `%XX` ends before 1,000 bytes, but never within a UTF-8 character.
 */
const escapes = new RegExp(
  [
    String.raw`(?:%[0-9a-f]{2}){1,999}(?!%[89ab])|\\[ux]\{?([0-9a-f]{2,6})\}?`,
    String.raw`&#x([0-9a-f]{1,6});?|&#(\d{1,7});?`,
    String.raw`\\(["'\\/bfnrt])|&([a-z]{2,8});|<br ?\/?>|(?![0-9])\p{Nd}`,
  ].join('|'),
  'giu',
);
/** How often a text is unescaped. What is still escaped after that is searched as it is. */
const mostRounds = 5;
/** The characters with a name in HTML, or with a letter after a backslash in JSON. */
const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  plus: '+',
  equals: '=',
  szlig: 'ß',
  b: ' ',
  f: ' ',
  n: '\n',
  r: '\r',
  t: '\t',
  nbsp: ' ',
  hyphen: '-',
  lowbar: '_',
  sol: '/',
};
/** The accents at the end of names such as `eacute`. */
const accents: Readonly<Record<string, string>> = {
  grave: '\u0300',
  acute: '\u0301',
  circ: '\u0302',
  tilde: '\u0303',
  uml: '\u0308',
  ring: '\u030a',
  cedil: '\u0327',
  caron: '\u030c',
};
/** The pieces that are replaced between two yields. */
const piecesInSlice = 1_000;

/** The text without its escapes, even if it was escaped several times. */
export function* plainOf(text: string): Generator<undefined, string> {
  let plain = text;
  for (let round = 0; round < mostRounds; round++) {
    const before = plain;
    plain = yield* replacedIn(before, escapes, unescaped);
    if (plain === before) break;
  }
  return plain;
}

/** The characters that an escape stands for. */
function unescaped(match: RegExpExecArray): string {
  const { 0: whole, 1: hex, 2: hexEntity, 3: decimal, 4: letter, 5: name = '' } = match;
  if (whole.startsWith('%')) {
    const bytes = Buffer.from(whole.replaceAll('%', ''), 'hex');
    return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
  }
  const code = decimal ?? Number.parseInt(hex ?? hexEntity ?? '', 16);
  if (Number(code) <= 0x10ffff) return String.fromCodePoint(Number(code));
  if (letter !== undefined) return named[letter] ?? letter;
  if (name !== '') {
    const accent = accents[name.slice(1)];
    return accent === undefined ? (named[name] ?? whole) : (name[0] + accent).normalize('NFC');
  }
  return /^\p{Nd}/u.test(whole) ? digitOf(whole) : ' ';
}

/** The ASCII digit for a digit of another script: each script has its ten digits in a row. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  let value = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++;
  return String(value % 10);
}

/** The text in lower case, with one space for any blanks; forms write a space as `+`. */
export function flatOf(text: string): Generator<undefined, string> {
  return replacedIn(text.toLowerCase(), /[\s+]{2,}|[^\S ]|\+/g, () => ' ');
}

/** Replaces what matches, in slices. */
export function* replacedIn(
  text: string,
  pattern: RegExp,
  replace: (match: RegExpExecArray) => string,
): Generator<undefined, string> {
  yield;
  let result = '';
  let at = 0;
  let pieces: string[] = [];
  for (const match of text.matchAll(pattern)) {
    pieces.push(text.slice(at, match.index), replace(match));
    at = match.index + match[0].length;
    if (pieces.length < piecesInSlice) continue;
    result += pieces.join('');
    pieces = [];
    yield;
  }
  return at === 0 ? text : result + pieces.join('') + text.slice(at);
}
