/**
 * The flags of `smstwin serve`, read into settings of the simulator and addresses to listen on.
 * Flags that contradict each other are refused before anything starts.
 */
import type { Command } from 'commander';
import { UsageError } from '#io/command-error.ts';
import { baseUrlValue, fileValue, isLoopback, oneOf, plainHost } from '#io/flag-values.ts';
import { type Flag, type FlagValues, flag, heading, list } from '#io/flags.ts';
import { type DependentFlag, isOnCommandLine, refuseWithoutNeeds } from '#io/given-flags.ts';
import {
  assumptionValue,
  hostNameValue,
  hostValue,
  limitValue,
  maxMessagesValue,
  portValue,
  rateValue,
  seedValue,
  shardValue,
  sizeValue,
  startTimeValue,
  tokenValue,
} from '#src/config/setting-values.ts';
import {
  clockModes,
  defaultRate,
  logModes,
  retryAfterSeconds,
  type SettingsInput,
  transports,
} from '#src/config/settings.ts';
import { tlsOf } from '#src/config/tls.ts';
import { readAssumptionsFile, readWorldFile } from '#src/config/world-file.ts';
import { defaultMaxMessages } from '#src/sim/store/retention.ts';

/** The flags of HTTPS. `record` has them, too. */
export const tlsFlags = [
  flag('--tls-cert <file>', 'serve HTTPS with this certificate (PEM)', fileValue),
  flag('--tls-key <file>', 'the private key of --tls-cert (PEM)', fileValue),
  flag('--tls <kind>', 'serve HTTPS with a certificate made at the start', oneOf(['self-signed'])),
  list(
    '--tls-name <name>',
    'also make the certificate for this host name or address',
    hostNameValue,
  ),
] as const satisfies readonly Flag[];

/** A flag that takes one of several words; the first one is its default. */
const choice = <const Text extends string, const Word extends string>(
  text: Text,
  about: string,
  words: readonly [Word, ...Word[]],
) => flag(text, about, oneOf(words), words[0]);

export const serveFlags = [
  heading('Where it listens'),
  flag('--host <host>', 'address on which the service listens', hostValue, '127.0.0.1'),
  flag('--port <port>', 'port of the service; 0 selects a free one', portValue, 8080),
  flag(
    '--control-host <host>',
    'address on which the control port listens',
    hostValue,
    '127.0.0.1',
  ),
  flag('--control-port <port>', 'control port; 0 selects a free one', portValue, 8081),
  flag('--no-control', 'do not open the control port'),
  flag('--control-token <token>', 'bearer token that the control port requires', tokenValue),
  list(
    '--control-allowed-host <name>',
    'accept this Host name on the control port, such as that of a container',
    hostNameValue,
  ),
  heading('Simulated time'),
  choice('--clock <mode>', 'what moves simulated time', clockModes),
  flag(
    '--rate <n>',
    `simulated seconds per second, scaled only (default: ${defaultRate})`,
    rateValue,
  ),
  choice(
    '--retry-after <seconds>',
    'which seconds Retry-After counts on a scaled clock; send_at is always compared with ' +
      'simulated time',
    retryAfterSeconds,
  ),
  flag('--start-time <ISO>', 'start time of a manual clock', startTimeValue),
  heading('The simulated world'),
  flag('--seed <n>', 'seed of keys, ids and random outcomes', seedValue, 1),
  flag('--world <file>', 'accounts, SIMs and fates as JSON or YAML (world.schema.json)', fileValue),
  list('--assume <name=value>', 'answer to an assumption', assumptionValue),
  flag('--assumptions <file>', 'answers to assumptions as JSON or YAML', fileValue),
  list('--limit <endpoint=N|off>', 'requests per minute of an endpoint', limitValue),
  flag('--no-limits', 'disable rate limits and quotas'),
  flag(
    '--max-messages <n>',
    'messages to hold, or unlimited; above this the oldest final ones are forgotten ' +
      `(default: ${defaultMaxMessages.toLocaleString('en')}, plus room for unfinished ones)`,
    maxMessagesValue,
  ),
  heading('Files'),
  flag(
    '--journal <file>',
    'record every input of the first world in this file; an existing run continues',
    fileValue,
  ),
  flag(
    '--journal-dir <folder>',
    'record every world in a journal of its own in this folder; all of them continue',
    fileValue,
  ),
  flag(
    '--journal-max <size>',
    'size near which a checkpoint replaces the recorded inputs (default: 1GiB)',
    sizeValue,
  ),
  flag(
    '--ready-file <file>',
    'write URLs, keys and numbers here once both ports listen',
    fileValue,
  ),
  heading('HTTP and HTTPS'),
  flag(
    '--transport <name>',
    'the HTTP server (default: hyperexpress; node with a journal, and with a scaled ' +
      'clock); only node answers HTTP/1.0 (ab, nginx by default)',
    oneOf(transports),
  ),
  flag(
    '--public-url <url>',
    'base URL to hand out (default: the Host of the request, if it is allowed)',
    baseUrlValue,
  ),
  ...tlsFlags,
  flag('--trust-proxy', 'read the client IP from X-Forwarded-For'),
  heading('Other flags'),
  choice(
    '--log <format>',
    'log to stderr: each request, and start and end with their time',
    logModes,
  ),
  flag(
    '--shard <i/N>',
    'this is server i of N of a fleet, from 0: no two draw the same id for a world',
    shardValue,
  ),
] as const satisfies readonly Flag[];

