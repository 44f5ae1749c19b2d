/**
 * Reads the file of `--expected`, JSON or YAML: known failures, each with a reason. Reports every
 * mistake in one line with its path in the file, worded as for a world file. `--write-expected`
 * writes such a file, as JSON.
 */
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../src/commands/command-error.ts';
import { mistakeLine, mistakesOf } from '../src/config/mistakes.ts';
import { readText, reasonOf } from '../src/config/plain-file.ts';
import { mostYamlBytes, parseYaml } from '../src/config/yaml-text.ts';

/** A pattern and not a minimum length, which zod would also apply to a list here. */
const someText = z.string().trim().regex(/./, 'expected at least one character');

const entrySchema = z
  .strictObject({
    /** The id of a case, or of a rule for all its cases. */
    case: someText.optional(),
    rule: someText.optional(),
    reason: someText,
  })
  .refine((entry) => (entry.case === undefined) !== (entry.rule === undefined), {
    error: ({ input }) =>
      `expected either "case" or "rule"; got ${isOfBoth(input) ? 'both' : 'neither'}`,
  });

const fileSchema = z.strictObject({ expected: z.array(entrySchema) });

export type Expectation = z.infer<typeof entrySchema>;

export function readExpectations(path: string): readonly Expectation[] {
  const file = basename(path);
  const reading = fileSchema.safeParse(parseYaml(file, textOf(path)), { reportInput: true });
  if (reading.success) return reading.data.expected;
  throw new UsageError(
    ...mistakesOf(reading.error).map((mistake) => `${file}: ${mistakeLine(mistake)}`),
  );
}

export function writeExpectations(path: string, expected: readonly Expectation[]): void {
  writeFileSync(path, `${JSON.stringify({ expected }, null, 2)}\n`);
}

function textOf(path: string): string {
  try {
    return readText(path, mostYamlBytes);
  } catch (error) {
    throw new UsageError(`--expected ${path}: ${reasonOf(error)}`);
  }
}

function isOfBoth(entry: unknown): boolean {
  return typeof entry === 'object' && entry !== null && 'case' in entry && 'rule' in entry;
}
