/**
 * The entries in a HAR file, while its text arrives in pieces: a file may be larger than memory, and
 * an incomplete one is read to its end. Most entries begin like the first: one that is JSON up to
 * the next such beginning is whole, and is not searched for its end.
 */
import { valueIn } from './reading.ts';

const entriesKey = /"entries"\s*:\s*\[/;
/** Longer than the key with its blanks: the key may be split between two pieces. */
const keyLength = 64;
const [space, quote, comma, backslash] = [0x20, 0x22, 0x2c, 0x5c];
const [openObject, closeObject] = [0x7b, 0x7d];

/** The text of an entry and its value; undefined if it is not JSON. */
export interface EntryText {
  readonly text: string;
  readonly value: unknown;
}

/** The reader makes no text of an object, so a field `toString` of an entry does no harm. */
function entryOf(text: string): EntryText {
  try {
    return { text, value: JSON.parse(text) };
  } catch {
    return { text, value: undefined };
  }
}

const beginning = /^\{\s*"[^"]*"\s*:/;

/** Splits the text of a HAR file into its entries and the text outside them. */
export class EntryTexts {
  /** The text outside the entries that were found. */
  outside = '';
  /** True from the beginning of the list of entries to its end. */
  isInside = false;
  hasEntries = false;
  /** The last characters of the previous piece. */
  #previousEnd = '';
  /** How the first entry begins; empty if another one was not whole before the next of these. */
  #beginning: string | undefined;
  /** What has arrived of an entry. */
  #entry = '';
  #depth = 0;
  #isString = false;
  #isEscaped = false;

  /** The entries that end in this piece. */
  add(piece: string): readonly EntryText[] {
    if (this.isInside) return this.#entriesIn(piece);
    this.outside += piece;
    if (this.hasEntries) return [];
    // Only the new piece and the end before it: all the text would be copied for each piece.
    const text = this.#previousEnd + piece;
    this.#previousEnd = text.slice(-keyLength);
    const key = entriesKey.exec(text);
    if (key === null) return [];
    const rest = text.slice(key.index + key[0].length);
    this.outside = this.outside.slice(0, this.outside.length - rest.length);
    this.isInside = true;
    this.hasEntries = true;
    return this.#entriesIn(rest);
  }

  get length(): number {
    return Math.max(this.outside.length, this.#entry.length);
  }

  /** True if the file ends before its outermost object does. */
  get isCut(): boolean {
    if (this.isInside || valueIn(this.outside) !== undefined) return this.isInside;
    const closed = this.outside.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
    const depth = closed.split(/[{[]/).length - closed.split(/[}\]]/).length;
    return depth > 0;
  }

  #entriesIn(text: string): EntryText[] {
    const entries: EntryText[] = [];
    // A local copy is faster than the field, and this loop runs for each character.
    let depth = this.#depth;
    let start = depth > 0 ? 0 : -1;
    let at = this.#isString ? this.#endOfString(text, 0) : 0;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code <= space) continue;
      if (code === openObject) {
        const whole = depth === 0 ? this.#wholeEntryAt(text, at) : undefined;
        if (whole !== undefined) {
          entries.push(whole);
          at += whole.text.length - 1;
        } else if (depth++ === 0) start = at;
      } else if (depth === 0) {
        if (code === comma) continue;
        this.isInside = false;
        this.outside += text.slice(at);
        break;
      } else if (code === quote) {
        const end = text.indexOf('"', at + 1);
        // Most strings end in this piece, and hold no escape.
        const isPlain = end > 0 && text.charCodeAt(end - 1) !== backslash;
        at = isPlain ? end : this.#endOfString(text, at + 1) - 1;
      } else if (code === closeObject && --depth === 0) {
        const entry = this.#entry + text.slice(start, at + 1);
        entries.push(entryOf(entry));
        this.#beginning ??= beginning.exec(entry)?.[0] ?? '';
        this.#entry = '';
        start = -1;
      }
    }
    if (start >= 0) this.#entry += text.slice(start);
    this.#depth = depth;
    return entries;
  }

  /** The entry that begins here, if it ends before the next beginning of one in this piece. */
  #wholeEntryAt(text: string, at: number): EntryText | undefined {
    if (!this.#beginning) return undefined;
    const next = text.indexOf(this.#beginning, at + 1);
    if (next < 0) return undefined;
    const entry = entryOf(text.slice(at, text.lastIndexOf('}', next) + 1));
    if (entry.value !== undefined) return entry;
    this.#beginning = '';
    return undefined;
  }

  /** The index after the quote that ends a string; beyond the text if it does not end there. */
  #endOfString(text: string, from: number): number {
    this.#isString = true;
    if (from === text.length) return from + 1;
    let start = this.#isEscaped ? from + 1 : from;
    for (;;) {
      const end = text.indexOf('"', start);
      const until = end < 0 ? text.length : end;
      let escapes = 0;
      while (until - escapes > start && text.charCodeAt(until - escapes - 1) === backslash)
        escapes++;
      const isEscaped = escapes % 2 === 1;
      this.#isEscaped = isEscaped && end < 0;
      this.#isString = isEscaped || end < 0;
      if (end < 0) return text.length + 1;
      if (!isEscaped) return end + 1;
      start = end + 1;
    }
  }
}
