/** The result of a case, its verdict, and the results of a whole run. */
import { grouped } from '#io/grouped.ts';
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
