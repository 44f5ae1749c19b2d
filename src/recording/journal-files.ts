/**
 * The files of one run: the journal, its lock, and the checkpoint that its header names. Any other
 * file of these names belongs to an unfinished or replaced checkpoint.
 */
import { promises, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { codeOf, JournalError } from './journal-error.ts';
import type { Checkpoint } from './journal-header.ts';
import { removeOwn } from './own-files.ts';

export interface JournalFiles {
  /** With symbolic links resolved: renaming over a link would replace the link. */
  readonly journal: string;
  /** The journal that will replace this one. */
  readonly next: string;
  readonly lock: string;
}

/** Throws a JournalError if the journal's folder does not exist. */
export function journalFiles(path: string): JournalFiles {
  const journal = realPathOf(path);
  return { journal, next: `${journal}.next`, lock: `${journal}.lock` };
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // The journal does not exist yet.
  }
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch (error) {
    throw new JournalError(`${path}: cannot open the journal (${codeOf(error)})`);
  }
}

export function checkpointFile({ journal }: JournalFiles, number: number): string {
  return `${journal}.checkpoint-${number}`;
}

/** The checkpoint that a header names. The header holds its name without the folder. */
export function namedCheckpoint({ journal }: JournalFiles, { file }: Checkpoint): string {
  return join(dirname(journal), file);
}

export function nameOf(path: string): string {
  return basename(path);
}

/**
 * Removes the files that a killed process left of other checkpoints. Throws a JournalError if one of
 * them is not ours.
 */
export function removeLeftovers(files: JournalFiles, present: Checkpoint | undefined): void {
  const number = present?.number ?? 0;
  removeOwn(files.next, 'journal');
  for (const other of [number - 1, number + 1]) {
    if (other > 0) removeOwn(checkpointFile(files, other), 'checkpoint');
  }
}

/** Syncs a folder, so that its file names survive a power failure. */
export async function syncFolder({ journal }: JournalFiles): Promise<void> {
  try {
    const folder = await promises.open(dirname(journal), 'r');
    await folder.sync().finally(() => folder.close());
  } catch {
    // Windows cannot open folders.
  }
}
