/**
 * The command `smstwin conform`: reads flags, runs cases against a target, writes reports and
 * returns one exit code. It does not import the simulator: the caller passes in a function that
 * starts one.
 */
import { setMaxListeners } from 'node:events';
import { CommandError, printedError, UsageError } from '../src/commands/command-error.ts';
import type { CommandIo } from '../src/commands/flags.ts';
import type { TrafficReader } from '../src/commands/recorded-traffic.ts';
import { smstwinVersion } from '../src/commands/version.ts';
import { BucketLedger } from './buckets.ts';
import type { AnyCase } from './case.ts';
import { allCases } from './cases/all.ts';
import { Client } from './client.ts';
import { type Clock, wallClock } from './clock.ts';
import { Control, ControlFailed, controlledClock } from './control.ts';
import { Masks } from './exchange.ts';
import { finish, type Streams } from './finish.ts';
import { KeptBodies } from './kept-bodies.ts';
import { Known } from './known.ts';
import { type ConformOptions, parseOptions } from './options.ts';
import { discovered } from './outcome.ts';
import { dryRun, listing, select } from './plan.ts';
import { progressLine } from './reports/text.ts';
import { type Run, runSuite, unreached } from './suite.ts';
import { fates, type Means, type Profile, type Target } from './target.ts';
import { keysIn } from './target-flags.ts';
import { conformTraffic } from './traffic/run-traffic.ts';

export interface OwnSimulator {
  readonly baseUrl: string;
  readonly controlUrl: string;
  close(): Promise<void>;
}

export interface ConformIo extends Streams {
  readonly env?: CommandIo['env'];
  /** Starts a simulator for a run without a base_url; its clock may be in any mode. */
  readonly startOwn?: () => Promise<OwnSimulator>;
  /** Reads recorded traffic. */
  readonly readTraffic?: TrafficReader;
  /** Default: the wall clock. */
  readonly clock?: Clock;
  /** Interrupts the run. Default: SIGINT does. */
  readonly signal?: AbortSignal;
  /** True if a person watches the output: says what the run waits for. */
  readonly isTerminal?: boolean;
}

export async function conform(argv: readonly string[], io: ConformIo): Promise<number> {
  try {
    const { stdout: out, stderr: error, env = process.env } = io;
    const options = parseOptions(argv, { out, error, env, version: smstwinVersion() });
    return options === undefined ? 0 : await carryOut(options, io);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    io.stderr(printedError('conform', error));
    return error.exitCode;
  }
}

/** Lists, estimates or runs the cases, or judges recorded traffic: whatever the options say. */
async function carryOut(options: ConformOptions, io: ConformIo): Promise<number> {
  const { traffic } = options;
  if (traffic !== undefined) {
    const { readTraffic } = io;
    if (readTraffic === undefined) throw new UsageError('there is nothing to read traffic with');
    return conformTraffic(options, traffic, { ...io, readTraffic });
  }
  const unmatched = options.patterns.filter((pattern) => select(allCases, [pattern]).length === 0);
  if (unmatched.length > 0) {
    // No case is run: otherwise a misspelt rule would look as if it had been checked.
    throw new CommandError(4, `no case matches ${unmatched.join(' ')}`);
  }
  const cases = select(allCases, options.patterns);
  if (options.list) {
    io.stdout(listing(cases));
    return 0;
  }
  if (options.dryRun) {
    io.stdout(dryRun(cases, meansOf(options), profileOf(options)));
    return 0;
  }
  if (options.baseUrl !== undefined) return withSignal(cases, options, io, options.baseUrl);
  if (io.startOwn === undefined)
    throw new UsageError('base_url is missing, and there is no simulator to start');
  const own = await io.startOwn();
  try {
    return await withSignal(cases, { ...options, controlUrl: own.controlUrl }, io, own.baseUrl);
  } finally {
    await own.close();
  }
}

