/**
 * `smstwin/explore`: tries every fault at every call of a client function, in this process and on
 * virtual time. Finds and shrinks the schedules of faults under which the client loses a message,
 * sends one twice, retries too early or hangs.
 */
import { z } from 'zod';
import {
  type FaultName,
  type FindingView,
  faultNames,
  isCrash,
  type Schedule,
} from '#contract/fault-schedule.ts';
import { isObject } from '#contract/request-and-reply.ts';
import { parsed } from '#io/mistakes.ts';
import { durationMs } from '#src/operations/input-fields.ts';
import type { SettingsInput } from '#src/simulator.ts';
import type { RunClient } from './client-run.ts';
import { type Client, runInProcess } from './in-process-run.ts';
import { scheduleSchema } from './schedule.ts';
import { replay, search } from './search.ts';
import { exitCodeOf, exploredLine, findingView } from './search-result.ts';

export type {
  FaultName,
  FindingView,
  Point,
  Schedule,
  ScheduledFault,
  TimelineEntry,
} from '#contract/fault-schedule.ts';
export type { Client, ClientTools } from './in-process-run.ts';

/** The client, and how far to explore it. */
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
  /**
   * How long the `throttle` faults of a schedule ask the client to wait, in order, rounded up to
   * whole seconds. Further ones use the last value. By default more than twice as long as the
   * client waits by itself.
   */
  readonly throttleWaits?: readonly (string | number)[];
  /** Simulated time that a run may take. Default `'10m'`. */
  readonly timeout?: string | number;
  /** The seed of the simulator. Default 1. */
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
  /** What a reader must know first: peculiarities of the run without faults, the standard of all. */
  readonly notices: readonly string[];
  /** Confirmed and shrunk failures. */
  readonly findings: readonly FindingView[];
  /** Failures that were seen once when the budget ended. */
  readonly unconfirmed: readonly FindingView[];
  /** Failures that did not repeat. */
  readonly unstable: readonly FindingView[];
  /** The number of runs of the client. */
  readonly runs: number;
  /** The calls of the client at which faults were tried. */
  readonly points: number;
  /** Schedules that cannot differ from one that was run. */
  readonly skipped: number;
}

/** The client cannot be explored, so that an empty list of findings would mean nothing. */
export class NotExploredError extends Error {
  override readonly name = 'NotExploredError';
  /** What was found before the client proved unusable. */
  readonly exploration: Exploration;

  constructor(message: string, exploration: Exploration) {
    super(message);
    this.exploration = exploration;
  }
}

/**
 * Resolves when the depth is exhausted or the budget has ended. Rejects with a UsageError for
 * unusable options, and with a NotExploredError for exit code 4. A process can run one at a time.
 */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const checked = parsed(optionsSchema, options, 'explore()');
  const { client, settings, slow, timeout, schedule, ...limits } = checked;
  const { clientMayFail: mayFail, seed } = limits;
  const inProcess = { client, settings: { seed, ...settings }, slowMs: slow, timeoutMs: timeout };
  const runClient: RunClient = (...run) => runInProcess(inProcess, ...run);
  const searchOptions = { ...limits, runClient, jobs: 1, mayFail };
  const result = await (schedule === undefined
    ? search(searchOptions)
    : replay(searchOptions, schedule));
  const { problem, notices, runs, points, skipped } = result;
  const exploration = {
    exitCode: exitCodeOf(result),
    explored: exploredLine(result, limits),
    problem: problem?.line,
    notices,
    findings: result.findings.map(findingView),
    unconfirmed: result.unconfirmed.map(findingView),
    unstable: result.unstable.map(findingView),
    runs,
    points,
    skipped,
  };
  if (problem === undefined) return exploration;
  const { line, tail } = problem;
  throw new NotExploredError(tail === '' ? line : `${line}\n${tail}`, exploration);
}

const expectedDuration = 'expected a duration above 0, such as "3s", or milliseconds';

const durationSchema = z.unknown().transform((value, context) => {
  try {
    const ms = durationMs(value as string | number, '');
    if (ms > 0) return ms;
  } catch {
    // Reported below, with the other unusable values.
  }
  context.addIssue({ code: 'custom', message: expectedDuration });
  return z.NEVER;
});

const needsCommand = 'a function cannot crash alone: run a command by smstwin explore --crash';

const optionsSchema = z.strictObject({
  client: z.custom<Client>((client) => typeof client === 'function', {
    error: 'expected a function, which runs the client once',
  }),
  depth: z.int().min(1).max(10).default(2),
  maxRuns: z.int().min(1).max(1_000_000).default(500),
  faults: z
    .array(z.enum(faultNames).refine((name) => !isCrash(name), { error: needsCommand }))
    .min(1)
    .default(faultNames.filter((name) => !isCrash(name))),
  slow: durationSchema.prefault('3s'),
  throttleWaits: z
    // `Retry-After` is in whole seconds.
    .array(durationSchema.transform((ms) => Math.ceil(ms / 1_000)))
    .min(1)
    .optional(),
  timeout: durationSchema.prefault('10m'),
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(1),
  settings: z
    .custom<Omit<SettingsInput, 'clock' | 'seed'>>(isObject, { error: 'expected an object' })
    .default({}),
  schedule: scheduleSchema
    .refine((schedule) => !schedule.some(({ fault }) => isCrash(fault)), { error: needsCommand })
    .optional(),
  bail: z.boolean().default(false),
  clientMayFail: z.boolean().default(false),
});
