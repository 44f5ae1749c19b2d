/**
 * Compares a target's known deviations, each with a reason, with the results of a run.
 * An expected failure does not fail the run. An expectation that now passes or names nothing does
 * (exit 5).
 */
import type { Expectation } from './expected-file.ts';
import { isFailure, type Result } from './result.ts';

export interface Weighed {
  /** By case id: the reason why the failure was expected. */
  readonly expected: ReadonlyMap<string, string>;
  /** Entries that no longer apply, one line each. */
  readonly stale: readonly string[];
}

/**
 * The failures of a run as expectations. Entries keep their reasons, and stay if nothing that they
 * name was judged.
 */
export function expectationsOf(
  given: readonly Expectation[],
  results: readonly Result[],
  { expected }: Weighed,
  reasonOf: (result: Result) => string,
): Expectation[] {
  const isJudged = (result: Result) => isFailure(result.verdict) || result.verdict === 'passed';
  const idle = given.filter(
    (entry) => !results.some((one) => isMeant(entry, one.id, one.subject) && isJudged(one)),
  );
  const failing = results.filter(({ verdict }) => isFailure(verdict));
  const found = failing.map((one) => ({
    case: one.id,
    reason: expected.get(one.id) ?? reasonOf(one),
  }));
  return [...idle, ...found];
}

function isMeant(entry: Expectation, id: string, subject: string): boolean {
  return entry.case === undefined ? subject === entry.rule : id === entry.case;
}

export function weigh(
  entries: readonly Expectation[],
  results: readonly Result[],
  known: readonly { readonly id: string; readonly subject: string }[],
): Weighed {
  const expected = new Map<string, string>();
  const stale: string[] = [];
  for (const entry of entries) {
    const name = entry.case ?? entry.rule ?? '';
    if (!known.some((one) => isMeant(entry, one.id, one.subject))) {
      stale.push(
        `${name}: no such ${entry.case === undefined ? 'rule' : 'case'} (${entry.reason})`,
      );
      continue;
    }
    const its = results.filter((result) => isMeant(entry, result.id, result.subject));
    const failing = its.filter((result) => isFailure(result.verdict));
    for (const result of failing) expected.set(result.id, entry.reason);
    if (failing.length === 0 && its.some((result) => result.verdict === 'passed'))
      stale.push(`${name}: expected to fail, but passed (${entry.reason})`);
  }
  return { expected, stale };
}
