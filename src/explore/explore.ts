/**
 * `smstwin/explore`: tries every fault at every call of a client function, in this process and on
 * virtual time, and shrinks what makes it lose a message, send one twice, retry too early or hang.
 */
import { durationMs } from '../operations/duration.ts';
import type { SettingsInput } from '../simulator.ts';
import { exitCodeOf, exploredLine } from './exploration.ts';
import { type FaultName, faultNames } from './fault-names.ts';
import { type FindingView, findingView } from './finding-view.ts';
import { type Client, runInProcess } from './in-process-run.ts';
import { replay } from './replay.ts';
import type { RunClient } from './run.ts';
import { parsed, type Schedule, scheduleSchema } from './schedule.ts';
import { search } from './search.ts';

export type { FaultName } from './fault-names.ts';
export type { FindingView, TimelineEntry } from './finding-view.ts';
export type { Client, ClientTools } from './in-process-run.ts';
export type { Point, Schedule, ScheduledFault } from './schedule.ts';

export interface ExploreOptions {
  /** Called once for each run, each time with a fresh world. It passes if it resolves. */
  readonly client: Client;
  /** Faults per schedule, at most. Default 2. */
  readonly depth?: number;
  /** Runs of the client, at most; those that confirm and shrink included. Default 500. */
  readonly maxRuns?: number;
  /** Default: all. */
  readonly faults?: readonly FaultName[];
  /** How long `slow` holds a reply. Default `'3s'`. */
  readonly slow?: string | number;
  /** Simulated time that a run may take. Default `'10m'`. */
  readonly timeout?: string | number;
  readonly seed?: number;
  /** Settings of the simulator, without the clock and the seed. */
  readonly settings?: Omit<SettingsInput, 'clock' | 'seed'>;
  /** Run only this schedule. */
  readonly schedule?: Schedule;
  /** Stop at the first finding. */
  readonly bail?: boolean;
  /** True if a run does not fail only because the client rejects. */
  readonly clientMayFail?: boolean;
}

export interface Exploration {
  /**
   * The same codes as the command: 0 nothing found, 1 found, 4 cannot be explored, 6 budget ended.
   */
  readonly exitCode: number;
  /** How far it got: `explored 34 of 34 single faults and …`. */
  readonly explored: string;
  /** Why the client cannot be explored: it fails, or differs between runs, without any fault. */
  readonly problem: string | undefined;
  readonly findings: readonly FindingView[];
  /** Failures that were seen once when the budget ended. */
  readonly unconfirmed: readonly FindingView[];
  /** Failures that did not repeat. */
  readonly unstable: readonly FindingView[];
  readonly runs: number;
  readonly points: number;
  /** Schedules that cannot differ from one that was run. */
  readonly skipped: number;
}

/**
 * Resolves when the depth is exhausted or the budget has ended. A process can run one at a time.
 */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const { depth = 2, maxRuns = 500, seed = 1, faults = faultNames } = options;
  const { client, settings = {}, clientMayFail: mayFail = false, bail = false } = options;
  const slowMs = durationMs(options.slow ?? '3s', 'slow');
  const timeoutMs = durationMs(options.timeout ?? '10m', 'timeout');
  const runClient: RunClient = (schedule, known) =>
    runInProcess({ client, settings: { seed, ...settings }, slowMs, timeoutMs }, schedule, known);
  const result =
    options.schedule === undefined
      ? await search({ runClient, faults, depth, maxRuns, jobs: 1, seed, bail, mayFail })
      : await replay({ runClient, mayFail }, parsed(scheduleSchema, options.schedule, 'schedule'));
  return {
    exitCode: exitCodeOf(result),
    explored: exploredLine(result, { depth, maxRuns }),
    problem: result.problem?.line,
    findings: result.findings.map(findingView),
    unconfirmed: result.unconfirmed.map(findingView),
    unstable: result.unstable.map(findingView),
    runs: result.runs,
    points: result.points,
    skipped: result.skipped,
  };
}
