/**
 * The text of a file of recorded traffic, gzipped or not, in pieces and in lines, because it may be
 * larger than memory; and the kind of the file, which its beginning shows.
 */
import { closeSync, readSync } from 'node:fs';
import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { CommandError } from '#io/command-error.ts';
import { openPlain, reasonOf } from '#io/plain-file.ts';
import type { FileReading, TextReader } from './file-reading.ts';
import { foreignKindOf, foreignKindOfBytes } from './foreign-file.ts';
import { valueIn } from './reading.ts';
import { lineOpening } from './recorded-line.ts';

export type TrafficKind = 'journal' | 'recording' | 'HAR file';

/** Small, so that a piece is freed soon: longer texts wait for a full garbage collection. */
const pieceBytes = 65_536;
/** The number of characters by which the kind of a text is recognised. */
const openingLength = 65_536;
/** The number of bytes by which the kind of a binary file is recognised. */
const magicBytes = 512;
/** Characters: a line, or an entry of a HAR file, must fit in memory. */
export const longestPart = 64 * 1_048_576;

/** A text whose kind is known. */
export interface OpenedText {
  readonly kind: TrafficKind;
  readonly pieces: AsyncIterable<string>;
}

/** The pieces of a file. `onCut`: called if its compressed text is incomplete. */
export async function* piecesOf(path: string, onCut: () => void): AsyncGenerator<string> {
  let file: number;
  try {
    file = openPlain(path);
  } catch (error) {
    throw new CommandError(2, `${path}: ${reasonOf(error)}`);
  }
  const decoder = new StringDecoder('utf8');
  let hasText = false;
  try {
    const opening = Buffer.alloc(magicBytes);
    const magic = opening.subarray(0, readSync(file, opening, 0, magicBytes, 0));
    const isZipped = magic[0] === 0x1f && magic[1] === 0x8b;
    const foreign = isZipped ? undefined : foreignKindOfBytes(magic);
    if (foreign !== undefined) throw refusal(path, foreign);
    for await (const block of isZipped ? unzipped(file) : blocksOf(file)) {
      hasText = true;
      yield decoder.write(block);
    }
    yield decoder.end();
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if ((error as NodeJS.ErrnoException).code !== 'Z_BUF_ERROR')
      throw new CommandError(2, `${path}: ${reasonOf(error)}`);
    if (!hasText)
      throw new CommandError(2, `${path}: the compressed file is incomplete; copy it again`);
    onCut();
  } finally {
    closeSync(file);
  }
}

/** The blocks of a file that is compressed with gzip. */
async function* unzipped(file: number): AsyncGenerator<Buffer> {
  const blocks = Readable.from(blocksOf(file));
  const unzip = createGunzip({ chunkSize: pieceBytes });
  blocks.on('error', (error) => unzip.destroy(error));
  try {
    yield* blocks.pipe(unzip);
  } finally {
    // Before the file is closed, which a reader may do halfway.
    blocks.destroy();
  }
}

/** Reads at once: a thread for each block would take longer than the block. */
function* blocksOf(file: number): Generator<Buffer> {
  for (;;) {
    const block = Buffer.allocUnsafeSlow(pieceBytes);
    const length = readSync(file, block, 0, pieceBytes, null);
    if (length === 0) return;
    yield block.subarray(0, length);
  }
}

/** Recognises the kind by the beginning. Throws a CommandError that names a file of another kind. */
export async function opened(pieces: AsyncGenerator<string>, path: string): Promise<OpenedText> {
  let start = '';
  while (start.length < openingLength) {
    const { done, value } = await pieces.next();
    if (done) break;
    start += value;
  }
  start = start.replace(/^\uFEFF/, '');
  const opening = start.slice(0, openingLength);
  const kind = kindOf(opening);
  if (kind === undefined) {
    // Closes the file.
    await pieces.return(undefined);
    throw refusal(path, foreignKindOf(opening));
  }
  async function* all() {
    yield start;
    yield* pieces;
  }
  return { kind, pieces: all() };
}

function kindOf(opening: string): TrafficKind | undefined {
  if (opening.startsWith('{"journal":')) return 'journal';
  if (/^\s*\{\s*"log"\s*:/.test(opening)) return 'HAR file';
  if (lineOpening.test(opening)) return 'recording';
  return /^\s*\{/.test(opening) && /"(?:log|entries)"\s*:/.test(opening) ? 'HAR file' : undefined;
}

function refusal(path: string, what: string): CommandError {
  const expected = 'expected a journal, a recording of smstwin record or a HAR 1.2 file';
  return new CommandError(2, `${path}: it is ${what}; ${expected}`);
}

/** What a file is that was given as a journal: completes the words "it is". */
export function otherThanJournal(opening: string): string {
  const kind = kindOf(opening);
  const foreign = foreignKindOfBytes(Buffer.from(opening, 'latin1')) ?? foreignKindOf(opening);
  if (kind === undefined) return `${foreign}; name a file of serve --journal`;
  return `a ${kind}, which smstwin referee and smstwin conform --traffic read`;
}

/**
 * Takes the lines of a text without their ends. A last line that is neither ended nor JSON was cut
 * off: it is left out.
 */
export function readerOfLines(reading: FileReading, take: (line: string) => void): TextReader {
  let incomplete = '';
  return {
    take(piece) {
      // Only the piece is split: joining it to a long line first would copy that line each time.
      for (let from = 0; from <= piece.length; ) {
        const end = piece.indexOf('\n', from);
        incomplete += piece.slice(from, end < 0 ? undefined : end);
        if (incomplete.length > longestPart) {
          const what = `a line has more than ${longestPart} characters`;
          throw new CommandError(2, `${reading.path}: ${what}`);
        }
        if (end < 0) return;
        const line = incomplete;
        incomplete = '';
        from = end + 1;
        take(line.endsWith('\r') ? line.slice(0, -1) : line);
      }
    },
    end() {
      if (valueIn(incomplete) !== undefined) take(incomplete);
      else if (incomplete.trim() !== '') reading.isCut = true;
    },
  };
}
