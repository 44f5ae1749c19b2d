/**
 * The files in which a fleet keeps what it must know at its next start. A finished file is renamed
 * over the old one, so a fleet that is killed leaves a whole one, which its user alone may read.
 */
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { z } from 'zod';
import { CommandError, UsageError } from '#io/command-error.ts';
import { reasonOf } from '#io/plain-file.ts';
import { parseJson, readText } from '#io/read-text.ts';

/** Undefined if there is no such file. Throws a UsageError if it is torn or foreign. */
export function readState<T>(file: string, schema: z.ZodType<T>): T | undefined {
  if (!existsSync(file)) return undefined;
  const { data } = schema.safeParse(parseJson(file, readText(file, '--journal-dir')));
  if (data !== undefined) return data;
  throw new UsageError(`${file}: not a file of this fleet; restore it, or name a new folder`);
}

/** Throws a CommandError if the file cannot be written. */
export function writeState(file: string, state: unknown): void {
  const unfinished = `${file}.tmp`;
  try {
    rmSync(unfinished, { force: true });
    writeFileSync(unfinished, JSON.stringify(state), { mode: 0o600, flag: 'wx' });
    renameSync(unfinished, file);
  } catch (error) {
    throw new CommandError(1, `${file}: cannot be written (${reasonOf(error)})`);
  }
}
