/**
 * The files of one run: the journal, its lock, and the checkpoint that its header names. Other
 * files with such names belong to an unfinished or replaced checkpoint. smstwin opens, empties or
 * removes an existing file only if smstwin wrote it: a plain file, not a link, whose first
 * characters are those of its kind. It refuses any other file with an error that names it.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  promises,
  readSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { openPlain, reasonOf } from '#io/plain-file.ts';
import { codeOf, JournalError } from '#judging/evidence/journal-error.ts';
import { type Checkpoint, readFormats } from './journal-header.ts';

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

/** The path of a checkpoint that is written next to a journal. */
export function checkpointFile({ journal }: JournalFiles, number: number): string {
  return `${journal}.checkpoint-${number}`;
}

/** The path of the checkpoint that a header names, which holds no folder. */
export function namedCheckpoint({ journal }: JournalFiles, { file }: Checkpoint): string {
  return join(dirname(journal), file);
}

/** The name of a file as a header holds it. */
export function nameOf(path: string): string {
  return basename(path);
}

/**
 * Removes the files of unfinished or replaced checkpoints that a killed process has left. Throws a
 * JournalError if smstwin did not write one of them.
 */
export function removeLeftovers(files: JournalFiles, current: Checkpoint | undefined): void {
  const number = current?.number ?? 0;
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

/** The first characters of each kind of file; more than one if formats differ. */
const openings = {
  journal: readFormats.map((format) => `{"journal":${format},"smstwin":"`),
  checkpoint: ['smstwin checkpoint\n'],
  lock: ['{"pid":'],
} as const;
export type Kind = keyof typeof openings;

export const checkpointOpening = openings.checkpoint[0];
/** Enough for the longest opening after a byte order mark, which some editors add. */
const openingBytes = 64;
/** The mode of every file: only its owner may read the texts and keys in it. */
const ownerOnly = 0o600;

/** Undefined if the file does not exist. Throws a JournalError if smstwin did not write it. */
export function openOwn(path: string, kind: Kind, flags = constants.O_RDONLY): number | undefined {
  const file = open(path, flags);
  if (file === undefined) return undefined;
  try {
    // A lock is linked under a second name while it is written, and its content is never emptied.
    if (kind !== 'lock' && fstatSync(file).nlink > 1) throw refusal(path, 'it is a hard link');
    if (!beginsAs(kind, openingOf(file))) throw refusal(path, `not a ${kind} of smstwin`);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Throws a JournalError if the file exists and is not of this kind. */
export function checkOwn(path: string, kind: Kind): void {
  const file = openOwn(path, kind);
  if (file !== undefined) closeSync(file);
}

/** Creates a file that does not exist yet, for appending. */
export function createOwn(path: string): number {
  return openSync(path, 'ax+', ownerOnly);
}

/** Removes a file of smstwin. Empties it first, which frees its blocks even while it is open. */
export function removeOwn(path: string, kind: Kind): void {
  const file = openOwn(path, kind, constants.O_RDWR);
  if (file === undefined) return;
  try {
    if (kind !== 'lock') ftruncateSync(file);
    // Another file may have taken the name since it was opened.
    const now = lstatSync(path, { throwIfNoEntry: false });
    if (now?.ino === fstatSync(file).ino) rmSync(path, { force: true });
  } finally {
    closeSync(file);
  }
}

/** `start`: the first characters of a file; a killed process may have written only some of them. */
export function beginsAs(kind: Kind, start: string): boolean {
  return openings[kind].some((opening) => start.startsWith(opening) || opening.startsWith(start));
}

/** Without a byte order mark. Each byte is one character: binary data is not mistaken for text. */
export function openingOf(file: number): string {
  const block = Buffer.alloc(openingBytes);
  const text = block.toString('latin1', 0, readSync(file, block, 0, openingBytes, 0));
  return text.replace(/^\u00EF\u00BB\u00BF/, '');
}

function open(path: string, flags: number): number | undefined {
  try {
    return openPlain(path, { flags, isLinkRefused: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw refusal(path, reasonOf(error));
  }
}

/** The error for a file that smstwin does not touch. */
export function refusal(path: string, reason: string): JournalError {
  return new JournalError(`${path}: ${reason}; move it away, or name another journal`);
}
