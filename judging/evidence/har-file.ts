/**
 * Reads the exchanges of the service in a HAR 1.2 file. Its text arrives in pieces, because it may be
 * larger than memory, and its entries are parsed one by one; an incomplete file is read to its end.
 */
import { CommandError } from '#io/command-error.ts';
import { counted } from '#io/terminal.ts';
import type { FileReading, TextReader } from './file-reading.ts';
import { exchangeOfEntry, readEntry } from './har-entry.ts';
import { valueIn } from './reading.ts';
import { longestPart } from './traffic-file.ts';

export function harReader(reading: FileReading): TextReader {
  const entries = new Entries(reading);
  const texts = new EntryTexts();
  return {
    take(piece) {
      for (const { value, text } of texts.add(piece)) entries.take(value, text);
      if (texts.length <= longestPart) return;
      const what = texts.isInside ? 'an entry' : 'the text outside the entries';
      throw new CommandError(2, `${reading.path}: ${what} has more than ${longestPart} characters`);
    },
    end() {
      if (texts.hasEntries && texts.isCut) reading.isCut = true;
      else {
        for (const value of entriesLeft(texts.outside, reading.path))
          entries.take(value, JSON.stringify(value));
      }
      entries.end();
    },
  };
}

/** The entries outside those that were found: only a file that names two lists has some. */
function entriesLeft(text: string, path: string): readonly unknown[] {
  const file = valueIn(text);
  const { entries } = Object(Object(file).log);
  if (Array.isArray(entries)) return entries;
  const mistake =
    file === undefined
      ? 'not JSON; expected a HAR 1.2 file'
      : 'not a HAR 1.2 file: log.entries: expected a list';
  throw new CommandError(2, `${path}: ${mistake}`);
}

/** The most entries that wait until it is known whether their host is the service. */
const mostEarly = 1_000;

/** Reads entries, and counts those that it cannot read. */
class Entries {
  readonly #reading: FileReading;
  /** The hosts that got a request with a path of the service. */
  readonly #hosts = new Set<string>();
  /** Those under `/api/` that came before a request which shows whether their host is the service. */
  readonly #early: { readonly host: string; readonly add: () => void }[] = [];
  #number = 0;
  #skipped = 0;
  /** What is wrong with the first skipped entry. */
  #mistake = '';
  /** Bodies that the file does not contain: they are in other files. */
  #attached = 0;

  constructor(reading: FileReading) {
    this.#reading = reading;
  }

  /** Adds the exchange of an entry, unless it is of another service. */
  take(value: unknown, text: string): void {
    const index = this.#number++;
    const entry = readEntry(value);
    if (typeof entry === 'string') {
      if (this.#skipped++ === 0) this.#mistake = `log.entries[${index}].${entry}`;
      return;
    }
    const exchange = exchangeOfEntry(entry, this.#reading);
    const { host, path, method } = exchange;
    if (this.#reading.noteRequest(exchange)) this.#admit(host);
    else if (!path.includes('/api/')) return;
    if (method === 'OPTIONS' || entry._fromCache !== undefined) return;
    const add = () => {
      for (const content of [entry.request.postData, entry.response.content])
        if (content?._file !== undefined) this.#attached++;
      this.#reading.add(exchange, text);
    };
    if (this.#hosts.has(host)) add();
    else if (this.#early.length < mostEarly) this.#early.push({ host, add });
  }

  /** Judges the host from its first entry on. */
  #admit(host: string): void {
    if (this.#hosts.has(host)) return;
    this.#hosts.add(host);
    for (const one of this.#early) if (one.host === host) one.add();
  }

  /** Says what cannot be read. */
  end(): void {
    if (this.#skipped > 0) {
      const count = counted(this.#skipped, 'entry', 'entries');
      this.#reading.notice(`${count} cannot be read; skipped: ${this.#mistake}`, 'some');
    }
    if (this.#attached > 0) {
      const bodies = counted(this.#attached, 'body', 'bodies');
      const why = 'they are in other files (_file); embed them';
      this.#reading.notice(`${bodies} not read: ${why}`, 'some');
    }
  }
}

const entriesKey = /"entries"\s*:\s*\[/;
/** Longer than the key with its blanks: the key may be split between two pieces. */
const keyLength = 64;
const [space, quote, comma, backslash] = [0x20, 0x22, 0x2c, 0x5c];
const [openObject, closeObject] = [0x7b, 0x7d];

/** The text of an entry and its value; undefined if it is not JSON. */
interface EntryText {
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

/**
 * Splits the text of a HAR file into its entries and the text outside them. Most entries begin like
 * the first: one that is JSON up to the next such beginning is whole, and is not searched for its end.
 */
class EntryTexts {
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
