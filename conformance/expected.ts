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

export function weigh(
  entries: readonly Expectation[],
  results: readonly Result[],
  known: readonly { readonly id: string; readonly subject: string }[],
): Weighed {
  const expected = new Map<string, string>();
  const stale: string[] = [];
  for (const entry of entries) {
    const name = entry.case ?? entry.rule ?? '';
    const meant = (id: string, subject: string) =>
      entry.case === undefined ? subject === entry.rule : id === entry.case;
    if (!known.some((one) => meant(one.id, one.subject))) {
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
