/**
 * The files that smstwin writes where the user says. It continues, replaces or removes an existing
 * file only if that is empty or smstwin wrote it: a plain file, not a link, whose first characters
 * are those of its kind. Any other file is refused and stays as it is.
 */
import { randomUUID } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { CommandError, UsageError } from './command-error.ts';
import { FileRefused, openPlain } from './plain-file.ts';

export interface OwnKind {
  readonly name: string;
  /** True if a file with this start is of this kind, as this or an earlier version wrote it. */
  readonly isOwn: (start: string) => boolean;
  /** Changed in place, not replaced: a hard link is refused, since its other name would change. */
  readonly isContinued?: boolean;
}

/** The mode of files with keys or texts: only their owner may read them. */
export const ownerOnly = 0o600;
/** Enough to recognise every kind. */
const openingBytes = 8_192;

/** Opens a file; undefined if there is none. Throws a FileRefused if smstwin did not write it. */
export function openOwn(
  path: string,
  kind: OwnKind,
  flags = constants.O_RDONLY,
): number | undefined {
  const file = openIfAny(path, flags);
  if (file === undefined) return undefined;
  try {
    if (kind.isContinued && fstatSync(file).nlink > 1) throw new FileRefused('it is a hard link');
    const start = openingOf(file);
    if (start !== '' && !kind.isOwn(start)) throw new FileRefused(`not a ${kind.name} of smstwin`);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Throws a FileRefused if the file exists and smstwin did not write it. */
export function checkOwn(path: string, kind: OwnKind): void {
  const file = openOwn(path, kind);
  if (file !== undefined) closeSync(file);
}

/** Creates a file that does not exist yet, for appending. */
export function createOwn(path: string): number {
  return openSync(path, 'ax+', ownerOnly);
}

/**
 * Creates a file with its text, for its owner alone. Returns false if the name is taken. Hard-links
 * a temporary file, so readers never see it empty where the file system has hard links.
 */
export function createWhole(path: string, text: string): boolean {
  const temporary = temporaryBeside(path);
  const onlyNew = { flag: 'wx', mode: ownerOnly } as const;
  try {
    writeFileSync(temporary, text, onlyNew);
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
  } finally {
    rmSync(temporary, { force: true });
  }
  // The file system has no hard links.
  try {
    writeFileSync(path, text, onlyNew);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** A file to write, and how. */
export interface OwnFile {
  readonly path: string;
  readonly kind: OwnKind;
  /** Begins the line of an error. */
  readonly what?: string;
  /** By default, a replaced file's mode stays. */
  readonly mode?: number | undefined;
}

/**
 * Writes a whole file, or replaces one of its kind: readers see the old text or the new one. Throws
 * a UsageError for a file that smstwin did not write, and a CommandError (1) if the disk is full.
 */
export function writeOwn({ path, kind, what = path, mode }: OwnFile, text: string): void {
  const temporary = temporaryBeside(path);
  try {
    try {
      const wanted = mode ?? lstatSync(path, { throwIfNoEntry: false })?.mode;
      writeFileSync(temporary, text, { flag: 'wx', mode: wanted });
      if (wanted !== undefined) chmodSync(temporary, wanted & 0o777);
      // Checked last, because another file may have taken the name during the run.
      checkOwn(path, kind);
      renameSync(temporary, path);
    } finally {
      rmSync(temporary, { force: true });
    }
  } catch (error) {
    if (error instanceof FileRefused) throw new UsageError(`${what}: ${refused(error)}`);
    throw new CommandError(1, `${what}: cannot be written (${codeOf(error)}); name another file`);
  }
}

/** Why a file cannot be written, for the end of a one-line message; undefined if it can be. */
export function obstacleTo(path: string, kind: OwnKind): string | undefined {
  try {
    checkOwn(path, kind);
    accessSync(dirname(path), constants.W_OK);
    return undefined;
  } catch (error) {
    if (error instanceof FileRefused) return refused(error);
    return 'cannot be written; check that its folder exists and is writable';
  }
}

/** Removes a file of its kind. Truncates one that a process may have open, to free the disk. */
export function removeOwn(path: string, kind: OwnKind): void {
  const file = openOwn(path, kind, kind.isContinued ? constants.O_RDWR : constants.O_RDONLY);
  if (file === undefined) return;
  try {
    if (kind.isContinued) ftruncateSync(file);
    // Another file may have taken the name since it was opened.
    const now = lstatSync(path, { throwIfNoEntry: false });
    if (now?.ino === fstatSync(file).ino) rmSync(path, { force: true });
  } finally {
    closeSync(file);
  }
}

/** The start of a file, without a byte order mark. Each byte is one character, even of binaries. */
export function openingOf(file: number): string {
  const block = Buffer.alloc(openingBytes);
  const text = block.toString('latin1', 0, readSync(file, block, 0, openingBytes, 0));
  return text.replace(/^\u00EF\u00BB\u00BF/, '');
}

function openIfAny(path: string, flags: number): number | undefined {
  try {
    return openPlain(path, { flags, isLinkRefused: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** A random name, so that no other program can create a link at this path first. */
function temporaryBeside(path: string): string {
  return join(dirname(path), `.smstwin-${randomUUID()}.tmp`);
}

function refused({ message }: FileRefused): string {
  return `cannot be written: ${message}; move it away, or name another file`;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
