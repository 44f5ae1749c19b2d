/**
 * What `--ready-file` tells whoever started the simulator: URLs, keys, numbers.
 * It appears whole or not at all, so that a script may wait for it to exist.
 */
import { accessSync, constants, lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UsageError } from './usage-error.ts';

/** Refuses a place that cannot be written, and takes away what an earlier run left there. */
export function prepareReadyFile(path: string): void {
  try {
    // A device, a pipe or a link is not what an earlier run left, and a plain file in its place would end it.
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === false) {
      throw new UsageError(`--ready-file ${path}: what is there is not a plain file`);
    }
    accessSync(dirname(resolve(path)), constants.W_OK);
    rmSync(path, { force: true });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--ready-file ${path}: it cannot be written there`);
  }
}

/** Throws a UsageError, and leaves nothing behind, where the file cannot be written after all. */
export function writeReadyFile(path: string, content: unknown): void {
  const unfinished = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(unfinished, `${JSON.stringify(content, null, 2)}\n`);
    renameSync(unfinished, path);
  } catch (error) {
    removeIfAny(unfinished);
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new UsageError(`--ready-file ${path}: it cannot be written (${code})`);
  }
}

function removeIfAny(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // A name that cannot be looked up is no file either.
  }
}
