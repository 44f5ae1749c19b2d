/**
 * Writes and reads the file of a checkpoint (the whole state of a run at one instant). The file is
 * an opening line, then parts in JSON: each is compressed and follows its compressed length in four
 * bytes, big endian. Files of the first format have no opening. The journal's header holds the
 * digest of the file, so a damaged or exchanged file is never restored.
 */
import { createHash } from 'node:crypto';
import { closeSync, promises, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, brotliDecompressSync, constants } from 'node:zlib';
import { openingOf } from '#io/own-file.ts';
import { openPlain, reasonOf, systemCodeOf } from '#io/plain-file.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import { checkpointOpening } from '../journal/run-files.ts';

export interface CheckpointDigest {
  readonly bytes: number;
  readonly sha256: string;
}

const lengthBytes = 4;
const blockBytes = 1_048_576;
/** A higher quality takes several times as long and saves few bytes. */
const compression = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const compress = promisify(brotliCompress) as (
  part: Uint8Array,
  options: typeof compression,
) => Promise<Buffer>;

/**
 * Writes the parts one after another. Compression and writing run on other threads, with at most
 * one part in memory. Returns early, without a result, once `progress` is stopped.
 */
export async function writeCheckpoint(
  path: string,
  parts: Iterable<unknown>,
  progress: { readonly isStopped: boolean },
): Promise<CheckpointDigest | undefined> {
  const file = await promises.open(path, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    const write = async (piece: Uint8Array) => {
      hash.update(piece);
      await file.writeFile(piece);
      bytes += piece.length;
    };
    await write(Buffer.from(checkpointOpening));
    for (const part of parts) {
      const body = await compress(Buffer.from(JSON.stringify(part)), compression);
      if (progress.isStopped) return undefined;
      const length = Buffer.alloc(lengthBytes);
      length.writeUInt32BE(body.length);
      await write(length);
      await write(body);
      if (progress.isStopped) return undefined;
    }
    await file.sync();
    return { bytes, sha256: hash.digest('hex') };
  } finally {
    await file.close();
  }
}

/**
 * Yields the parts of a file. Throws a JournalError if the file does not have the `expected`
 * digest. `journal`: for error messages.
 */
export function* readCheckpoint(
  path: string,
  expected: CheckpointDigest,
  journal: string,
): Generator<unknown> {
  const file = openCheckpoint(path, journal);
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    for (const block of blocksOf(file)) {
      hash.update(block);
      bytes += block.length;
    }
    if (bytes !== expected.bytes || hash.digest('hex') !== expected.sha256) {
      throw new JournalError(
        `${path}: the checkpoint of ${journal} is damaged; put an intact copy of it back, ` +
          'or record in another file',
      );
    }
    yield* partsOf(file);
  } finally {
    closeSync(file);
  }
}

function openCheckpoint(path: string, journal: string): number {
  try {
    return openPlain(path);
  } catch (error) {
    const state =
      systemCodeOf(error) === 'ENOENT' ? 'is missing' : `cannot be read: ${reasonOf(error)}`;
    throw new JournalError(
      `${path}: the checkpoint of ${journal} ${state}; put it back next to the journal, ` +
        'or record in another file',
    );
  }
}

function* blocksOf(file: number): Generator<Buffer> {
  const block = Buffer.allocUnsafe(blockBytes);
  for (let offset = 0; ; ) {
    const bytesRead = readSync(file, block, 0, block.length, offset);
    if (bytesRead === 0) return;
    offset += bytesRead;
    yield block.subarray(0, bytesRead);
  }
}

function* partsOf(file: number): Generator<unknown> {
  const isFirstFormat = !openingOf(file).startsWith(checkpointOpening);
  for (let offset = isFirstFormat ? 0 : checkpointOpening.length; ; ) {
    const prefix = readBytes(file, offset, lengthBytes);
    if (prefix.length === 0) return;
    const body = readBytes(file, offset + lengthBytes, prefix.readUInt32BE());
    yield JSON.parse(brotliDecompressSync(body).toString('utf8'));
    offset += lengthBytes + body.length;
  }
}

/** Returns fewer bytes at the end of the file. */
function readBytes(file: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
}
