/**
 * What `--ready-file` tells whoever started the simulator: URLs, keys, numbers.
 * It appears whole or not at all, so that a script may wait for it to exist.
 */
import { accessSync, constants, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UsageError } from './usage-error.ts';

/** Refuses a place that cannot be written, and takes away what an earlier run left there. */
export function prepareReadyFile(path: string): void {
  try {
    accessSync(dirname(resolve(path)), constants.W_OK);
    rmSync(path, { force: true });
  } catch {
    throw new UsageError(`--ready-file ${path}: it cannot be written there`);
  }
}

export function writeReadyFile(path: string, content: unknown): void {
  const unfinished = `${path}.${process.pid}.tmp`;
  writeFileSync(unfinished, `${JSON.stringify(content, null, 2)}\n`);
  renameSync(unfinished, path);
}
