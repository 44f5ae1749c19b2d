/**
 * Opens plain files only, and reads them whole up to a bound. Pipes and devices are refused at
 * once: a pipe blocks the process until another process writes to it, and a device may never end.
 * A file that a flag names is refused by one line that names both. Texts of JSON are read here,
 * too; those of YAML take a library (`yaml-text.ts`).
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, statSync } from 'node:fs';
import { firstLine, UsageError } from './command-error.ts';

/** The defaults are for Windows, which lacks two of these flags. */
const { O_NONBLOCK = 0, O_NOFOLLOW = 0, O_RDONLY } = constants;

/** A file that is not read. The message says why, and what to do. */
export class FileRefused extends Error {
  override readonly name = 'FileRefused';
}

export interface OpenOptions {
  /** Flags of `open`, such as O_RDWR. Default: for reading. */
  readonly flags?: number;
  readonly isLinkRefused?: boolean;
}

/** Opens a file and returns its descriptor. Throws a FileRefused for anything but a plain file. */
export function openPlain(path: string, options: OpenOptions = {}): number {
  const { flags = O_RDONLY, isLinkRefused = false } = options;
  // Checked before it is opened, because opening a device may already act on it.
  refuseUnlessPlain(isLinkRefused ? lstatSync(path) : statSync(path));
  const file = openSync(path, flags | O_NONBLOCK | (isLinkRefused ? O_NOFOLLOW : 0));
  try {
    // Checked again, because another file may have taken its place.
    refuseUnlessPlain(fstatSync(file));
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/**
 * Reads a file as text without a byte order mark. Throws a FileRefused above the bound, and for
 * text with a zero byte.
 */
export function readText(path: string, mostBytes: number): string {
  const file = openPlain(path);
  try {
    const text = readOpened(file, mostBytes);
    if (!text.includes('\0')) return text;
    throw new FileRefused('it is binary data or UTF-16; name a text in UTF-8');
  } finally {
    closeSync(file);
  }
}

/** The largest file that is read whole, unless a caller says otherwise. */
export const mostFileBytes = 32 * 1_048_576;

/** Reads a file that a flag names. Throws a UsageError that names the flag and the file. */
export function readGiven(path: string, flag: string, mostBytes = mostFileBytes): string {
  try {
    return readText(path, mostBytes);
  } catch (error) {
    throw new UsageError(`${flag} ${path}: ${reasonOf(error)}`);
  }
}

/** Reads a file that is open already, as `readText` reads one by its path. */
export function readOpened(file: number, mostBytes: number): string {
  const { size } = fstatSync(file);
  if (size > mostBytes) {
    const bound = mostBytes < 2 ** 20 ? `${mostBytes} bytes` : `${mostBytes / 2 ** 20} MiB`;
    throw new FileRefused(`it has ${size} bytes, and at most ${bound} are read`);
  }
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const read = readSync(file, bytes, length, size - length, length);
    // Another process has shortened the file.
    if (read === 0) break;
    length += read;
  }
  return bytes.toString('utf8', 0, length).replace(/^\uFEFF/, '');
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file; check the path',
  EACCES: 'permission denied; check who may read it',
  EISDIR: 'it is a folder; name a file',
};

/** Why a file could not be read, for the end of a one-line message. */
export function reasonOf(error: unknown): string {
  const { code = '', message = String(error) } = error as NodeJS.ErrnoException;
  return reasons[code] ?? (message.split('\n', 1)[0] || code);
}

/** The system's code of a failed call, such as `ENOSPC`; the error as text if it has none. */
export function systemCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

type FileStats = ReturnType<typeof statSync> & object;

function refuseUnlessPlain(stats: FileStats): void {
  if (stats.isFile()) return;
  throw new FileRefused(`it is ${kindOf(stats)}, not a plain file`);
}

function kindOf(stats: FileStats): string {
  if (stats.isDirectory()) return 'a folder';
  return stats.isSymbolicLink() ? 'a symbolic link' : 'a pipe or a device';
}

/** The value of a JSON text; `other` for any other text. */
export function jsonIn(
  text: string,
  other?: unknown,
  reviver?: Parameters<typeof JSON.parse>[1],
): unknown {
  // An error costs as much as ten values, and an object that was cut off lacks its end.
  if (text === '' || (text.startsWith('{') && !text.trimEnd().endsWith('}'))) return other;
  try {
    return JSON.parse(text, reviver);
  } catch {
    return other;
  }
}

/** Throws a UsageError that names the file and quotes no part of the text. */
export function parseJson(file: string, text: string): unknown {
  if (text.trim() === '') throw new UsageError(`${file}: it is empty`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file}: ${firstLine(withoutText(String((error as Error).message)))}`);
  }
}

/** Removes the excerpt that Node quotes from unparsable text: it may hold a key. */
function withoutText(message: string): string {
  return message.replace(/, (?:\.{3})?".*is not valid JSON$/s, ' is not valid JSON');
}
