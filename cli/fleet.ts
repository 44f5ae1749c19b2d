/**
 * `smstwin fleet`: several `serve` processes behind HAProxy, on one base URL and one control URL.
 */
import { mkdirSync } from 'node:fs';
import type { FleetOptions } from '#fleet/fleet.ts';
import { fixedClientIp } from '#fleet/refusals.ts';
import type { JoinedShard } from '#fleet/shard-supervisor.ts';
import { UsageError } from '#io/command-error.ts';
import { duration, fileValue, isWebAddress, wholeNumber } from '#io/flag-values.ts';
import {
  addFlags,
  type CommandIo,
  type FlagValues,
  flag,
  flagsIn,
  heading,
  newCommand,
} from '#io/flags.ts';
import { passedOn, refuseWithoutNeeds, withoutFlags } from '#io/given-flags.ts';
import { parseJson, readGiven, reasonOf } from '#io/plain-file.ts';
import { isExecutable } from '#io/shipped-files.ts';
import { foreignText } from '#io/terminal.ts';
import { portValue } from '#src/config/setting-values.ts';
import { defaultAssumptions } from '#src/sim/assumptions.ts';
import { closeAtStop, stopSignal, timedNoticesTo } from './process.ts';
import { announce } from './serve/banner.ts';
import { prepareReadyFile } from './serve/ready-file.ts';
import {
  type ServeOptions,
  serveFlags,
  serveOptions,
  shardTokenVariable,
} from './serve/serve-options.ts';

const mostShards = 64;
/** More than the default of `closeAtStop`, because a shard may take 4.5 seconds to stop. */
const exitWithinMs = 4_900;
const mostJoinBytes = 1_048_576;

/** Flags of `serve` that the shards do not get: the fleet uses them itself, or sets its own. */
export const notPassedOn = [
  '--host',
  '--port',
  '--control-host',
  '--control-port',
  '--no-control',
  '--ready-file',
  '--public-url',
  '--trust-proxy',
  '--journal-dir',
  '--shard',
  '--control-allowed-host',
  '--tls',
  '--tls-cert',
  '--tls-key',
  '--tls-name',
  '--control-token',
];

const fleetFlags = [
  heading('The fleet'),
  flag('--shards <n>', 'processes to start', wholeNumber(1, mostShards), 2),
  flag(
    '--shard-timeout <duration>',
    'how long requests wait for a shard that starts again; then 503',
    duration('1ms', '10m'),
    10_000,
    '10s',
  ),
  flag(
    '--join <file>',
    'a JSON list of {"base_url", "control_url"} of running `serve` processes, not --shards',
    fileValue,
  ),
  flag(
    '--print-config <dir>',
    "with --join: write HAProxy's configuration and maps here, and start nothing",
    fileValue,
  ),
  flag('--wide', 'the first world spans all shards, by account'),
  flag('--stats-port <port>', "port of HAProxy's page", portValue),
] as const;

type FleetFlags = FlagValues<typeof fleetFlags>;

export async function fleet(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand(
    'fleet',
    'Run several simulators behind HAProxy, on one address. Takes the flags of `serve`, too.',
    io,
  );
  const flags = flagsIn(command, [...fleetFlags, ...serveFlags], argv, io);
  if (flags === undefined) return 0;
  const options = await serveOptions(command);
  const hasShards = command.getOptionValueSource('shards') !== 'default';
  refuseWithoutNeeds(command, [
    { name: 'printConfig', needs: '--join', isThere: flags.join !== undefined },
  ]);
  refuseContradictions(flags, options, hasShards);
  const joined = flags.join === undefined ? undefined : readJoined(flags.join);
  if (flags.printConfig !== undefined) createFolder(flags.printConfig);
  const shardCommand = newCommand('serve', '', io);
  addFlags(shardCommand, serveFlags);
  const shardFlags = passedOn({ from: command, to: shardCommand, except: notPassedOn });
  return run({ flags, options, joined, shardFlags }, io);
}

interface CheckedFlags {
  readonly flags: FleetFlags;
  readonly options: ServeOptions;
  readonly joined: readonly JoinedShard[] | undefined;
  /** The flags of each `serve` process. */
  readonly shardFlags: readonly string[];
}

