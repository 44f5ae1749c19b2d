/**
 * What the results of all cases amount to: a verdict for each rule, counts, findings, the answers
 * to assumptions, one exit code.
 */
import { assumptionNames } from '#contract/assumptions.ts';
import { isObject } from '#contract/request-and-reply.ts';
import { matchRoute, routes } from '#contract/routes.ts';
import { eachOf, getOrAdd } from '#io/grouped.ts';
import { type OwnKind, writeOwn } from '#io/own-file.ts';
import { type Weighed, withoutChance } from './expected.ts';
import {
  bySubject,
  failures,
  isFailure,
  type Result,
  type Run,
  type Verdict,
  verdicts,
} from './result.ts';

export interface RuleVerdict {
  readonly id: string;
  readonly verdict: Verdict;
  /** The number of its cases, and how many of them passed. */
  readonly cases: number;
  readonly passed: number;
}

/** A rule has the first of these verdicts that one of its cases has. */
const decisive: readonly Verdict[] = [
  ...failures,
  'passed',
  'not_exercised',
  'observed',
  'skipped',
  'notice',
];

export function ruleVerdicts(results: readonly Result[]): RuleVerdict[] {
  const byRule = bySubject(results.filter(({ kind }) => kind === 'rule'));
  return [...byRule].map(([id, ofRule]) => ({
    id,
    verdict: decisive.find((each) => ofRule.some(({ verdict }) => verdict === each)) ?? 'skipped',
    cases: ofRule.length,
    passed: ofRule.filter(({ verdict }) => verdict === 'passed').length,
  }));
}

export function untested(rules: readonly RuleVerdict[]): string[] {
  return rules
    .filter(({ verdict }) => !['passed', 'observed'].includes(verdict) && !isFailure(verdict))
    .map(({ id }) => id);
}

/** Rules of `--require` that no case tested; `all` means each rule of the run. */
export function unmet(required: readonly string[], rules: readonly RuleVerdict[]): string[] {
  const named = required.flatMap((one) => (one === 'all' ? rules.map(({ id }) => id) : [one]));
  const open = untested(rules);
  return [...new Set(named)].filter(
    (id) => open.includes(id) || !rules.some((rule) => rule.id === id),
  );
}

/** Something that a reader must hear: one cause, and the results that it explains. */
export interface Finding {
  readonly verdict: Verdict;
  readonly results: [Result, ...Result[]];
}

/** Notices, then unexpected failures, then advice. Results of one cause are one finding. */
export function findingsOf(results: readonly Result[], { expected }: Weighed): Finding[] {
  const heard = [
    ...results.filter(({ verdict }) => verdict === 'notice'),
    ...results
      .filter(({ verdict, id }) => isFailure(verdict) && !expected.has(id))
      .sort((one, other) => placeOf(one) - placeOf(other)),
    // An observation of a rule is the referee's advice.
    ...results.filter(({ verdict, kind }) => verdict === 'observed' && kind === 'rule'),
  ];
  const byCause = new Map<string, Finding>();
  for (const result of heard) {
    const causes = causesOf(result);
    const known = causes.map((cause) => byCause.get(cause)).find((one) => one !== undefined);
    if (known !== undefined) known.results.push(result);
    const finding = known ?? { verdict: result.verdict, results: [result] };
    for (const cause of causes) getOrAdd(byCause, cause, () => finding);
  }
  return [...new Set(byCause.values())];
}

/**
 * Results that share one of these texts have one cause: they saw the same, or the same but for ids
 * and times where the same was due, or a 429 where no limit is.
 */
function causesOf({ verdict, expected, actual, id, broken }: Result): string[] {
  const causes = [`${verdict} ${actual ?? id}`];
  if (actual !== undefined) causes.push(withoutChance(`${verdict} ${expected}; ${actual}`));
  if (isThrottledRead(broken)) causes.push('a 429 where no limit is');
  return causes;
}

const apiPrefix = '/api/v1/';

/** A 429 to a read of a message or of statistics, which have no limit. */
function isThrottledRead(broken: Result['broken']): boolean {
  if (broken?.status !== 429) return false;
  const { pathname } = new URL(broken.url);
  // The service may be below a path of its own.
  const match = matchRoute(pathname.slice(pathname.lastIndexOf(apiPrefix)));
  return match?.route === routes.read || match?.route === routes.stats;
}

/**
 * Rules in the order of what they say about a cause. Reads that are throttled also fail the rules
 * about messages, and calls with a revoked key that count for a user fail the limit, too; a broken
 * limit also fails the rules about all buckets.
 */
function placeOf({ subject, broken, actual = '' }: Result): number {
  if (subject === 'AUTH-6' && actual.includes('with a revoked key')) return 0;
  if (['READ-3', 'LIMIT-6'].includes(subject) && isThrottledRead(broken)) return 0;
  return ['AUTH-6', 'LIMIT-7'].includes(subject) ? 2 : 1;
}

export function counts(results: readonly Result[]): Record<Verdict, number> {
  const all: Record<Verdict, number> = eachOf(verdicts, 0);
  for (const { verdict } of results) all[verdict] += 1;
  return all;
}

/** The answers to assumptions that a run has observed. */
export interface Discovered {
  readonly answers: Readonly<Record<string, unknown>>;
  /** By assumption: the reason why its answer is missing. */
  readonly undetermined: Readonly<Record<string, string>>;
}

export function discovered(results: readonly Result[]): Discovered {
  const answers: Record<string, unknown> = {};
  const undetermined: Record<string, string> = {};
  for (const result of results) {
    if (result.kind !== 'assumption') continue;
    const { subject, seen, parts = {} } = result;
    if (result.verdict !== 'observed') undetermined[subject] = result.reason ?? result.verdict;
    else answers[subject] = isObject(seen) ? { ...Object(answers[subject]), ...seen } : seen;
    for (const [part, why] of Object.entries(parts)) undetermined[`${subject}.${part}`] = why;
  }
  return { answers, undetermined };
}

const discovery = new RegExp(`^\\{\\s*(?:\\}\\s*$|"(?:${assumptionNames.join('|')})":)`);
/** An assumptions file in JSON: `serve --assumptions FILE` then behaves as the target did. */
export const discoveredFile: OwnKind = {
  name: 'list of assumptions',
  isOwn: (start) => discovery.test(start),
};

export function writeDiscovered(file: string, { answers }: Discovered): void {
  const text = `${JSON.stringify(answers, null, 2)}\n`;
  writeOwn({ what: `--discover ${file}`, path: file, kind: discoveredFile }, text);
}

/**
 * The exit code of `conform`. If several apply, the one that says most about the target wins.
 */
export function exitCode(run: Run, weighed: Weighed, required: readonly string[]): number {
  if (run.isInterrupted) return 130;
  if (!run.isReachable) return 3;
  const isExpected = ({ id }: Result) => weighed.expected.has(id);
  if (run.results.some((one) => isFailure(one.verdict) && !isExpected(one))) return 1;
  if (run.isBudgetReached) return 6;
  if (weighed.stale.length > 0) return 5;
  const rules = ruleVerdicts(run.results);
  if (!run.mayMiss && rules.some(({ verdict }) => verdict === 'not_exercised')) return 4;
  if (unmet(required, rules).length > 0) return 4;
  const judged = run.results.some(
    (one) => ['passed', 'observed'].includes(one.verdict) || isExpected(one),
  );
  return judged ? 0 : 4;
}
