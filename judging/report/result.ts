/**
 * The result of a case, its verdict, and the results of a whole run. Compares them with the JSON
 * report of an earlier run (`--compare`), which never changes the exit code.
 */
import { z } from 'zod';
import { UsageError } from '#io/command-error.ts';
import { grouped } from '#io/grouped.ts';
import { readGiven } from '#io/plain-file.ts';
import { valueIn } from '../evidence/reading.ts';
import type { ReportedExchange } from '../evidence/reply.ts';

export const verdicts = [
  // The rule applied and held.
  'passed',
  // A reply broke the rule.
  'failed',
  // The target showed its answer to an assumption.
  'observed',
  // The run lacks what the case needs.
  'skipped',
  // It ran, and nothing decided the rule.
  'not_exercised',
  // Only the spelling of a code is wrong.
  'spelling',
  // Failed, and passed when it ran again.
  'flaky',
  // Breaks no rule, but a reader must know it.
  'notice',
  // The harness could not judge it.
  'error',
] as const;
export type Verdict = (typeof verdicts)[number];

export interface Result {
  readonly id: string;
  /** The rule or the assumption. */
  readonly subject: string;
  readonly kind: 'rule' | 'assumption';
  /** What the case sends, for reports. */
  readonly sends: string;
  /** What the rule demands of the replies. */
  readonly demands?: string;
  readonly verdict: Verdict;
  readonly reason?: string;
  readonly expected?: string;
  readonly actual?: string;
  /** The request whose reply broke the rule. */
  readonly broken?: ReportedExchange;
  /** The last request before `broken` whose reply had another status. */
  readonly before?: ReportedExchange;
  /** The answer that an observation saw. */
  readonly seen?: unknown;
  /** The parts of an observation that could not be determined, and why. */
  readonly parts?: Readonly<Record<string, string>>;
  /** How often the rule applied and held. */
  readonly exercised: number;
  readonly durationMs: number;
  readonly exchanges: readonly ReportedExchange[];
  /** What happened, one line per event, in order of time. */
  readonly timeline?: readonly string[];
  /** The number of exchanges that were made but not kept. */
  readonly omitted: number;
}

/** Worst first. */
export const failures: readonly Verdict[] = ['failed', 'error', 'spelling', 'flaky'];

export function isFailure(verdict: Verdict): boolean {
  return failures.includes(verdict);
}

/** The results of each rule and assumption, in the order of the run. */
export function bySubject(results: readonly Result[]): Map<string, Result[]> {
  return grouped(results, ({ subject }) => subject);
}

export interface Run {
  readonly results: readonly Result[];
  /** The reason if the run could not begin. */
  readonly unreached?: string;
  readonly isReachable: boolean;
  readonly isInterrupted: boolean;
  /** True if the budget of sends, or of time, kept a case from running. */
  readonly isBudgetReached: boolean;
  /** True if rules without an exercise are no failure of this run. */
  readonly mayMiss?: boolean;
}

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