/** Runs the cases; SIGINT interrupts them, unless the caller has passed a signal. */
async function withSignal(
  cases: readonly AnyCase[],
  options: ConformOptions,
  io: ConformIo,
  baseUrl: string,
): Promise<number> {
  if (io.signal !== undefined) return run(cases, options, io, baseUrl, io.signal);
  const controller = new AbortController();
  const interrupt = () => controller.abort();
  process.once('SIGINT', interrupt);
  try {
    return await run(cases, options, io, baseUrl, controller.signal);
  } finally {
    process.removeListener('SIGINT', interrupt);
  }
}

async function run(
  cases: readonly AnyCase[],
  options: ConformOptions,
  io: ConformIo,
  baseUrl: string,
  signal: AbortSignal,
): Promise<number> {
  // Every request in flight listens to this signal.
  setMaxListeners(0, signal);
  const startedAt = new Date();
  const masks = new Masks();
  for (const key of [...keysIn(options.flags), options.controlToken ?? '']) masks.hide(key);
  const known = new Known(options.flags, meansOf(options).isOwn);
  const control = await reachControl(options, masks, known);
  const clock = control instanceof Control ? controlledClock(control) : (io.clock ?? wallClock);
  const client = new Client({
    bodies: new KeptBodies(),
    baseUrl,
    maxSends: options.maxSends,
    allowTo: options.allowTo,
    timeoutMs: options.replyTimeout,
    masks,
    signal,
    clock: { now: clock.now, sleep: (io.clock ?? wallClock).sleep },
  });
  const ran =
    typeof control === 'string'
      ? unreached(cases, masks.clean(control))
      : await runWith(control, cases, options, io, { client, signal, clock, known });
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
  return finish(ran, facts, allCases, options, io);
}

async function runWith(
  control: Control | undefined,
  cases: readonly AnyCase[],
  options: ConformOptions,
  io: ConformIo,
  means: Pick<Target, 'client' | 'signal' | 'clock' | 'known'>,
): Promise<Run> {
  const { client, signal, clock } = means;
  const controlled = control === undefined ? {} : { control };
  const fresh = {
    ledger: new BucketLedger(),
    startedAt: clock.now(),
    waits: new Set<never>(),
    turns: new Map<string, Promise<unknown>>(),
    unexplained429s: new Set<never>(),
    log: [],
  };
  const target: Target = { ...meansOf(options), ...means, ...fresh, ...controlled };
  try {
    return await runSuite(cases, target, {
      bail: options.bail === true,
      recheck: options.recheck === true,
      signal,
      profile: profileOf(options),
      onResult: (result, done, total) => io.stdout(progressLine(result, done, total)),
      onWait: (line) => (io.isTerminal ? io.stdout(`${line}\n`) : undefined),
    });
  } finally {
    await control?.end().catch((error: unknown) => io.stderr(`${String(error)}\n`));
    client.close();
  }
}

/** The control port; undefined if none was given, or a text that says why it cannot be used. */
async function reachControl(
  options: ConformOptions,
  masks: Masks,
  known: Known,
): Promise<Control | undefined | string> {
  const { controlUrl, controlToken, replyTimeout: timeoutMs, seed } = options;
  if (controlUrl === undefined) return undefined;
  const settings = { url: controlUrl, token: controlToken, timeoutMs, masks, seed, known };
  const control = new Control(settings);
  try {
    await control.begin(fates);
    return control;
  } catch (error) {
    if (!(error instanceof ControlFailed)) throw error;
    return `the control port ${controlUrl} cannot be used: ${error.message}`;
  }
}

function meansOf(options: ConformOptions): Means {
  const { flags, allowTo, maxSends, timeout: timeoutMs, seed } = options;
  return {
    flags,
    seed,
    timeoutMs,
    allowTo,
    maxSends,
    discovers: options.discover !== undefined,
    isOwn: options.baseUrl === undefined,
    hasControl: options.controlUrl !== undefined || options.baseUrl === undefined,
  };
}

/** The profile; by default `full` where sends cost nothing, and `budget` elsewhere. */
function profileOf(options: ConformOptions): Profile {
  if (options.profile !== undefined) return options.profile;
  if (options.baseUrl === undefined || options.controlUrl !== undefined) return 'full';
  const { hostname } = new URL(options.baseUrl);
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname) ? 'full' : 'budget';
}
