/**
 * What a search reports: its findings, how far it got, and why it stopped. Here are also the view
 * of a finding that files, reports and `explore()` share, the line of text and the exit code.
 */
import type { FindingView, Schedule, TimelineEntry } from '#contract/fault-schedule.ts';
import { isoTime } from '#contract/time.ts';
import { longestStatedWaitSeconds, type Problem } from './learn.ts';
import type { KnownIntents } from './points.ts';
import { type Failure, kindOf, type Run } from './verdict.ts';

export interface Finding {
  readonly schedule: Schedule;
  /** Why the run failed, the gravest failure first; never empty. */
  readonly failures: readonly Failure[];
  readonly run: Run;
  /** False if the search ended first: fewer or weaker faults may fail too. */
  readonly isShrunk: boolean;
  /** Other schedules that fail for the same cause and shrink to this one or an equivalent one. */
  readonly also: Schedule[];
}

/** How many of the schedules of one size were tried. */
export interface Level {
  readonly size: number;
  readonly total: number;
  done: number;
}

/** Why the search ended before it had tried every schedule. */
export type Stop = 'budget' | 'bail' | 'interrupted';

export interface Progress {
  /** All runs of the client, including those without faults and those that confirm and shrink. */
  readonly runs: number;
  readonly points: number;
  readonly levels: readonly Level[];
  readonly findings: readonly Finding[];
}

export interface SearchResult extends Progress {
  /** The intents whose numbers all runs share. */
  readonly intents: KnownIntents;
  readonly problem: Problem | undefined;
  /** Failures that the search had not run again when it ended. */
  readonly unconfirmed: readonly Finding[];
  readonly unstable: readonly Finding[];
  /** Schedules that cannot differ from one that was run. */
  readonly skipped: number;
  /** The seconds of `Retry-After` that throttles asked for; empty if no throttle was to be tried. */
  readonly triedWaits: readonly number[];
  /** What a reader must know before the findings. */
  readonly notices: readonly string[];
  /** Faults of a replayed schedule at calls that the client did not make. */
  readonly unmet?: number;
  readonly stop: Stop | undefined;
}

export function findingOf(run: Run): Finding {
  return { schedule: run.schedule, failures: run.failures, run, isShrunk: true, also: [] };
}

/** The schedule, what it breaks, and every exchange of the run in order. */
export function findingView({ schedule, failures, run, isShrunk, also }: Finding): FindingView {
  const [first] = failures;
  return {
    schedule,
    shrunk: isShrunk,
    cause: first?.cause ?? '',
    what: first?.what ?? '',
    failures: failures.map(({ cause, what, exchanges }) => ({
      cause,
      what,
      exchanges: exchanges.map(({ number }) => number),
    })),
    timeline: run.seen.map(
      ({ exchange, point, fault }): TimelineEntry => ({
        number: exchange.number,
        at: isoTime(exchange.sentAt),
        method: exchange.method,
        target: exchange.target,
        endpoint: exchange.endpoint ?? null,
        intent: point?.intent ?? null,
        attempt: point?.attempt ?? null,
        fault: fault ?? null,
        body: exchange.body,
        status: exchange.reply.status,
        seen: exchange.isSeen,
      }),
    ),
    also,
    output: run.ending.tail,
  };
}

/** The kind of the gravest failure; undefined if the run passed. */
export function kindOfRun({ failures: [gravest] }: Run): string | undefined {
  return gravest && kindOf(gravest);
}

/** Names of schedules by their number of faults. */
const sizes = ['', 'single faults', 'pairs', 'triples'];

/** A line such as `explored 34 of 34 single faults and 180 of 180 pairs: exhaustive to depth 2`. */
export function exploredLine(
  { levels, stop, problem, triedWaits }: SearchResult,
  { depth, maxRuns }: { readonly depth: number; readonly maxRuns: number },
): string {
  if (levels.length === 0 && stop === undefined)
    return problem === undefined ? 'explored one schedule' : 'explored nothing';
  const parts = levels.map(
    ({ size, done, total }) =>
      `${done} of ${total} ${sizes[size] ?? `schedules of ${size} faults`}`,
  );
  const last = parts.pop() ?? 'nothing';
  const all = parts.length === 0 ? last : `${parts.join(', ')} and ${last}`;
  if (problem !== undefined) return `explored ${all}`;
  const ends: Readonly<Record<Stop, string>> = {
    budget: `the budget of ${maxRuns} run${maxRuns === 1 ? '' : 's'} ended first`,
    bail: 'stopped at the first finding',
    interrupted: 'interrupted',
  };
  if (stop !== undefined) return `explored ${all}: ${ends[stop]}`;
  const isEveryWait =
    triedWaits.length === 0 || Math.max(...triedWaits) >= longestStatedWaitSeconds;
  if (isEveryWait) return `explored ${all}: exhaustive to depth ${depth}`;
  const waits = triedWaits.map((seconds) => `${seconds} s`).join(' and ');
  return `explored ${all}: all to depth ${depth}, with throttle waits of ${waits} alone (try --throttle-waits ${longestStatedWaitSeconds}s)`;
}

export function exitCodeOf({ stop, problem, findings, unconfirmed }: SearchResult): number {
  if (stop === 'interrupted') return 130;
  if (problem !== undefined) return 4;
  if (findings.length + unconfirmed.length > 0) return 1;
  return stop === 'budget' ? 6 : 0;
}
