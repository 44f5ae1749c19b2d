/**
 * The lines of a journal file. The last one may be cut short, where the process was killed while it wrote it;
 * such a line was never acknowledged, and is left out.
 * Read block by block: a journal may be longer than any buffer, and no more than a line of it is held.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type Entry, isEntry } from './journal-entry.ts';
import { JournalError } from './journal-error.ts';
import { canBeHeader, notAJournal } from './journal-header.ts';

export interface JournalLines {
  /** Undefined: the file is empty, or killed while it began. */
  readonly header: string | undefined;
  /** Read when they are asked for. */
  readonly entries: Iterable<Entry>;
  /** Bytes up to the end of the last whole line. */
  readonly wholeBytes: number;
  /** Whether there is a piece of a line behind that. */
  readonly isTruncated: boolean;
}

const blockBytes = 1_048_576;
/** More than what all journals begin with. */
const openingBytes = 64;
const lineEnd = 10;

/** Undefined where there is no such file. Throws a JournalError where it holds what no journal begins with. */
export function readJournal(path: string): JournalLines | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unreadable(path, error);
  }
  try {
    const { size } = fstatSync(file);
    const wholeBytes = wholeBytesOf(file, size);
    if (wholeBytes === 0 && !canBeHeader(openingOf(file, size))) throw notAJournal(path);
    const [header] = linesOf(file, wholeBytes);
    return {
      header,
      entries: { [Symbol.iterator]: () => entriesOf(path, wholeBytes) },
      wholeBytes,
      isTruncated: wholeBytes < size,
    };
  } catch (error) {
    throw error instanceof JournalError ? error : unreadable(path, error);
  } finally {
    closeSync(file);
  }
}

/** Looks for the last end of a line, from behind. */
function wholeBytesOf(file: number, size: number): number {
  for (let end = size; end > 0; end -= blockBytes) {
    const from = Math.max(0, end - blockBytes);
    const at = readBlock(file, from, end).lastIndexOf(lineEnd);
    if (at >= 0) return from + at + 1;
  }
  return 0;
}

/** Byte for byte, so that what is no text is not taken for any. */
function openingOf(file: number, size: number): string {
  return readBlock(file, 0, Math.min(size, openingBytes)).toString('latin1');
}

function readBlock(file: number, from: number, to: number): Buffer {
  const block = Buffer.allocUnsafeSlow(Math.min(blockBytes, to - from));
  return block.subarray(0, readSync(file, block, 0, block.length, from));
}

function* linesOf(file: number, to: number): Generator<string> {
  /** What has been read of a line that goes on in the next block. */
  let begun: Buffer[] = [];
  for (let from = 0; from < to; ) {
    const block = readBlock(file, from, to);
    if (block.length === 0) return;
    from += block.length;
    let start = 0;
    for (let end = block.indexOf(lineEnd); end >= 0; end = block.indexOf(lineEnd, start)) {
      const last = block.subarray(start, end);
      yield begun.length === 0 ? last.toString('utf8') : Buffer.concat([...begun, last]).toString();
      begun = [];
      start = end + 1;
    }
    if (start < block.length) begun.push(block.subarray(start));
  }
}

function* entriesOf(path: string, to: number): Generator<Entry> {
  const file = openSync(path, 'r');
  try {
    let number = 0;
    for (const line of linesOf(file, to)) {
      number++;
      if (number > 1) yield entryOf(line, number, path);
    }
  } catch (error) {
    throw error instanceof JournalError ? error : unreadable(path, error);
  } finally {
    closeSync(file);
  }
}

function entryOf(line: string, number: number, path: string): Entry {
  try {
    const entry: unknown = JSON.parse(line);
    if (isEntry(entry)) return entry;
  } catch {
    // Told below.
  }
  throw new JournalError(`${path}: line ${number} is damaged`);
}

function unreadable(path: string, error: unknown): JournalError {
  return new JournalError(`${path}: the journal cannot be read (${codeOf(error)})`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
