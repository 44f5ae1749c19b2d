/**
 * The command `smstwin conform`: reads flags, runs cases, writes reports and returns an exit code.
 * It does not import the simulator: the caller passes in a function that starts one.
 */
import { setMaxListeners } from 'node:events';
import type { TrafficReader } from '#contract/exchange.ts';
import { CommandError, onStopSignal, printedError, UsageError } from '#io/command-error.ts';
import { isLoopback, joinedHeaders } from '#io/flag-values.ts';
import type { CommandIo } from '#io/flags.ts';
import { smstwinVersion } from '#io/shipped-files.ts';
import { progressTo } from '#io/terminal.ts';
import { discovered } from '#judging/report/outcome.ts';
import { isFailure, type Run } from '#judging/report/result.ts';
import { progressLine } from '#judging/report/text.ts';
import { allCases } from './cases/all.ts';
import { type ConformOptions, looksLikeHost, parseOptions } from './options.ts';
import { BucketLedger } from './run/budget.ts';
import type { AnyCase } from './run/case.ts';
import { finish } from './run/finish.ts';
import { dryRun, listing } from './run/preview.ts';
import { runSuite, unreached } from './run/run.ts';
import { conformTraffic } from './run/run-recorded.ts';
import { mostSends, type Profile, select } from './run/select.ts';
import { Client, type Clock, wallClock } from './target/client.ts';
import { KeptBodies } from './target/connections.ts';
import { Control, controlledClock } from './target/control.ts';
import { ControlFailed } from './target/control-port.ts';
import { Masks } from './target/masks.ts';
import { RunFacts } from './target/run-facts.ts';
import { type Capabilities, fates, type Target } from './target/target.ts';
import { keysIn } from './target/target-flags.ts';

export interface OwnSimulator {
  readonly baseUrl: string;
  readonly controlUrl: string;
  close(): Promise<void>;
}

type GivenIo = Pick<CommandIo, 'out' | 'error'> & Partial<CommandIo>;

export interface ConformIo extends GivenIo {
  /** Starts a simulator for a run without a base_url; its clock may be in any mode. */
  readonly startOwn?: () => Promise<OwnSimulator>;
  readonly readTraffic?: TrafficReader;
  /** Default: the wall clock. */
  readonly clock?: Clock;
  /** Interrupts the run. Default: the signals that stop a process do. */
  readonly signal?: AbortSignal;
  /** True if a person watches the output: then a line says what the run waits for. */
  readonly isTerminal?: boolean;
}

export async function conform(argv: readonly string[], io: ConformIo): Promise<number> {
  try {
    const options = parseOptions(argv, { env: process.env, version: smstwinVersion(), ...io });
    return options === undefined ? 0 : await carryOut(options, io);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    io.error(printedError('conform', error));
    return error.exitCode;
  }
}

/** Does what the options ask: lists, estimates or runs cases, or judges recorded traffic. */
async function carryOut(options: ConformOptions, io: ConformIo): Promise<number> {
  const { traffic } = options;
  if (traffic !== undefined) {
    const { readTraffic } = io;
    if (readTraffic === undefined) throw new UsageError('--traffic needs a reader of recordings');
    return conformTraffic(options, traffic, { ...io, readTraffic });
  }
  const unmatched = options.patterns.filter((pattern) => select(allCases, [pattern]).length === 0);
  const [first = ''] = options.patterns;
  if (unmatched.includes(first) && options.baseUrl === undefined && looksLikeHost(first)) {
    throw new UsageError(
      `'${first}' is neither a base_url, which starts with http:// or https://, nor part of a case id`,
    );
  }
  if (unmatched.length > 0) {
    // No case is run: otherwise a misspelt rule would look as if it had been checked.
    throw new CommandError(4, `no case matches ${unmatched.join(' ')}; --list prints all cases`);
  }
  const cases = select(allCases, options.patterns);
  if (options.list) {
    io.out(listing(cases));
    return 0;
  }
  if (options.dryRun) {
    io.out(dryRun(cases, capabilitiesOf(options), profileOf(options)));
    return 0;
  }
  const { baseUrl } = options;
  if (baseUrl === undefined) return runOnOwnSimulator(cases, options, io);
  return runInterruptibly({ cases, options, io, baseUrl });
}

/** One run: these cases against the target at this URL. */
interface PlannedRun {
  readonly cases: readonly AnyCase[];
  readonly options: ConformOptions;
  readonly io: ConformIo;
  readonly baseUrl: string;
}

/** Runs the cases against a simulator that it starts and closes. */
async function runOnOwnSimulator(
  cases: readonly AnyCase[],
  options: ConformOptions,
  io: ConformIo,
): Promise<number> {
  if (io.startOwn === undefined)
    throw new UsageError('base_url is missing: name the service to check');
  const own = await io.startOwn();
  const { baseUrl, controlUrl } = own;
  try {
    return await runInterruptibly({ cases, options: { ...options, controlUrl }, io, baseUrl });
  } finally {
    await own.close();
  }
}

/** Runs the cases; a signal interrupts them, unless the caller has passed a signal. */
async function runInterruptibly(planned: PlannedRun): Promise<number> {
  const { signal } = planned.io;
  if (signal !== undefined) return runAndReport(planned, signal);
  const controller = new AbortController();
  // A second signal ends the process at once.
  const ignoreSignals = onStopSignal(() => {
    controller.abort();
    ignoreSignals();
  });
  try {
    return await runAndReport(planned, controller.signal);
  } finally {
    ignoreSignals();
  }
}

