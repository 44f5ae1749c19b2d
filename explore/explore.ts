/**
 * `smstwin/explore`: tries every fault at every call of a client function, in this process and on
 * virtual time. Finds and shrinks the schedules of faults under which the client loses a message,
 * sends one twice, retries too early or hangs.
 */

import type { FindingView } from '#judging/report/finding-view.ts';
import { checkedOptions, type ExploreOptions } from './explore-options.ts';
import { findingView } from './finding-view.ts';
import { runInProcess } from './in-process-run.ts';
import type { RunClient } from './run.ts';
import { replay, search } from './search.ts';
import { exitCodeOf, exploredLine } from './search-result.ts';

export type { FaultName, Point, Schedule, ScheduledFault } from '#contract/fault-schedule.ts';
export type { FindingView, TimelineEntry } from '#judging/report/finding-view.ts';
export type { ExploreOptions } from './explore-options.ts';
export type { Client, ClientTools } from './in-process-run.ts';

/** How far the exploration got, and what it found. */
export interface Exploration {
  /**
   * The same codes as the command: 0 nothing found and exhausted, 1 found, 6 the budget ended, and
   * 4 the client cannot be explored, for which `explore` rejects.
   */
  readonly exitCode: number;
  /** How far it got: `explored 34 of 34 single faults and …`. */
  readonly explored: string;
  /** Set for exit code 4: the client makes no request, or fails or differs without any fault. */
  readonly problem: string | undefined;
  /** Confirmed and shrunk failures. */
  readonly findings: readonly FindingView[];
  /** Failures that were seen once when the budget ended. */
  readonly unconfirmed: readonly FindingView[];
  /** Failures that did not repeat. */
  readonly unstable: readonly FindingView[];
  /** How often the client was run. */
  readonly runs: number;
  /** The calls of the client at which faults were tried. */
  readonly points: number;
  /** Schedules that cannot differ from one that was run. */
  readonly skipped: number;
}

/** The client cannot be explored, so that an empty list of findings would mean nothing. */
export class NotExploredError extends Error {
  override readonly name = 'NotExploredError';
  /** What was seen before. */
  readonly exploration: Exploration;

  constructor(message: string, exploration: Exploration) {
    super(message);
    this.exploration = exploration;
  }
}

/**
 * Resolves when the depth is exhausted or the budget has ended. Rejects with a UsageError for
 * unusable options, and with a NotExploredError where the command would exit with 4. A process can
 * run one at a time.
 */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const { client, settings, slow, timeout, schedule, ...limits } = checkedOptions(options);
  const { clientMayFail: mayFail, seed } = limits;
  const inProcess = {
    client,
    settings: { seed, ...settings },
    slowMs: slow,
    timeoutMs: timeout,
  };
  const runClient: RunClient = (...run) => runInProcess(inProcess, ...run);
  const searchOptions = { ...limits, runClient, jobs: 1, mayFail };
  const result = await (schedule === undefined
    ? search(searchOptions)
    : replay(searchOptions, schedule));
  const exploration = {
    exitCode: exitCodeOf(result),
    explored: exploredLine(result, limits),
    problem: result.problem?.line,
    findings: result.findings.map(findingView),
    unconfirmed: result.unconfirmed.map(findingView),
    unstable: result.unstable.map(findingView),
    runs: result.runs,
    points: result.points,
    skipped: result.skipped,
  };
  if (result.problem === undefined) return exploration;
  const { line, tail } = result.problem;
  throw new NotExploredError(tail === '' ? line : `${line}\n${tail}`, exploration);
}
