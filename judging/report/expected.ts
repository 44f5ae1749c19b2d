/**
 * Known failures, each with a reason: reads the file of `--expected`, JSON or YAML, compares it
 * with the results of a run, and writes it as JSON (`--write-expected`). Every mistake of the file
 * is one line with its path, worded as for a world file. An expected failure does not fail the run.
 * An expectation that now passes or names nothing does (exit 5).
 */
import { basename } from 'node:path';
import { z } from 'zod';
import { UsageError } from '#io/command-error.ts';
import { mistakeLine, mistakesOf } from '#io/mistakes.ts';
import { type OwnKind, writeOwn } from '#io/own-file.ts';
import { readGiven } from '#io/plain-file.ts';
import { mostYamlBytes, parseYaml } from '#io/yaml-text.ts';
import { isFailure, type Result } from './result.ts';

/** Uses a pattern, because zod would apply a minimum length to a list as well. */
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

/** Throws a UsageError with one line for each mistake of the file. */
export function readExpectations(path: string): readonly Expectation[] {
  const file = basename(path);
  const reading = fileSchema.safeParse(
    parseYaml(file, readGiven(path, '--expected', mostYamlBytes)),
    { reportInput: true },
  );
  if (reading.success) return reading.data.expected;
  throw new UsageError(
    ...mistakesOf(reading.error).map((mistake) => `${file}: ${mistakeLine(mistake)}`),
  );
}

/** A file of expectations in JSON, as `--write-expected` writes it. */
export const expectedFile: OwnKind = {
  name: 'list of known failures',
  isOwn: (start) => /^\{\s*"expected":\s*\[/.test(start),
};

export function writeExpectations(path: string, expected: readonly Expectation[]): void {
  const text = `${JSON.stringify({ expected }, null, 2)}\n`;
  writeOwn({ what: `--write-expected ${path}`, path, kind: expectedFile }, text);
}

function isOfBoth(entry: unknown): boolean {
  return typeof entry === 'object' && entry !== null && 'case' in entry && 'rule' in entry;
}

/** The results of a run, compared with the expectations. */
export interface Weighed {
  /** By case id: the reason why the failure was expected. */
  readonly expected: ReadonlyMap<string, string>;
  /** Entries that no longer apply, one line each. */
  readonly stale: readonly string[];
}

/**
 * The expectations to write after a run: its failures, known ones with their reasons, and the given
 * entries of which nothing was judged.
 */
export function expectationsOf(
  given: readonly Expectation[],
  results: readonly Result[],
  { expected }: Weighed,
  reasonFor: (result: Result) => string,
): Expectation[] {
  const isJudged = (result: Result) => isFailure(result.verdict) || result.verdict === 'passed';
  const unjudged = given.filter(
    (entry) => !results.some((result) => isNamedBy(entry, result) && isJudged(result)),
  );
  const failing = results.filter(({ verdict }) => isFailure(verdict));
  const found = failing.map((result) => ({
    case: result.id,
    reason: expected.get(result.id) ?? withoutChance(reasonFor(result)),
  }));
  return [...unjudged, ...found];
}

/** Leaves out ids and times of a run: the next run would change the file although nothing changed. */
export function withoutChance(text: string): string {
  return text
    .replace(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>')
    .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?/g, '<time>')
    .replace(/\b(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{10,}\b/gi, '<id>')
    .replace(/\+?\d+\.\d+ s\b/g, '<time>');
}

/** What an expectation may name: the id of a case, or its rule. */
export type Known = Pick<Result, 'id' | 'subject'>;

function isNamedBy(entry: Expectation, { id, subject }: Known): boolean {
  return entry.case === undefined ? subject === entry.rule : id === entry.case;
}

/**
 * Compares results with the expectations. `known`: all cases that exist. An entry that names none
 * of them is stale.
 */
export function weigh(
  entries: readonly Expectation[],
  results: readonly Result[],
  known: readonly Known[],
): Weighed {
  const expected = new Map<string, string>();
  const stale: string[] = [];
  for (const entry of entries) {
    const name = entry.case ?? entry.rule ?? '';
    if (!known.some((each) => isNamedBy(entry, each))) {
      const kind = entry.case === undefined ? 'rule' : 'case';
      stale.push(`${name}: no such ${kind} (${entry.reason})`);
      continue;
    }
    const named = results.filter((result) => isNamedBy(entry, result));
    const failing = named.filter(({ verdict }) => isFailure(verdict));
    for (const { id } of failing) expected.set(id, entry.reason);
    if (failing.length === 0 && named.some(({ verdict }) => verdict === 'passed'))
      stale.push(`${name}: expected to fail, but passed (${entry.reason})`);
  }
  return { expected, stale };
}