/** Runs the cases, writes the reports, and returns the exit code. */
async function runAndReport(
  { cases, options, io, baseUrl }: PlannedRun,
  signal: AbortSignal,
): Promise<number> {
  const startedAt = new Date();
  const { flags, allowTo, replyTimeout: timeoutMs } = options;
  const { maxSends = Number.POSITIVE_INFINITY } = options;
  const masks = masksFor(options);
  const capabilities = capabilitiesOf(options);
  const runFacts = new RunFacts(flags, capabilities.isOwn);
  const control = await reachControl(options, masks, runFacts);
  const realClock = io.clock ?? wallClock;
  const clock = control instanceof Control ? controlledClock(control) : realClock;
  // Every request in flight listens to this signal.
  setMaxListeners(0, signal);
  const client = new Client({
    baseUrl,
    maxSends: Math.min(maxSends, mostSends[profileOf(options)].inAll),
    allowTo,
    unknownFrom: flags.unknownFrom,
    timeoutMs,
    masks,
    signal,
    bodies: new KeptBodies(),
    headers: joinedHeaders(options.header),
    clock: { now: clock.now, sleep: realClock.sleep },
  });
  const reach = { ...capabilities, client, signal, clock, facts: runFacts };
  const ran =
    control !== undefined && 'why' in control
      ? unreached(cases, masks.clean(control.why))
      : await runCases(newTarget(reach, control), cases, options, io);
  const facts = {
    baseUrl: masks.clean(baseUrl),
    startedAt: startedAt.toISOString(),
    durationMs: Date.now() - startedAt.getTime(),
    seed: options.seed,
    sends: client.sends,
    throttled: client.throttled,
    interruptions: Object.fromEntries(client.interruptions),
    discovered: discovered(ran.results),
  };
  return finish({ run: ran, facts, knownCases: allCases }, options, io);
}

/** The target as no case has used it yet. */
function newTarget(
  reach: Capabilities & Pick<Target, 'client' | 'signal' | 'clock' | 'facts'>,
  control: Control | undefined,
): Target {
  return {
    ...reach,
    ...(control !== undefined && { control }),
    ledger: new BucketLedger(() => reach.facts.clock.ahead),
    startedAt: reach.clock.now(),
    waits: new Set(),
    turns: new Map(),
    waitedOut: new Set(),
    log: [],
    underWay: new Set(),
  };
}

/** Runs the cases, prints their results, and closes the connections of the target. */
async function runCases(
  target: Target,
  cases: readonly AnyCase[],
  options: ConformOptions,
  io: ConformIo,
): Promise<Run> {
  const progress = progressTo(io.error, io.isTerminal);
  try {
    return await runSuite(cases, target, {
      bail: options.bail === true,
      recheck: options.recheck === true,
      signal: target.signal,
      profile: profileOf(options),
      onResult: (result, done, total) => {
        const line = progressLine(result, done, total);
        // A terminal keeps the lines of cases that a reader must look at.
        const isKept = isFailure(result.verdict) || result.verdict === 'notice';
        if (io.isTerminal && !isKept) return progress(line.trimEnd());
        progress('');
        io.out(line);
      },
      onWait: (line) => io.isTerminal && progress(line),
    });
  } finally {
    progress('');
    await target.control?.end().catch((error: unknown) => io.error(`${String(error)}\n`));
    target.client.close();
  }
}

/** Hides the secrets of the flags in all that is printed and reported. */
function masksFor({ flags, controlToken = '', header }: ConformOptions): Masks {
  const masks = new Masks();
  const headerValues = header.map(([, value]) => value);
  for (const secret of [...keysIn(flags), controlToken, ...headerValues]) masks.hide(secret);
  return masks;
}

interface ControlUnusable {
  readonly why: string;
}

/** The control port, or why it cannot be used; undefined if none was given. */
async function reachControl(
  options: ConformOptions,
  masks: Masks,
  facts: RunFacts,
): Promise<Control | ControlUnusable | undefined> {
  const { controlUrl, controlToken, replyTimeout: timeoutMs, seed } = options;
  if (controlUrl === undefined) return undefined;
  const settings = { url: controlUrl, token: controlToken, timeoutMs, masks, seed, facts };
  const control = new Control(settings);
  try {
    await control.begin(fates);
    return control;
  } catch (error) {
    if (!(error instanceof ControlFailed)) throw error;
    const why = `cannot use the control port ${controlUrl}: ${error.message}; is it that of a simulator?`;
    return { why };
  }
}

function capabilitiesOf(options: ConformOptions): Capabilities {
  const { flags, allowTo, maxSends, timeout: timeoutMs, seed } = options;
  return {
    flags,
    seed,
    timeoutMs,
    allowTo,
    maxSends,
    isDiscovering: options.discover !== undefined,
    isOwn: options.baseUrl === undefined,
    hasControl: options.controlUrl !== undefined || options.baseUrl === undefined,
  };
}

/** The profile; by default `full` if sends cost nothing, otherwise `budget`. */
function profileOf(options: ConformOptions): Profile {
  if (options.profile !== undefined) return options.profile;
  if (options.baseUrl === undefined || options.controlUrl !== undefined) return 'full';
  return isLoopback(new URL(options.baseUrl).hostname) ? 'full' : 'budget';
}
