/**
 * `--recheck`: judges each failure once more, one case at a time. A failure that passes then is
 * `flaky`.
 */
import { type AnyCase, idOf } from './case.ts';
import { isFailure, type Result } from './result.ts';
import { runCase } from './run-case.ts';
import { runScheduled } from './run-scheduled.ts';
import type { Target } from './target.ts';

export interface Recheck {
  readonly isStopped: () => boolean;
  readonly say: (line: string) => void;
  readonly onResult: (result: Result, done: number, total: number) => void;
}

/** The failures, by case id, with the verdict after the second judgement. */
export async function recheck(
  cases: readonly AnyCase[],
  first: ReadonlyMap<string, Result>,
  target: Target,
  { isStopped, say, onResult }: Recheck,
): Promise<Map<string, Result>> {
  const failing = cases.filter((one) => isFailure(first.get(idOf(one))?.verdict ?? 'passed'));
  // Recordings belong to a target: under a new one they are made once more.
  const again: Target = { ...target, waits: new Set() };
  const results = new Map<string, Result>();
  for (const one of failing) {
    if (isStopped()) break;
    const execute = async (judged: AnyCase) => {
      const before = first.get(idOf(judged));
      if (before === undefined) return;
      const result = weighed(before, await runCase(judged, again));
      results.set(result.id, result);
      onResult(result, results.size, failing.length);
    };
    if (target.hasControl) await execute(one);
    // The schedule waits until the account's buckets allow the case.
    else await runScheduled([one], new Map(), again, { execute, isStopped, say });
  }
  return results;
}

function weighed(before: Result, after: Result): Result {
  if (isFailure(after.verdict)) return before;
  const reason = `${before.verdict}, and ${after.verdict.replace('_', ' ')} when judged again`;
  const isDecided = after.verdict === 'passed' || after.verdict === 'observed';
  return isDecided ? { ...before, verdict: 'flaky', reason } : before;
}
