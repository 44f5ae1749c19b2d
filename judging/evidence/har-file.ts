/**
 * The exchanges of the service in a HAR 1.2 file. Its entries are parsed one by one while the text
 * arrives in pieces: a file may be larger than memory, and one that ends in the midst is read up to
 * there.
 */
import { basename } from 'node:path';
import type { NoticeTaker, TrafficExchange } from '#contract/exchange.ts';
import { matchRoute } from '#contract/routes.ts';
import { CommandError } from '#io/command-error.ts';
import type { Elsewhere } from './foreign-file.ts';
import { exchangeOfEntry, readEntry } from './har-entry.ts';
import type { KeyNames } from './key-names.ts';
import { valueIn } from './reading.ts';
import { longestPart } from './traffic-file.ts';

const entriesKey = /"entries"\s*:\s*\[/;
/** More than the longest text of the key, which two pieces may share. */
const keyLength = 64;
const [space, quote, comma, backslash] = [0x20, 0x22, 0x2c, 0x5c];
const [openObject, closeObject] = [0x7b, 0x7d];

/** Splits the text of a HAR file into the texts of its entries and the text outside them. */
class EntryTexts {
  /** The text outside the entries that were found. */
  outside = '';
  /** True from the beginning of the list of entries to its end. */
  isInside = false;
  hasEntries = false;
  /** The last characters before the next piece. */
  #end = '';
  /** What has arrived of an entry. */
  #entry = '';
  #depth = 0;
  #isString = false;
  #isEscaped = false;

  /** The texts of the entries that end in this piece. */
  *add(piece: string): Generator<string> {
    if (this.isInside) {
      yield* this.#entriesIn(piece, 0);
      return;
    }
    this.outside += piece;
    if (this.hasEntries) return;
    // Not in the whole text, which would be copied for each piece.
    const text = this.#end + piece;
    this.#end = text.slice(-keyLength);
    const key = entriesKey.exec(text);
    if (key === null) return;
    const rest = text.slice(key.index + key[0].length);
    this.outside = this.outside.slice(0, this.outside.length - rest.length);
    this.isInside = true;
    this.hasEntries = true;
    yield* this.#entriesIn(rest, 0);
  }

  get length(): number {
    return Math.max(this.outside.length, this.#entry.length);
  }

  *#entriesIn(text: string, from: number): Generator<string> {
    let start = this.#depth > 0 ? from : -1;
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#isString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (code === backslash) this.#isEscaped = true;
        else if (code === quote) this.#isString = false;
      } else if (code === openObject) {
        if (this.#depth++ === 0) start = at;
      } else if (this.#depth === 0) {
        if (code <= space || code === comma) continue;
        this.isInside = false;
        this.outside += text.slice(at);
        return;
      } else if (code === quote) this.#isString = true;
      else if (code === closeObject && --this.#depth === 0) {
        yield this.#entry + text.slice(start, at + 1);
        this.#entry = '';
        start = -1;
      }
    }
    if (start >= 0) this.#entry += text.slice(start);
  }
}

export interface HarReading {
  readonly path: string;
  readonly onNotice: NoticeTaker;
  readonly onCut: () => void;
  readonly keys: KeyNames;
  readonly elsewhere: Elsewhere;
}

export async function* exchangesOfHarFile(
  pieces: AsyncIterable<string>,
  reading: HarReading,
): AsyncGenerator<TrafficExchange> {
  const { path, onCut } = reading;
  const entries = new Entries(reading);
  const texts = new EntryTexts();
  for await (const piece of pieces) {
    for (const text of texts.add(piece)) yield* entries.of(valueIn(text));
    if (texts.length <= longestPart) continue;
    const what = texts.isInside ? 'an entry' : 'the text outside the entries';
    throw new CommandError(2, `${path}: ${what} has more than ${longestPart} characters`);
  }
  if (texts.hasEntries && isCut(texts)) onCut();
  else for (const value of entriesLeft(texts.outside, path)) yield* entries.of(value);
  entries.end();
}

/** True if the file ends before its outermost object does. */
function isCut({ isInside, outside }: EntryTexts): boolean {
  if (isInside || valueIn(outside) !== undefined) return isInside;
  const closed = outside.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  const depth = closed.split(/[{[]/).length - closed.split(/[}\]]/).length;
  return depth > 0;
}

/** Entries of the text outside those that were found: it has none, unless it names two lists. */
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

/** Reads entries, and counts those that it cannot read. */
class Entries {
  readonly #reading: HarReading;
  /** The hosts that got a request with a path of the service. */
  readonly #hosts = new Set<string>();
  #number = 0;
  #skipped = 0;
  /** What is wrong with the first skipped entry. */
  #mistake = '';
  /** Bodies that are in files beside this one. */
  #attached = 0;

  constructor(reading: HarReading) {
    this.#reading = reading;
  }

  /** The exchange of an entry; none for one of another service, or that cannot be read. */
  *of(value: unknown): Generator<TrafficExchange> {
    const { keys, elsewhere } = this.#reading;
    const entry = readEntry(value, this.#number++);
    if (typeof entry === 'string') {
      if (this.#skipped++ === 0) this.#mistake = entry;
      return;
    }
    const exchange = exchangeOfEntry(entry, keys);
    const { host, path, method } = exchange;
    const isRoute = matchRoute(path.endsWith('/') ? path : `${path}/`) !== undefined;
    elsewhere.note(exchange, isRoute);
    if (isRoute) this.#hosts.add(host);
    const isOfService = isRoute || (this.#hosts.has(host) && path.includes('/api/'));
    if (!isOfService || method === 'OPTIONS') return;
    for (const content of [entry.request.postData, entry.response.content])
      if (content?._file !== undefined) this.#attached++;
    yield exchange;
  }

  /** Says what cannot be read. */
  end(): void {
    const { path, onNotice } = this.#reading;
    const name = basename(path);
    if (this.#skipped > 0) {
      const count = this.#skipped === 1 ? '1 entry' : `${this.#skipped} entries`;
      onNotice(`${name}: ${count} cannot be read; skipped: ${this.#mistake}`, 'some');
    }
    if (this.#attached > 0) {
      const bodies = this.#attached === 1 ? '1 body' : `${this.#attached} bodies`;
      onNotice(`${name}: ${bodies} not read: they are in other files (_file); embed them`, 'some');
    }
  }
}
