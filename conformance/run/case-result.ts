/**
 * The result of a case, as reports show it: its verdict, some of its exchanges and, for a failure
 * that many exchanges prove, their times and statuses in a few lines.
 */
import { isoTime } from '#contract/time.ts';
import type { Exchange } from '#judging/evidence/exchange.ts';
import type { ReportedExchange } from '#judging/evidence/reply.ts';
import type { Result } from '#judging/report/result.ts';
import type { SkipReason } from '../target/target.ts';
import type { AnyCase } from './case.ts';
import type { Trial } from './trial.ts';

/** A result keeps this many exchanges from the start and from the end of a long case. */
const keptFirst = 10;
const keptLast = 20;

/** The part of a result that the verdict decides. */
export type Found = Pick<
  Result,
  'verdict' | 'reason' | 'expected' | 'actual' | 'broken' | 'seen' | 'parts'
>;

export interface CaseVerdict {
  readonly found: Found;
  /** How often the case's own rule applied and held; default: 0. */
  readonly exercised?: number;
  /** The exchanges that prove a failure; default: none. */
  readonly proof?: readonly Exchange[];
}

/** The result of a case that the run did not reach. */
export function notRun(anyCase: AnyCase, reason: string): Result {
  return resultOf(anyCase, { found: { verdict: 'not_exercised', reason } });
}

/** The result of a case that this target cannot run. */
export function skipped(anyCase: AnyCase, { reason }: SkipReason): Result {
  return resultOf(anyCase, { found: { verdict: 'skipped', reason } });
}

/** The result of a case that has this verdict. `trial`: its run, if it ran. */
export function resultOf(
  anyCase: AnyCase,
  { found, exercised = 0, proof = [] }: CaseVerdict,
  trial?: Trial,
  durationMs = 0,
): Result {
  const all = trial?.reported ?? [];
  const omitted = Math.max(0, all.length - keptFirst - keptLast);
  const clean = (text: string) => trial?.target.client.masks.clean(text) ?? text;
  return {
    id: anyCase.id,
    subject: anyCase.subject,
    kind: 'run' in anyCase ? 'assumption' : 'rule',
    sends: trial?.sendsInstead ?? anyCase.sends,
    ...(!('run' in anyCase) && { demands: anyCase.demands }),
    ...found,
    ...(found.reason !== undefined && { reason: clean(found.reason) }),
    ...(found.actual !== undefined && { actual: clean(found.actual) }),
    ...(found.broken !== undefined && timelineOf(proof, found.broken)),
    exercised,
    durationMs: Math.round((durationMs + (trial?.joinedMs ?? 0)) * 10) / 10,
    exchanges: all.toSpliced(keptFirst, omitted),
    omitted,
  };
}

/** The times and statuses of many exchanges that prove a failure, and one to compare with. */
function timelineOf(
  proof: readonly Exchange[],
  broken: ReportedExchange,
): Pick<Result, 'timeline' | 'before'> {
  if (proof.length <= 2) return {};
  const before = otherBefore(proof, broken);
  return { timeline: runsOf(proof), ...(before !== undefined && { before }) };
}

/** Further lines of `runsOf` are only counted. */
const mostLines = 20;

/**
 * Hundreds of exchanges in a few lines: a head line, then one for each run of exchanges with the
 * same status, such as `+0.000 s to +0.912 s: 97 answered 200`.
 */
export function runsOf(exchanges: readonly Exchange[]): string[] {
  const [first, ...others] = exchanges;
  if (first === undefined) return [];
  const since = (atMs: number) => `+${((atMs - first.sentAt) / 1_000).toFixed(3)} s`;
  const runs: Exchange[][] = [[first]];
  for (const exchange of others) {
    const run = runs.at(-1);
    if (run?.[0]?.reply.status === exchange.reply.status) run.push(exchange);
    else runs.push([exchange]);
  }
  const lines = runs.map((run) => {
    const end = Math.max(...run.map(({ answeredAt }) => answeredAt));
    const [{ sentAt, reply } = first] = run;
    const wait = reply.headers['retry-after'];
    const note = wait === undefined ? '' : `, the first with Retry-After: ${wait}`;
    return `${since(sentAt)} to ${since(end)}: ${run.length} answered ${reply.status}${note}`;
  });
  const omitted = lines.length - mostLines;
  const more = omitted > 0 ? [`… and ${omitted} more changes of the status`] : [];
  return [
    `${isoTime(first.sentAt)}: the first of ${exchanges.length} requests; ${countsOf(exchanges)}`,
    ...lines.slice(0, mostLines),
    ...more,
  ];
}

function countsOf(exchanges: readonly Exchange[]): string {
  const counts = new Map<number, number>();
  for (const { reply } of exchanges) counts.set(reply.status, (counts.get(reply.status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} answered ${status}`).join(', ');
}

/** The last exchange before this one that was answered with another status. */
export function otherBefore(
  exchanges: readonly Exchange[],
  broken: ReportedExchange,
): ReportedExchange | undefined {
  const index = exchanges.findIndex(({ reply }) => reply.exchange === broken);
  const earlier = exchanges.slice(0, Math.max(0, index));
  return earlier.findLast(({ reply }) => reply.status !== broken.status)?.reply.exchange;
}
