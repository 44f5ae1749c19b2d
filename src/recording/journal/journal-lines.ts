/**
 * Reads the lines of a journal file, block by block: a journal may be larger than the largest
 * buffer, so at most one line and one block are in memory. A process that is killed as it writes
 * leaves an incomplete last line, which is skipped: its input was never acknowledged.
 */
import { constants } from 'node:buffer';
import { closeSync, fstatSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { openingOf } from '#io/own-file.ts';
import { openPlain, reasonOf, systemCodeOf } from '#io/plain-file.ts';
import type { Entry } from '#judging/evidence/journal-entry.ts';
import { isIntact, JournalError, lineReader } from '#judging/evidence/journal-line.ts';
import { notAJournal } from './journal-header.ts';
import { beginsAs } from './run-files.ts';

export interface JournalLines {
  /** Undefined if the file is empty or holds only part of a header. */
  readonly header: string | undefined;
  /** Each iteration reads the file again. Throws a JournalError at a damaged line. */
  readonly entries: Iterable<Entry>;
  /** Bytes up to the end of the last complete line. */
  readonly wholeBytes: number;
  /** True if an incomplete line follows them. */
  readonly isTruncated: boolean;
}

/** A run, up to its last recorded input. */
export interface RecordedRun extends Pick<JournalLines, 'entries'> {
  /** The file, for error messages. */
  readonly name: string;
  readonly header: string;
}

/** Small, so that a block is freed soon: longer texts wait for a full garbage collection. */
const blockBytes = 65_536;
const lineBreak = 10;

/** Undefined if the file does not exist. Throws a JournalError if it is not a journal. */
export function readJournal(path: string): JournalLines | undefined {
  let file: number;
  try {
    file = openPlain(path);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw unreadable(path, error);
  }
  try {
    const { size, ino } = fstatSync(file);
    const wholeBytes = wholeBytesOf(file, size);
    const opening = openingOf(file);
    if (wholeBytes === 0 && !beginsAs('journal', opening)) throw notAJournal(path, opening);
    if (isLineBreakChanged(file, wholeBytes, size))
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

/**
 * True if the bytes after the last line break are a whole line whose own line break, the last of
 * them, is another byte: the input of that line may have been acknowledged.
 */
function isLineBreakChanged(file: number, from: number, to: number): boolean {
  const length = to - from - 1;
  if (length <= 0 || length > constants.MAX_STRING_LENGTH) return false;
  const line = Buffer.allocUnsafeSlow(length);
  return readSync(file, line, 0, length, from) === length && isIntact(line.toString()) === true;
}

/** The number of bytes up to the last line break. Searches backwards. */
function wholeBytesOf(file: number, size: number): number {
  for (let end = size; end > 0; end -= blockBytes) {
    const from = Math.max(0, end - blockBytes);
    const offset = readBlock(file, from, end).lastIndexOf(lineBreak);
    if (offset >= 0) return from + offset + 1;
  }
  return 0;
}

/** Reads at most one block, from byte `from` up to byte `to`. */
function readBlock(file: number, from: number, to: number): Buffer {
  const block = Buffer.allocUnsafeSlow(Math.min(blockBytes, to - from));
  return block.subarray(0, readSync(file, block, 0, block.length, from));
}

function* linesOf(file: number, to: number): Generator<string> {
  const decoder = new StringDecoder('utf8');
  /** The beginning of a line that continues in the next block. */
  let incomplete = '';
  for (let from = 0; from < to; ) {
    const block = readBlock(file, from, to);
    if (block.length === 0) return;
    from += block.length;
    const lines = decoder.write(block).split('\n');
    lines[0] = incomplete + lines[0];
    incomplete = lines.pop() ?? '';
    yield* lines;
  }
}

function* entriesOf(path: string, to: number, inode: number): Generator<Entry> {
  const file = openPlain(path);
  try {
    if (fstatSync(file).ino !== inode)
      throw new JournalError(`${path}: replaced while it was read; read it again`);
    const readLine = lineReader(path);
    for (const line of linesOf(file, to)) {
      const entry = readLine(line);
      if (entry !== undefined) yield entry;
    }
  } catch (error) {
    throw error instanceof JournalError ? error : unreadable(path, error);
  } finally {
    closeSync(file);
  }
}

function unreadable(path: string, error: unknown): JournalError {
  return new JournalError(
    `${path}: cannot read the journal: ${reasonOf(error)}; put a readable copy of it there`,
  );
}
