/**
 * The text of a recorded file, piece by piece, gzipped or not: a file may be larger than memory.
 */
import { createReadStream, readSync } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { CommandError } from '../commands/command-error.ts';
import { openPlain, reasonOf } from '../config/plain-file.ts';

/** Longer texts would wait for a full collection of garbage. */
const pieceBytes = 65_536;
const longestLine = 64 * 1_048_576;

export async function* piecesOf(path: string): AsyncGenerator<string> {
  let file: number;
  try {
    file = openPlain(path);
  } catch (error) {
    throw new CommandError(2, `${path}: ${reasonOf(error)}`);
  }
  const magic = Buffer.alloc(2);
  readSync(file, magic, 0, 2, 0);
  const bytes = createReadStream('', { fd: file, start: 0, highWaterMark: pieceBytes });
  const isZipped = magic[0] === 0x1f && magic[1] === 0x8b;
  const plain = isZipped ? bytes.pipe(createGunzip({ chunkSize: pieceBytes })) : bytes;
  bytes.on('error', (error) => plain.destroy(error));
  plain.setEncoding('utf8');
  try {
    for await (const piece of plain) yield piece as string;
  } catch (error) {
    // A file that was cut off is read as far as it goes.
    if ((error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR') return;
    throw new CommandError(2, `${path}: ${reasonOf(error)}`);
  } finally {
    bytes.destroy();
  }
}

/** Lines without their ends. The last one may be incomplete. */
export async function* linesOf(
  pieces: AsyncIterable<string>,
  path: string,
): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > longestLine)
      throw new CommandError(2, `${path}: a line has more than ${longestLine} characters`);
    yield* lines;
  }
  if (rest !== '') yield rest;
}
