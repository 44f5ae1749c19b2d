/**
 * Reads the entries of a HAR 1.2 file one by one while its text arrives in pieces, because a file
 * may be larger than memory. Most entries lie whole in one piece: these are read at once. An entry
 * that a piece cuts is kept until its end arrives, and is then parsed.
 */
import { basename } from 'node:path';
import type { NoticeTaker } from '#contract/exchange.ts';
import { CommandError } from '#io/command-error.ts';
import { type HarEntry, readEntry } from './har-entry.ts';
import { EndSearch, EntryReader, startOfEntry } from './har-text.ts';
import { valueIn } from './reading.ts';

/** Characters; a longer entry is a mistake, because it must fit in memory. */
const longestEntry = 64 * 1_048_576;
const entriesKey = /"entries"\s*:\s*\[/;

/** The entries of one file, in order. Counts those that cannot be read. */
export class HarEntries {
  readonly #file: string;
  /** The text before the entries; undefined until they begin. */
  #before: string | undefined;
  /** The text that is not read yet. */
  #unread = '';
  /** The length of `#unread` when it was last read and had no entry. */
  #readInVain = 0;
  /** Set while `#unread` is the beginning of an entry whose end has not arrived. */
  #endSearch: EndSearch | undefined;
  readonly #reader = new EntryReader();
  /** How many entries were read or skipped. */
  #number = 0;
  #skipped = 0;
  /** What is wrong with the first skipped entry. */
  #mistake = '';

  constructor(file: string) {
    this.#file = file;
  }

  /** The entries that end in this piece. */
  *add(piece: string): Generator<HarEntry> {
    // A search for an end continues in the new piece; everything else is read again from its start.
    const isContinued = this.#endSearch !== undefined;
    if (isContinued) yield* this.#read(piece);
    else {
      this.#unread += piece;
      // Not before it has doubled: each character is then read again twice at most.
      if (this.#unread.length >= 2 * this.#readInVain) yield* this.#readUnread();
    }
    if (this.#unread.length <= longestEntry) return;
    const what = this.#before === undefined ? 'the text before the entries' : 'an entry';
    throw new CommandError(2, `${this.#file}: ${what} has more than ${longestEntry} characters`);
  }

  /** The entries that are left when the file has ended. Says what of the file cannot be read. */
  *end(onNotice: NoticeTaker, onCut: () => void): Generator<HarEntry> {
    if (this.#endSearch === undefined) yield* this.#readUnread();
    // The file without the entries that were found.
    const text = `${this.#before ?? ''}${this.#unread}`;
    const hasEnd = new EndSearch().findEnd(text, text.indexOf('{')) >= 0;
    if (!hasEnd && this.#before !== undefined) onCut();
    else for (const entry of this.#entriesOf(valueIn(text))) yield* this.#checked(entry);
    if (this.#skipped === 0) return;
    const count = this.#skipped === 1 ? '1 entry' : `${this.#skipped} entries`;
    onNotice(`${basename(this.#file)}: ${count} cannot be read; skipped: ${this.#mistake}`, true);
  }

  #entriesOf(file: unknown): readonly unknown[] {
    const entries = Object(Object(file).log).entries;
    if (Array.isArray(entries)) return entries;
    const mistake =
      file === undefined
        ? 'not JSON; expected a HAR 1.2 file'
        : 'not a HAR 1.2 file: log.entries: expected a list';
    throw new CommandError(2, `${this.#file}: ${mistake}`);
  }

  *#readUnread(): Generator<HarEntry> {
    const text = this.#unread;
    this.#unread = '';
    yield* this.#read(text);
    this.#readInVain = this.#endSearch === undefined ? this.#unread.length : 0;
  }

  *#read(text: string): Generator<HarEntry> {
    let at = this.#before === undefined ? this.#findEntries(text) : 0;
    if (this.#before !== undefined) at = yield* this.#entriesIn(text, at);
    this.#unread += text.slice(at);
  }

  /** Keeps the text before the entries, and returns the index after it; 0 if they do not begin. */
  #findEntries(text: string): number {
    const key = entriesKey.exec(text);
    if (key === null) return 0;
    const end = key.index + key[0].length;
    this.#before = text.slice(0, end);
    return end;
  }

  /** The entries that end in this text. Returns the index after the last one. */
  *#entriesIn(text: string, from: number): Generator<HarEntry, number> {
    let at = from;
    for (;;) {
      if (this.#endSearch === undefined) {
        const start = startOfEntry(text, at);
        if (start < 0) return at;
        const entry = this.#reader.entryIn(text, start);
        if (entry !== undefined) {
          yield* this.#checked(entry);
          at = this.#reader.at;
          continue;
        }
        at = start;
        this.#endSearch = new EndSearch();
      }
      const end = this.#endSearch.findEnd(text, at);
      if (end < 0) return at;
      yield* this.#checked(this.#finish(text.slice(at, end)));
      at = end;
    }
  }

  /** The value of the entry whose text is `#unread` and this end. */
  #finish(end: string): unknown {
    const text = this.#unread + end;
    this.#unread = '';
    this.#endSearch = undefined;
    const entry = this.#reader.entryIn(text, 0);
    if (entry !== undefined) return entry;
    throw new CommandError(2, `${this.#file}: entry ${this.#number + 1} is not JSON`);
  }

  /** The entry that a JSON value holds; none if something is wrong, which `end` says. */
  #checked(value: unknown): readonly HarEntry[] {
    const entry = readEntry(value, this.#number++);
    if (typeof entry !== 'string') return [entry];
    if (this.#skipped++ === 0) this.#mistake = entry;
    return [];
  }
}