/** Starts the fleet, and stops it at a signal. */
async function run({ flags, options, joined, shardFlags }: CheckedFlags, io: CommandIo) {
  const { settings, host, port, control, publicUrl, tls, journalDir, readyFile } = options;
  const { token } = control || {};
  const secret = token === undefined ? {} : { [shardTokenVariable]: token };
  const env = { ...withoutFlags(io.env), ...secret };
  const { findHaproxy } = await import('#fleet/haproxy.ts');
  findHaproxy(env);
  if (readyFile !== undefined) prepareReadyFile(readyFile);
  const { Fleet } = await import('#fleet/fleet.ts');
  const { stopped, stop } = stopSignal();
  const { log = 'off' } = settings;
  const notice = timedNoticesTo(io, log);
  const lifecycle = log === 'off' ? () => {} : notice;
  const started = await Fleet.start({
    shards: joined?.length ?? flags.shards,
    join: joined,
    printTo: flags.printConfig,
    program: {
      file: process.execPath,
      argv: isExecutable ? [] : [...process.execArgv, process.argv[1] ?? ''],
    },
    flags: shardFlags,
    env,
    ...{ host, port, control, publicUrl, tls, journalDir },
    trustProxy: settings.trustProxy === true,
    wide: flags.wide ? wideWorldOf(options) : undefined,
    shardTimeoutMs: flags.shardTimeout,
    statsPort: flags.statsPort,
    notice,
    onLine: (line) => io.error(`${foreignText(line)}\n`),
    onShutdown: stop,
  });
  if (flags.printConfig !== undefined) {
    await started.stop();
    return 0;
  }
  announce(started.readyFile, options, io);
  lifecycle(`started: serves ${started.readyFile.base_url}`);
  return closeAtStop(stopped, () => started.stop(), { withinMs: exitWithinMs, lifecycle });
}

/** `hasShards`: true if the user gave `--shards`. Throws a UsageError. */
function refuseContradictions(flags: FleetFlags, options: ServeOptions, hasShards: boolean): void {
  if (options.journal !== undefined)
    throw new UsageError('--journal records one process: use --journal-dir');
  if (options.share !== undefined)
    throw new UsageError('--shard is a flag of serve: a fleet numbers its shards; use --shards');
  if (flags.join !== undefined && hasShards)
    throw new UsageError('--join names the shards that run already: leave out --shards');
  if (answersIn(options).clientIp === 'peer') throw new UsageError(`clientIp: ${fixedClientIp}`);
}

/** The answers to assumptions that the user gave; flags win over the world file. */
function answersIn({ settings }: ServeOptions) {
  return { ...settings.world?.assumptions, ...settings.assumptions };
}

function wideWorldOf(options: ServeOptions): FleetOptions['wide'] {
  const answers = { ...defaultAssumptions, ...answersIn(options) };
  const { maxMessages } = options.settings;
  return {
    // If a poll takes only some messages, accounts that send from the pool compete for them.
    couplesPool: answers.sendsPerPoll !== 'all',
    bearer: answers,
    maxMessages: typeof maxMessages === 'number' ? maxMessages : undefined,
  };
}

function readJoined(file: string): readonly JoinedShard[] {
  const isUrl = (url: unknown) => typeof url === 'string' && isWebAddress(url);
  const isShard = (entry: JoinedShard | null) =>
    isUrl(entry?.base_url) && isUrl(entry?.control_url);
  const list = parseJson(`--join ${file}`, readGiven(file, '--join', mostJoinBytes));
  if (Array.isArray(list) && list.length > 0 && list.every(isShard)) {
    refuseTwice(file, list);
    return list;
  }
  throw new UsageError(`--join ${file}: expected a JSON list of {"base_url", "control_url"}`);
}

/** Each change would happen twice in a shard that is listed twice. */
function refuseTwice(file: string, shards: readonly JoinedShard[]): void {
  for (const kind of ['base_url', 'control_url'] as const) {
    const seen = new Set<string>();
    for (const { [kind]: url } of shards) {
      const { href } = new URL(url);
      if (seen.has(href)) throw new UsageError(`--join ${file}: list ${kind} ${url} only once`);
      seen.add(href);
    }
  }
}

/** Creates the folder of `--print-config`. */
function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new UsageError(`--print-config ${folder}: ${reasonOf(error)}`);
  }
}
