/**
 * Reads a world, or answers to assumptions, from a JSON or YAML file.
 * Reports all mistakes at once, each with its path in the file.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { z } from 'zod';
import type { Assumptions } from '../sim/assumptions.ts';
import { firstLine, UsageError } from './command-error.ts';
import { mistakeLine, mistakesOf } from './mistakes.ts';
import { assumptionsSchema, type WorldFixture, worldSchema } from './world-schema.ts';

/** `flag` is the flag that named the file, for error messages. */
export async function readWorldFile(path: string, flag = '--world'): Promise<WorldFixture> {
  return readChecked(path, flag, worldSchema, []);
}

/** Reads an object of names to answers, the format that `conform --discover` writes. */
export async function readAssumptionsFile(
  path: string,
  flag = '--assumptions',
): Promise<Partial<Assumptions>> {
  return readChecked(path, flag, assumptionsSchema, ['assumptions']);
}

async function readChecked<Schema extends z.ZodType>(
  path: string,
  flag: string,
  schema: Schema,
  at: readonly string[],
): Promise<z.output<Schema>> {
  const file = basename(path);
  const value = path.endsWith('.json')
    ? parseJson(file, readText(path, flag))
    : (await import('./yaml-text.ts')).parseYaml(file, readText(path, flag));
  const reading = schema.safeParse(value, { reportInput: true });
  if (reading.success) return reading.data;
  const mistakes = mistakesOf(reading.error, at);
  const own = at.length === 0 ? '' : `${at.join('.')}.`;
  throw new UsageError(
    ...mistakes.map((mistake) => {
      const place = mistake.path.startsWith(own) ? mistake.path.slice(own.length) : '';
      return `${file}: ${mistakeLine({ ...mistake, path: place })}`;
    }),
  );
}

/** Throws a UsageError that names the flag and the file. */
export function readText(path: string, flag: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new UsageError(`${flag} ${path}: ${reasonOf(error)}`);
  }
}

/** Throws a UsageError that names the file and quotes none of the text. */
export function parseJson(file: string, text: string): unknown {
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

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file; check the path',
  EACCES: 'permission denied; check who may read it',
  EISDIR: 'it is a folder; name a file',
};

function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return reasons[code] ?? firstLine(message);
}
