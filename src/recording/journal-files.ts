/**
 * The files of one run: the journal, and the checkpoint that its header names. Any other file
 * belongs to an unfinished or replaced checkpoint.
 */
import { promises, realpathSync, rmSync, truncateSync } from 'node:fs';

import { basename, dirname, join } from 'node:path';
import type { Checkpoint } from './journal-header.ts';

export interface JournalFiles {
  /** With symbolic links resolved: renaming over a link would replace the link. */
  readonly journal: string;
  /** The journal that will replace this one. */
  readonly next: string;
}

export function journalFiles(path: string): JournalFiles {
  const journal = realpathSync(path);
  return { journal, next: `${journal}.next` };
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

/** Removes the files that a killed process left of other checkpoints. */
export function removeLeftovers(files: JournalFiles, present: Checkpoint | undefined): void {
  const number = present?.number ?? 0;
  const others = [number - 1, number + 1].filter((other) => other > 0);
  discard([files.next, ...others.map((other) => checkpointFile(files, other))]);
}

/** Removes a file; another thread frees its blocks. */
export async function remove(path: string): Promise<void> {
  await promises.rm(path, { force: true }).catch(() => {});
}

/** Removes files and frees their blocks at once, even if they are open. */
export function discard(paths: readonly string[]): void {
  for (const path of paths) {
    try {
      truncateSync(path);
      rmSync(path);
    } catch {
      // The file does not exist or cannot be removed; the next start tries again.
    }
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