/** A fleet passes its token to its shards in this variable: other users can read a command line. */
export const shardTokenVariable = 'SHARD_CONTROL_TOKEN';

type ServeFlags = FlagValues<typeof serveFlags>;

export type ServeOptions = Awaited<ReturnType<typeof serveOptions>>;

/**
 * Reads the flags of a parsed command and the files that they name. `passedToken`: the control
 * token that a fleet passes to a shard. Throws a UsageError.
 */
export async function serveOptions(command: Command, passedToken?: string) {
  const given = command.opts<ServeFlags>();
  const flags = { ...given, controlToken: given.controlToken ?? passedToken };
  refuseWithoutPartner(command, flags);
  refuseContradictions(flags);
  const world = flags.world === undefined ? undefined : await readWorldFile(flags.world);
  const answers =
    flags.assumptions === undefined ? {} : await readAssumptionsFile(flags.assumptions);
  const settings: SettingsInput = {
    clock: flags.clock,
    retryAfterSeconds: flags.retryAfter,
    seed: flags.seed,
    assumptions: Object.assign({}, answers, ...flags.assume),
    limits: Object.assign({}, ...flags.limit),
    noLimits: !flags.limits,
    trustProxy: flags.trustProxy === true,
    log: flags.log,
    maxMessages: flags.maxMessages,
    rate: flags.rate,
    startTime: flags.startTime,
    world,
    // A setting without a flag does not compile.
  } satisfies Required<Omit<SettingsInput, 'name'>>;
  return {
    settings,
    host: flags.host,
    port: flags.port,
    transport: flags.transport,
    publicUrl: flags.publicUrl,
    readyFile: flags.readyFile,
    journal: flags.journal,
    journalDir: flags.journalDir,
    control: flags.control && {
      host: flags.controlHost,
      port: flags.controlPort,
      ...(flags.controlToken !== undefined && { token: flags.controlToken }),
      ...(flags.controlAllowedHost.length > 0 && { allowedHosts: flags.controlAllowedHost }),
    },
    tls: await tlsOf(flags, hostsInUrls(flags)),
    journalMaxBytes: flags.journalMax,
    /** Which server of a fleet this is. */
    share: flags.shard,
  };
}

function hostsInUrls({ host, publicUrl }: ServeFlags): readonly string[] {
  const names = publicUrl === undefined ? [host] : [host, new URL(publicUrl).hostname];
  return names.map(plainHost);
}

function refuseWithoutPartner(command: Command, flags: ServeFlags): void {
  const { clock, retryAfter, journal, journalDir } = flags;
  const isScaled = clock === 'scaled';
  const isRecorded = (journal ?? journalDir) !== undefined;
  const scaled = `--clock scaled; the clock is ${clock}`;
  const manual = `--clock manual; the clock is ${clock}`;
  const ofControlPort = ['controlHost', 'controlPort', 'controlToken', 'controlAllowedHost'];
  refuseWithoutNeeds(command, [
    { name: 'rate', needs: scaled, isThere: isScaled },
    { name: 'retryAfter', needs: scaled, isThere: isScaled || retryAfter === 'simulated' },
    { name: 'startTime', needs: manual, isThere: clock === 'manual' },
    { name: 'journalMax', needs: '--journal or --journal-dir', isThere: isRecorded },
    // Their variables are permitted, because the container image sets one of them.
    ...ofControlPort.map((name): DependentFlag => {
      const isThere = flags.control || !isOnCommandLine(command, name);
      return { name, needs: 'a control port: leave out --no-control', isThere };
    }),
  ]);
}

function refuseContradictions(flags: ServeFlags): void {
  if (flags.journal !== undefined && flags.journalDir !== undefined)
    throw new UsageError('--journal-dir records the first world, too: leave out --journal');
  if (!flags.control) return;
  if (!isLoopback(flags.controlHost) && flags.controlToken === undefined) {
    throw new UsageError(
      `--control-host ${flags.controlHost} is reachable from other machines: add a ` +
        '--control-token, or use 127.0.0.1',
    );
  }
  if (flags.port !== 0 && flags.port === flags.controlPort && flags.host === flags.controlHost)
    throw new UsageError(`--port and --control-port are both ${flags.port}: change one of them`);
}
