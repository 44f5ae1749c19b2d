/**
 * The lines of a journal file. The last one may be cut short, where the process was killed while it wrote it;
 * such a line was never acknowledged, and is left out.
 */
import { readFileSync } from 'node:fs';
import type { Entry } from './entry.ts';
import { JournalError } from './journal-error.ts';

export interface JournalLines {
  /** Undefined: the file is empty, or killed while it began. */
  readonly header: string | undefined;
  readonly entries: Iterable<Entry>;
  /** Bytes up to the end of the last whole line. */
  readonly wholeBytes: number;
  /** Whether there is a piece of a line behind that. */
  readonly isTruncated: boolean;
}

/** Undefined where there is no such file. */
export function readJournal(path: string): JournalLines | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new JournalError(`${path}: the journal cannot be read (${code})`);
  }
  const wholeBytes = bytes.lastIndexOf(10) + 1;
  const headerEnd = bytes.indexOf(10);
  return {
    header: headerEnd < 0 ? undefined : bytes.toString('utf8', 0, headerEnd),
    entries: entriesOf(bytes.subarray(headerEnd + 1, Math.max(wholeBytes, headerEnd + 1)), path),
    wholeBytes,
    isTruncated: wholeBytes < bytes.length,
  };
}

function* entriesOf(bytes: Buffer, path: string): Generator<Entry> {
  let line = 1;
  for (let at = 0; at < bytes.length; ) {
    line++;
    const end = bytes.indexOf(10, at);
    let entry: Entry;
    try {
      entry = JSON.parse(bytes.toString('utf8', at, end)) as Entry;
      if (!('request' in entry || 'lever' in entry) || Number.isNaN(Date.parse(entry.at))) {
        throw new Error();
      }
    } catch {
      throw new JournalError(`${path}: line ${line} is damaged`);
    }
    yield entry;
    at = end + 1;
  }
}
