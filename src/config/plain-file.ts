/**
 * Opens plain files only, and reads them whole up to a bound. A pipe would block the process until
 * somebody writes to it, and a device may never end, so both are refused at once.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, statSync } from 'node:fs';

/** Windows has neither of these flags. */
const { O_NONBLOCK: withoutWaiting = 0, O_NOFOLLOW: withoutLinks = 0, O_RDONLY } = constants;

/** A file that is not read. The message says why, and what to do. */
export class FileRefused extends Error {
  override readonly name = 'FileRefused';
}

export interface OpenOptions {
  readonly flags?: number;
  /** Refuses a symbolic link. */
  readonly isLinkRefused?: boolean;
}

/** A file descriptor. Throws a FileRefused for anything but a plain file. */
export function openPlain(path: string, options: OpenOptions = {}): number {
  const { flags = O_RDONLY, isLinkRefused = false } = options;
  // Looked at first, because opening a device may already act on it.
  refuseOther(isLinkRefused ? lstatSync(path) : statSync(path));
  const file = openSync(path, flags | withoutWaiting | (isLinkRefused ? withoutLinks : 0));
  try {
    refuseOther(fstatSync(file));
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** The text of a file without a byte order mark. Throws a FileRefused above the bound. */
export function readText(path: string, mostBytes: number): string {
  const file = openPlain(path);
  try {
    return readOpened(file, mostBytes);
  } finally {
    closeSync(file);
  }
}

/** `readText` for a file that is open already. */
export function readOpened(file: number, mostBytes: number): string {
  const { size } = fstatSync(file);
  if (size > mostBytes) {
    const most = mostBytes < 2 ** 20 ? `${mostBytes} bytes` : `${mostBytes / 2 ** 20} MiB`;
    throw new FileRefused(`it has ${size} bytes, and at most ${most} are read`);
  }
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  for (let read = -1; read !== 0 && length < size; length += read) {
    read = readSync(file, bytes, length, size - length, length);
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

type Found = ReturnType<typeof statSync> & object;

function refuseOther(found: Found): void {
  if (found.isFile()) return;
  throw new FileRefused(`it is ${kindOf(found)}, not a plain file`);
}

function kindOf(found: Found): string {
  if (found.isDirectory()) return 'a folder';
  return found.isSymbolicLink() ? 'a symbolic link' : 'a pipe or a device';
}
