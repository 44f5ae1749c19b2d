/**
 * The result of a case, and the verdicts. `notice`: breaks no rule, but a reader must know it.
 * `flaky`: failed first, and passed when it was run again. `spelling`: a code is misspelt, all else
 * is right.
 */
import { grouped } from '#io/grouped.ts';
import type { ReportedExchange } from './reported-exchange.ts';

export const verdicts = [
  'passed',
  'failed',
  'observed',
  'skipped',
  'not_exercised',
  'spelling',
  'flaky',
  'notice',
  'error',
] as const;
export type Verdict = (typeof verdicts)[number];

export interface Result {
  readonly id: string;
  /** The rule or the assumption. */
  readonly subject: string;
  readonly kind: 'rule' | 'assumption';
  readonly sends: string;
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
  readonly reachable: boolean;
  readonly interrupted: boolean;
  /** True if the budget of sends, or of time, kept a case from running. */
  readonly budgetReached: boolean;
  /** True if it need not exercise every rule. */
  readonly mayMiss?: boolean;
}
