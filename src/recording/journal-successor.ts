/**
 * Writes the journal that continues from a checkpoint: its header, and a copy of the inputs since
 * the state was taken. `FileJournal.continueIn` adds the last few.
 */
import { promises } from 'node:fs';
import { writeWhole } from './checkpoint-file.ts';
import { JournalError } from './journal-error.ts';
import type { FileJournal } from './journal-file.ts';
import type { JournalFiles } from './journal-files.ts';

/** The largest remainder that is copied synchronously, while the service waits. */
const lastCopyBytes = 65_536;
const blockBytes = 1_048_576;
const permissions = 0o777;

interface Progress {
  readonly isStopped: boolean;
}

/** Returns the position in the journal where the copy ends. */
export async function writeSuccessor(
  files: JournalFiles,
  header: string,
  journal: FileJournal,
  fromBytes: number,
  progress: Progress,
): Promise<number> {
  const from = await promises.open(files.journal, 'r');
  try {
    const to = await promises.open(files.next, 'wx', 0o600);
    try {
      await to.chmod((await from.stat()).mode & permissions);
      await writeWhole(to, Buffer.from(header));
      const copiedTo = await copy(from, to, journal, fromBytes, progress);
      await to.sync();
      return await copy(from, to, journal, copiedTo, progress);
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

/** Inputs keep arriving, but at the speed of the same disk, so the copy catches up. */
async function copy(
  from: promises.FileHandle,
  to: promises.FileHandle,
  journal: FileJournal,
  fromBytes: number,
  progress: Progress,
): Promise<number> {
  const block = Buffer.allocUnsafe(blockBytes);
  let copiedTo = fromBytes;
  while (journal.bytes - copiedTo > lastCopyBytes && !progress.isStopped) {
    const length = Math.min(journal.bytes - copiedTo, blockBytes);
    const { bytesRead } = await from.read(block, 0, length, copiedTo);
    if (bytesRead === 0) throw new JournalError('the journal is shorter than what was written');
    await writeWhole(to, block.subarray(0, bytesRead));
    copiedTo += bytesRead;
  }
  return copiedTo;
}
