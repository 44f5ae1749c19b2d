/**
 * For tests: a disk that fails. Takes the place of `writeSync` for some files, since a real disk
 * fails neither on demand nor with each error.
 */
import fs, { fstatSync, statSync, type writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach } from 'vitest';

/** Called with the bytes of each write. Returns how many to write (by default all), or throws. */
export type OnWrite = (bytes: Uint8Array) => number | undefined;

const real = fs.writeSync;

afterEach(() => {
  fs.writeSync = real;
  syncBuiltinESMExports();
});

/** Calls a function for each write to an existing file, until the end of the test. */
export function onWrites(files: Readonly<Record<string, OnWrite>>): void {
  const byFile = new Map(
    Object.entries(files).map(([path, onWrite]) => [statSync(path).ino, onWrite]),
  );
  // Journals write in this form alone.
  const write = (file: number, bytes: Uint8Array, offset: number): number => {
    const rest = bytes.subarray(offset);
    const length = byFile.get(fstatSync(file).ino)?.(rest) ?? rest.length;
    return real(file, rest, 0, length);
  };
  fs.writeSync = write as typeof writeSync;
  syncBuiltinESMExports();
}

export function diskError(code: 'EIO' | 'ENOSPC'): Error {
  return Object.assign(new Error(`${code}: planted, write`), { code, syscall: 'write' });
}
