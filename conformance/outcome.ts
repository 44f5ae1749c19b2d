/**
 * The result of a whole run: a verdict for each rule, counts, one exit code.
 */
import type { Weighed } from './expected.ts';
import { bySubject, isFailure, type Result, type Verdict, verdicts } from './result.ts';
import type { Run } from './suite.ts';

export interface RuleVerdict {
  readonly id: string;
  readonly verdict: Verdict;
  readonly cases: number;
  readonly passed: number;
}

/** Worst first: a rule gets its worst case's verdict, and is skipped only if all its cases are. */
const severity: readonly Verdict[] = ['failed', 'error', 'spelling'];

export function ruleVerdicts(results: readonly Result[]): RuleVerdict[] {
  const byRule = bySubject(results.filter(({ kind }) => kind === 'rule'));
  return [...byRule].map(([id, its]) => ({
    id,
    verdict: worst(its.map(({ verdict }) => verdict)),
    cases: its.length,
    passed: its.filter(({ verdict }) => verdict === 'passed').length,
  }));
}

function worst(all: readonly Verdict[]): Verdict {
  for (const verdict of severity) if (all.includes(verdict)) return verdict;
  if (all.includes('not_exercised')) return 'not_exercised';
  if (all.includes('passed')) return 'passed';
  return all.includes('observed') ? 'observed' : 'skipped';
}

export function counts(results: readonly Result[]): Record<Verdict, number> {
  const all = Object.fromEntries(verdicts.map((verdict) => [verdict, 0])) as Record<
    Verdict,
    number
  >;
  for (const { verdict } of results) all[verdict] += 1;
  return all;
}

/**
 * The exit code of `interfaces.md` section 5. If several apply, the one that says most about the
 * target wins.
 */
export function exitCode(run: Run, weighed: Weighed): number {
  if (run.interrupted) return 130;
  if (!run.reachable) return 3;
  const rules = run.results.filter(({ kind }) => kind === 'rule');
  const failed = run.results.filter(
    ({ verdict, id }) => isFailure(verdict) && !weighed.expected.has(id),
  );
  if (failed.length > 0) return 1;
  if (run.budgetReached) return 6;
  if (weighed.stale.length > 0) return 5;
  if (ruleVerdicts(run.results).some(({ verdict }) => verdict === 'not_exercised')) return 4;
  const judged = run.results.some(
    ({ verdict, id }) => ['passed', 'observed'].includes(verdict) || weighed.expected.has(id),
  );
  return rules.length + run.results.length === 0 || !judged ? 4 : 0;
}
