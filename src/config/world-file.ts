/**
 * Reads a world, answers to assumptions, or a list of faults from a JSON or YAML file. Reports all
 * mistakes at once, each with its path in the file.
 */
import { basename } from 'node:path';
import { z } from 'zod';
import { firstLine, UsageError } from '#io/command-error.ts';
import { mistakeLine, mistakesOf } from '#io/mistakes.ts';
import { readText as readWhole, reasonOf } from '#io/plain-file.ts';
import type { Assumptions } from '../sim/assumptions.ts';
import { type FaultOutput, faultInputSchema, mostFaults } from './fault-schema.ts';
import { assumptionsSchema, type WorldFixture, worldSchema } from './world-schema.ts';

/** Reads a world. `flag`: the flag that named the file, for error messages. */
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

/** Reads a list of faults, each as the control port takes it. */
export async function readFaultsFile(path: string): Promise<readonly FaultOutput[]> {
  return readChecked(path, '--faults', z.array(faultInputSchema).max(mostFaults), []);
}

/** `at`: the place of the value in a world file, which may have its own words for mistakes. */
async function readChecked<Schema extends z.ZodType>(
  path: string,
  flag: string,
  schema: Schema,
  at: readonly string[],
): Promise<z.output<Schema>> {
  const file = basename(path);
  const value = path.endsWith('.json')
    ? parseJson(file, readText(path, flag))
    : await readYaml(path, flag);
  const reading = schema.safeParse(value, { reportInput: true });
  if (reading.success) return reading.data;
  const mistakes = mistakesOf(reading.error, at);
  throw new UsageError(...mistakes.map((mistake) => `${file}: ${mistakeLine(mistake)}`));
}

async function readYaml(path: string, flag: string): Promise<unknown> {
  // The parser is only loaded for YAML files.
  const { mostYamlBytes, parseYaml } = await import('#io/yaml-text.ts');
  return parseYaml(basename(path), readText(path, flag, mostYamlBytes));
}

/** The largest file that is read whole, unless a caller says otherwise. */
export const mostFileBytes = 32 * 1_048_576;

/** Throws a UsageError that names the flag and the file. */
export function readText(path: string, flag: string, mostBytes = mostFileBytes): string {
  try {
    return readWhole(path, mostBytes);
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
