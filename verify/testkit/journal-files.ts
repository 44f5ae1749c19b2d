/** For tests of checkpoints: reads and copies the files of a journal, and waits for a checkpoint. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { JournalHeader } from '#src/recording/journal/journal-header.ts';

/** The first line of a journal. Reads no more, because tests call it in each turn of the loop. */
export function headerOfFile(journal: string): JournalHeader {
  const opening = Buffer.alloc(65_536);
  const file = openSync(journal, 'r');
  readSync(file, opening);
  closeSync(file);
  return JSON.parse(opening.toString('utf8', 0, opening.indexOf('\n'))) as JournalHeader;
}

/** The number of the journal's checkpoint; 0 without one. */
export function checkpointNumber(journal: string): number {
  return headerOfFile(journal).checkpoint?.number ?? 0;
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits until the journal continues from this checkpoint and no other checkpoint file is left. */
export async function checkpointTaken(journal: string, number: number): Promise<void> {
  const files = [basename(journal), `${basename(journal)}.checkpoint-${number}`];
  // Not every turn: the threads that write it need the processor.
  while (checkpointNumber(journal) < number) await pause(1);
  while (filesOf(journal).some((name) => !files.includes(name) && !name.endsWith('.lock')))
    await pause(1);
}

/** The names of all files of a journal, sorted. */
export function filesOf(journal: string): string[] {
  const name = basename(journal);
  return readdirSync(dirname(journal))
    .filter((file) => file.startsWith(name))
    .sort();
}

/** Copies the files of a journal in the state that a killed process would leave. */
export function copyFiles(journal: string, folder: string): string {
  mkdirSync(folder);
  for (const name of filesOf(journal)) {
    if (name.endsWith('.lock')) continue;
    const file = join(dirname(journal), name);
    try {
      copyFileSync(file, join(folder, name));
    } catch (error) {
      // Another thread may have removed a replaced checkpoint.
      if (existsSync(file)) throw error;
    }
  }
  return join(folder, basename(journal));
}
