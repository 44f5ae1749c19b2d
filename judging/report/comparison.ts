/**
 * Compares a run with the JSON report of an earlier run (`--compare`): new failures, fixed
 * failures, and cases that were judged earlier and are not judged now. It never changes the exit
 * code.
 */
import { z } from 'zod';
import { UsageError } from '#io/command-error.ts';
import { readGiven } from '#io/plain-file.ts';
import { valueIn } from '../evidence/reading.ts';
import { isFailure, type Result, type Verdict, verdicts } from './result.ts';

const notReport = 'not a report of conform; name a file that --report json=FILE wrote';
const mostBytes = 256 * 2 ** 20;

const reportSchema = z.object({
  format: z.literal('smstwin-conformance/1'),
  startedAt: z.string(),
  results: z.array(z.object({ id: z.string(), verdict: z.enum(verdicts) })),
});

export type EarlierReport = z.infer<typeof reportSchema>;

export interface Comparison {
  /** When the earlier run started. */
  readonly since: string;
  /** Ids of cases. */
  readonly newFailures: readonly string[];
  readonly fixed: readonly string[];
  readonly newlySkipped: readonly string[];
}

export function readReport(path: string): EarlierReport {
  const reading = reportSchema.safeParse(valueIn(readGiven(path, '--compare', mostBytes)));
  if (reading.success) return reading.data;
  throw new UsageError(`--compare ${path}: ${notReport}`);
}

export function compared(earlier: EarlierReport, results: readonly Result[]): Comparison {
  const before = new Map(earlier.results.map(({ id, verdict }) => [id, verdict]));
  const idsWhere = (holds: (then: Verdict | undefined, now: Verdict) => boolean) =>
    results.filter(({ id, verdict }) => holds(before.get(id), verdict)).map(({ id }) => id);
  return {
    since: earlier.startedAt,
    newFailures: idsWhere(
      (then, now) => isFailure(now) && (then === undefined || !isFailure(then)),
    ),
    fixed: idsWhere((then, now) => then !== undefined && isFailure(then) && now === 'passed'),
    // A notice is not a judgement of a rule, so nothing was judged then.
    newlySkipped: idsWhere(
      (then, now) =>
        then !== undefined && !isUnjudged(then) && isUnjudged(now) && then !== 'notice',
    ),
  };
}

function isUnjudged(verdict: Verdict): boolean {
  return verdict === 'skipped' || verdict === 'not_exercised';
}

/** One line for each of the three lists. */
export function comparisonLines({ since, ...lists }: Comparison): string[] {
  const names = { newFailures: 'new failures', fixed: 'fixed', newlySkipped: 'newly skipped' };
  return (Object.keys(names) as (keyof typeof names)[]).map((name) => {
    const ids = lists[name];
    const shown = ids.length === 0 ? 'none' : ids.join(', ');
    return `Since ${since}, ${names[name]}: ${shown}`;
  });
}
