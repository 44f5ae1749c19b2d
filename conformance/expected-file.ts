/**
 * Reads the file of `--expected`, JSON or YAML: known failures, each with a reason. Reports every
 * mistake in one line with its path in the file, worded as for a world file.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { UsageError } from './usage-error.ts';

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
  const reading = fileSchema.safeParse(parsed(file, textOf(path)), { reportInput: true });
  if (reading.success) return reading.data.expected;
  throw new UsageError(
    ...reading.error.issues.flatMap(mistakesOf).map((mistake) => `${file}: ${mistake}`),
  );
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be read',
  EISDIR: 'it is a folder',
};

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new UsageError(`--expected ${path}: ${reasons[code] ?? firstLine(message)}`);
  }
}

function parsed(file: string, text: string): unknown {
  const document = parseDocument(text);
  if (document.errors.length > 0)
    throw new UsageError(...document.errors.map((error) => `${file}: ${firstLine(error.message)}`));
  try {
    return document.toJS();
  } catch (error) {
    // Endlessly expanding aliases are only detected here.
    throw new UsageError(`${file}: ${firstLine((error as Error).message)}`);
  }
}

/** The parser's further lines quote the file. */
function firstLine(text: string): string {
  return (text.split('\n', 1)[0] ?? '').replace(/:$/, '');
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
