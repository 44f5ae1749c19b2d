/**
 * For tests of checkpoints: the files of a journal, and a wait for the one that comes next.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { JournalHeader } from '../../src/recording/journal-header.ts';
import { readJournal } from '../../src/recording/journal-lines.ts';

export function headerOfFile(journal: string): JournalHeader {
  return JSON.parse(readJournal(journal)?.header ?? '') as JournalHeader;
}

/** The number of the checkpoint that the journal goes on from; 0 without one. */
export function checkpointNumber(journal: string): number {
  return headerOfFile(journal).checkpoint?.number ?? 0;
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits until the journal goes on from this checkpoint, and no other file of it is left. */
export async function checkpointTaken(journal: string, number: number): Promise<void> {
  const files = [basename(journal), `${basename(journal)}.checkpoint-${number}`];
  while (checkpointNumber(journal) < number) await nextTurn();
  while (filesOf(journal).some((name) => !files.includes(name) && !name.endsWith('.lock'))) {
    await nextTurn();
  }
}

/** The names of all files of a journal, sorted. */
export function filesOf(journal: string): string[] {
  const name = basename(journal);
  return readdirSync(dirname(journal))
    .filter((file) => file.startsWith(name))
    .sort();
}

function copyIfThere(file: string, to: string): void {
  try {
    copyFileSync(file, to);
  } catch (error) {
    if (existsSync(file)) throw error;
  }
}

/** Copies the files of a journal, as a process that ends now would leave them. */
export function copyFiles(journal: string, folder: string): string {
  mkdirSync(folder);
  for (const name of filesOf(journal)) {
    const file = join(dirname(journal), name);
    // A checkpoint that was replaced is removed on another thread.
    if (!name.endsWith('.lock')) copyIfThere(file, join(folder, name));
  }
  return join(folder, basename(journal));
}
