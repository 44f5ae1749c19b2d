/**
 * Reads the file of `--expected`, JSON or YAML: known failures, each with a reason. Reports every
 * mistake in one line with its path in the file, worded as for a world file. `--write-expected`
 * writes such a file, as JSON.
 */
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../src/commands/command-error.ts';
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
    ...reading.error.issues.flatMap(mistakesOf).map((mistake) => `${file}: ${mistake}`),
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

function mistakesOf(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => line([...issue.path, key], 'this key is not known here'));
  if (issue.code === 'custom') return [line(issue.path, issue.message)];
  const missing = issue.input === undefined ? 'is missing: ' : '';
  return [line(issue.path, `${missing}${expectation(issue)}${got(issue.input)}`)];
}

function line(path: readonly PropertyKey[], sentence: string): string {
  const place = path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? String(step) : `${text}.${String(step)}`;
  }, '');
  return place === '' ? sentence : `${place}: ${sentence}`;
}

const typeNames: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'an object',
  string: 'a string',
};

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message;
  // YAML reads an unquoted number as a number.
  return issue.expected === 'string' && typeof issue.input === 'number'
    ? 'expected a string, in quotes'
    : `expected ${typeNames[issue.expected] ?? issue.expected}`;
}

/** Quotes the wrong value, shortened. */
function got(input: unknown): string {
  if (input === undefined) return '';
  if (Array.isArray(input)) return `; got a list of ${input.length}`;
  if (typeof input === 'object' && input !== null) return '; got an object';
  const text = JSON.stringify(input) ?? String(input);
  return `; got ${text.length > 60 ? `${text.slice(0, 57)}...` : text}`;
}

function isOfBoth(entry: unknown): boolean {
  return typeof entry === 'object' && entry !== null && 'case' in entry && 'rule' in entry;
}
