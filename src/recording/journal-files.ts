/**
 * The files of one run. The journal and the checkpoint that its header names are the run; any other
 * is of a checkpoint that was not finished, or of one that has been replaced.
 */
import { promises, realpathSync, rmSync, truncateSync } from 'node:fs';

import { basename, dirname, join } from 'node:path';
import type { Checkpoint } from './journal-header.ts';

export interface JournalFiles {
  /** Without symbolic links: renaming over one would replace the link. */
  readonly journal: string;
  /** The journal that takes its place. */
  readonly next: string;
}

export function journalFiles(path: string): JournalFiles {
  const journal = realpathSync(path);
  return { journal, next: `${journal}.next` };
}

export function checkpointFile({ journal }: JournalFiles, number: number): string {
  return `${journal}.checkpoint-${number}`;
}

/** The checkpoint that a header names, which knows the name it had and not the folder. */
export function namedCheckpoint({ journal }: JournalFiles, { file }: Checkpoint): string {
  return join(dirname(journal), file);
}

export function nameOf(path: string): string {
  return basename(path);
}

/** Removes what a killed process left of the checkpoints before and after the present one. */
export function removeLeftovers(files: JournalFiles, present: Checkpoint | undefined): void {
  const number = present?.number ?? 0;
  const others = [number - 1, number + 1].filter((other) => other > 0);
  discard([files.next, ...others.map((other) => checkpointFile(files, other))]);
}

/** Frees its blocks on another thread. */
export async function remove(path: string): Promise<void> {
  await promises.rm(path, { force: true }).catch(() => {});
}

/** Frees their blocks at once, even of files that are still open. */
export function discard(paths: readonly string[]): void {
  for (const path of paths) {
    try {
      truncateSync(path);
      rmSync(path);
    } catch {
      // It does not exist, or it cannot be removed; the next start tries again.
    }
  }
}

/** Makes the names of a folder survive a failure of the machine. */
export async function syncFolder({ journal }: JournalFiles): Promise<void> {
  try {
    const folder = await promises.open(dirname(journal), 'r');
    await folder.sync().finally(() => folder.close());
  } catch {
    // Windows opens no folders.
  }
}
