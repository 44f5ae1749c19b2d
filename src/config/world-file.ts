/**
 * Reads a world, answers to assumptions, or a list of faults from a JSON or YAML file. Reports all
 * mistakes at once, each with its path in the file.
 */
import { basename } from 'node:path';
import { z } from 'zod';
import { UsageError } from '#io/command-error.ts';
import { mistakeLine } from '#io/mistakes.ts';
import { parseJson, readGiven } from '#io/plain-file.ts';
import type { Assumptions } from '../sim/assumptions.ts';
import { type FaultOutput, faultInputSchema, mostFaults } from './fault-schema.ts';
import { assumptionsSchema, mistakesInSettings } from './given-assumptions.ts';
import { type WorldFixture, worldSchema } from './world-schema.ts';

export async function readWorldFile(path: string): Promise<WorldFixture> {
  return readChecked(path, '--world', worldSchema, []);
}

/** Reads an object of names to answers, the format that `conform --discover` writes. */
export async function readAssumptionsFile(path: string): Promise<Partial<Assumptions>> {
  return readChecked(path, '--assumptions', assumptionsSchema, ['assumptions']);
}

/** Reads a list of faults, each as the control port takes it. */
export async function readFaultsFile(path: string): Promise<readonly FaultOutput[]> {
  return readChecked(path, '--faults', z.array(faultInputSchema).max(mostFaults), []);
}

/**
 * `flag`: the flag that named the file, for error messages. `at`: the place of the value in a world
 * file, which may have its own words for mistakes.
 */
async function readChecked<Schema extends z.ZodType>(
  path: string,
  flag: string,
  schema: Schema,
  at: readonly string[],
): Promise<z.output<Schema>> {
  const file = basename(path);
  const value = path.endsWith('.json')
    ? parseJson(file, readGiven(path, flag))
    : await readYaml(path, flag);
  const reading = schema.safeParse(value, { reportInput: true });
  if (reading.success) return reading.data;
  const mistakes = mistakesInSettings(reading.error, at);
  throw new UsageError(...mistakes.map((mistake) => `${file}: ${mistakeLine(mistake)}`));
}

async function readYaml(path: string, flag: string): Promise<unknown> {
  // The parser is only loaded for YAML files.
  const { mostYamlBytes, parseYaml } = await import('#io/yaml-text.ts');
  return parseYaml(basename(path), readGiven(path, flag, mostYamlBytes));
}
