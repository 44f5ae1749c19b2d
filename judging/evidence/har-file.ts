/** The exchanges of the service in a HAR 1.2 file, whose entries are parsed one by one. */
import { CommandError } from '#io/command-error.ts';
import { counted } from '#io/terminal.ts';
import type { FileReading, TextReader } from './file-reading.ts';
import { exchangeOfEntry, readEntry } from './har-entry.ts';
import { EntryTexts } from './har-entry-texts.ts';
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

/** Reads entries, and counts those that it cannot read. */
class Entries {
  readonly #reading: FileReading;
  /** The hosts that got a request with a path of the service. */
  readonly #hosts = new Set<string>();
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
    if (this.#reading.isOfService(exchange)) this.#hosts.add(host);
    else if (!this.#hosts.has(host) || !path.includes('/api/')) return;
    if (method === 'OPTIONS' || entry._fromCache !== undefined) return;
    for (const content of [entry.request.postData, entry.response.content])
      if (content?._file !== undefined) this.#attached++;
    this.#reading.add(exchange, text);
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
