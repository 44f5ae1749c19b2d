/**
 * Reads the lines of a journal file, block by block: a journal may be larger than the largest
 * buffer, so at most one line is held in memory. A process killed while writing leaves an
 * incomplete last line; it was never acknowledged, so it is skipped.
 */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { openPlain, reasonOf } from '../config/plain-file.ts';
import { isIntact } from './journal-checksum.ts';
import { type Entry, entryIn } from './journal-entry.ts';
import { codeOf, JournalError } from './journal-error.ts';
import { beginsAs, openingOf } from './journal-files.ts';
import { notAJournal } from './journal-header.ts';
import { valueIn } from './request-line.ts';

export interface JournalLines {
  /** Undefined if the file is empty or holds only part of a header. */
  readonly header: string | undefined;
  /** Read lazily. */
  readonly entries: Iterable<Entry>;
  /** Bytes up to the end of the last complete line. */
  readonly wholeBytes: number;
  /** True if an incomplete line follows. */
  readonly isTruncated: boolean;
}

/** A run as far as it is recorded; `name`: its file. */
export interface RecordedRun extends Pick<JournalLines, 'entries'> {
  readonly name: string;
  readonly header: string;
}

const blockBytes = 1_048_576;
const lineEnd = 10;

/** Undefined if the file does not exist. Throws a JournalError if it is not a journal. */
export function readJournal(path: string): JournalLines | undefined {
  let file: number;
  try {
    file = openPlain(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unreadable(path, error);
  }
  try {
    const { size, ino } = fstatSync(file);
    const wholeBytes = wholeBytesOf(file, size);
    if (wholeBytes === 0 && !beginsAs('journal', openingOf(file))) throw notAJournal(path);
    if (isLineEndLost(readBlock(file, wholeBytes, size)))
      throw new JournalError(`${path}: the last line is damaged: its line break was changed`);
    const [header] = linesOf(file, wholeBytes);
    return {
      // Some editors put a byte order mark before it.
      header: header?.replace(/^\uFEFF/, ''),
      entries: { [Symbol.iterator]: () => entriesOf(path, wholeBytes, ino) },
      wholeBytes,
      isTruncated: wholeBytes < size,
    };
  } catch (error) {
    throw error instanceof JournalError ? error : unreadable(path, error);
  } finally {
    closeSync(file);
  }
}

/** True if all of the last line is there but its line break: the line may have been acknowledged. */
function isLineEndLost(rest: Buffer): boolean {
  return rest.length > 0 && isIntact(rest.toString('utf8', 0, rest.length - 1)) === true;
}

/** Searches backwards for the last line break. */
function wholeBytesOf(file: number, size: number): number {
  for (let end = size; end > 0; end -= blockBytes) {
    const from = Math.max(0, end - blockBytes);
    const at = readBlock(file, from, end).lastIndexOf(lineEnd);
    if (at >= 0) return from + at + 1;
  }
  return 0;
}

function readBlock(file: number, from: number, to: number): Buffer {
  const block = Buffer.allocUnsafeSlow(Math.min(blockBytes, to - from));
  return block.subarray(0, readSync(file, block, 0, block.length, from));
}

function* linesOf(file: number, to: number): Generator<string> {
  /** The part already read of a line that continues in the next block. */
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

function* entriesOf(path: string, to: number, inode: number): Generator<Entry> {
  const file = openPlain(path);
  try {
    if (fstatSync(file).ino !== inode) {
      throw new JournalError(`${path}: replaced while it was read; read it again`);
    }
    const read = lineReader(path);
    for (const line of linesOf(file, to)) {
      const entry = read(line);
      if (entry !== undefined) yield entry;
    }
  } catch (error) {
    throw error instanceof JournalError ? error : unreadable(path, error);
  } finally {
    closeSync(file);
  }
}

/** Reads one line after another; the first one, the header, has no entry. */
export function lineReader(path: string): (line: string) => Entry | undefined {
  let number = 0;
  let hasChecksums = false;
  return (line) => {
    number++;
    // Undefined for a line without a checksum.
    const isMatching = isIntact(line);
    if (number === 1) {
      hasChecksums = isMatching !== undefined;
      return undefined;
    }
    const isTrusted = isMatching ?? !hasChecksums;
    const entry = isTrusted ? entryOf(line) : undefined;
    if (entry !== undefined) return entry;
    const why = isTrusted ? '' : ': its checksum differs';
    throw new JournalError(`${path}: line ${number} is damaged${why}`);
  };
}

function entryOf(line: string): Entry | undefined {
  try {
    return entryIn(valueIn(line));
  } catch {
    return undefined;
  }
}

function unreadable(path: string, error: unknown): JournalError {
  return new JournalError(`${path}: the journal cannot be read: ${reasonOf(error)}`);
}
