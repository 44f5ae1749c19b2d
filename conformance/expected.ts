/**
 * Known deviations of a target: a file of entries, each with a reason.
 * An expected failure does not fail the run; one that has healed, or that names nothing, does (exit 5).
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { type AnyCase, idOf, subjectOf } from './case.ts';
import { isFailure, type Result } from './suite.ts';

const entrySchema = z
  .strictObject({
    /** A case's id, or a rule's for all of its cases. */
    case: z.string().min(1).optional(),
    rule: z.string().min(1).optional(),
    reason: z.string().trim().min(1),
  })
  .refine((entry) => (entry.case === undefined) !== (entry.rule === undefined), {
    message: 'needs either `case` or `rule`',
  });

const fileSchema = z.strictObject({ expected: z.array(entrySchema) });

export type Expectation = z.infer<typeof entrySchema>;

/** Reads a JSON or YAML file; throws with one line that names what is wrong. */
export function readExpectations(file: string): Expectation[] {
  const parsed = fileSchema.safeParse(parse(readFileSync(file, 'utf8')));
  if (parsed.success) return parsed.data.expected;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'not valid'}`);
}

export interface Weighed {
  /** By case id: the reason why its failure was expected. */
  readonly expected: ReadonlyMap<string, string>;
  /** Entries that no longer hold, each in one line. */
  readonly stale: readonly string[];
}

export function weigh(
  entries: readonly Expectation[],
  results: readonly Result[],
  known: readonly AnyCase[],
): Weighed {
  const expected = new Map<string, string>();
  const stale: string[] = [];
  for (const entry of entries) {
    const name = entry.case ?? entry.rule ?? '';
    const meant = (id: string, subject: string) =>
      entry.case === undefined ? subject === entry.rule : id === entry.case;
    if (!known.some((one) => meant(idOf(one), subjectOf(one)))) {
      stale.push(
        `${name}: no such ${entry.case === undefined ? 'rule' : 'case'} (${entry.reason})`,
      );
      continue;
    }
    const its = results.filter((result) => meant(result.id, result.subject));
    const failing = its.filter((result) => isFailure(result.verdict));
    for (const result of failing) expected.set(result.id, entry.reason);
    if (failing.length === 0 && its.some((result) => result.verdict === 'passed'))
      stale.push(`${name}: expected to fail, but passed (${entry.reason})`);
  }
  return { expected, stale };
}
