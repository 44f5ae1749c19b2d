/**
 * The files of one run: the journal, its lock, and the checkpoint that its header names. Other
 * files with such names belong to an unfinished or replaced checkpoint. A file that smstwin did not
 * write is refused with an error that names it (`io/own-file.ts`).
 */
import { promises, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import * as ownFile from '#io/own-file.ts';
import { reasonOf, systemCodeOf } from '#io/plain-file.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import { type Checkpoint, readFormats } from './journal-header.ts';

export interface JournalFiles {
  /** The path with symbolic links resolved: renaming over a link would replace the link. */
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

/** The path of the checkpoint with this number, next to its journal. */
export function checkpointFile({ journal }: JournalFiles, number: number): string {
  return `${journal}.checkpoint-${number}`;
}

/** The path of the checkpoint that a header names. The header has its name without a folder. */
export function namedCheckpoint({ journal }: JournalFiles, { file }: Checkpoint): string {
  return join(dirname(journal), file);
}

/**
 * Removes the files of unfinished or replaced checkpoints that a killed process has left. Throws a
 * JournalError if smstwin did not write one of them.
 */
export function removeLeftovers(files: JournalFiles, current: Checkpoint | undefined): void {
  const number = current?.number ?? 0;
  removeOwn(files.next, 'journal');
  // Each checkpoint takes the next number, so only these two can be left.
  for (const other of [number - 1, number + 1])
    if (other > 0) removeOwn(checkpointFile(files, other), 'checkpoint');
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

/** The first characters of each kind of file; more than one where earlier formats are still read. */
const openings = {
  journal: readFormats.map((format) => `{"journal":${format},"smstwin":"`),
  checkpoint: ['smstwin checkpoint\n'],
  lock: ['{"pid":'],
} as const;
export type RunFileKind = keyof typeof openings;

export const checkpointOpening = openings.checkpoint[0];

/** Undefined if the file does not exist. Throws a JournalError if smstwin did not write it. */
export function openOwn(path: string, kind: RunFileKind, flags?: number): number | undefined {
  return orRefusal(path, () => ownFile.openOwn(path, kindOf(kind), flags));
}

/** Throws a JournalError if the file exists and is not of this kind. */
export function checkOwn(path: string, kind: RunFileKind): void {
  orRefusal(path, () => ownFile.checkOwn(path, kindOf(kind)));
}

/** Removes a file of smstwin. Empties it first, which frees its blocks even while it is open. */
export function removeOwn(path: string, kind: RunFileKind): void {
  orRefusal(path, () => ownFile.removeOwn(path, kindOf(kind)));
}

/**
 * `start`: the first characters of a file, of which a killed process may have written only some.
 */
export function beginsAs(kind: RunFileKind, start: string): boolean {
  return openings[kind].some((opening) => start.startsWith(opening) || opening.startsWith(start));
}

/** The error for a file that smstwin does not touch. */
export function refusal(path: string, reason: string): JournalError {
  return new JournalError(`${path}: ${reason}; move it away, or name another journal`);
}

function kindOf(kind: RunFileKind): ownFile.OwnKind {
  // A lock is briefly a hard link, which a file that is changed in place must not be.
  return { name: kind, isOwn: (start) => beginsAs(kind, start), isContinued: kind !== 'lock' };
}

function orRefusal<T>(path: string, access: () => T): T {
  try {
    return access();
  } catch (error) {
    throw refusal(path, reasonOf(error));
  }
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
    throw new JournalError(
      `${path}: cannot open the journal (${systemCodeOf(error)}); check its folder`,
    );
  }
}
