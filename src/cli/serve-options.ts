/**
 * The flags of `smstwin serve`, parsed into simulator settings and listening addresses.
 * Refuses contradictions before anything starts.
 */
import type { Command } from 'commander';
import { UsageError } from '../commands/command-error.ts';
import { fileValue, isLoopback, oneOf } from '../commands/flag-values.ts';
import { addFlags, type Flag, type FlagValues } from '../commands/flags.ts';
import {
  clockModes,
  defaultRate,
  logModes,
  retryAfterSeconds,
  type SettingsInput,
  type Share,
} from '../config/settings.ts';
import { type ServedTls, tlsOf } from '../config/tls.ts';
import { readAssumptionsFile, readWorldFile } from '../config/world-file.ts';
import { defaultMaxMessages } from '../sim/message-store.ts';
import {
  assumptionValue,
  baseUrlValue,
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
} from './flag-values.ts';

export const transports = ['hyperexpress', 'node'] as const;

/** Also of other commands that serve. */
export const tlsFlags = [
  { flag: '--tls-cert <file>', about: 'serve HTTPS with this certificate (PEM)', parse: fileValue },
  { flag: '--tls-key <file>', about: 'the private key of --tls-cert (PEM)', parse: fileValue },
  {
    flag: '--tls <kind>',
    about: 'serve HTTPS with a certificate made at the start: self-signed',
    parse: oneOf(['self-signed']),
  },
  {
    flag: '--tls-name <name>',
    about: 'also make the certificate for this host name or address',
    parse: hostNameValue,
    repeatable: true,
  },
] as const satisfies readonly Flag[];

const file = <const Text extends string>(flag: Text, about: string) =>
  ({ flag, about, parse: fileValue }) as const;
const choice = <const Text extends string, const Word extends string>(
  flag: Text,
  about: string,
  words: readonly Word[],
) =>
  ({
    flag,
    about: `${about}: ${words.join('|')}`,
    parse: oneOf(words),
    fallback: words[0],
  }) as const;

const serveFlags = [
  {
    flag: '--host <host>',
    about: 'address on which the service listens',
    parse: hostValue,
    fallback: '127.0.0.1',
  },
  {
    flag: '--port <port>',
    about: 'port of the service; 0 selects a free one',
    parse: portValue,
    fallback: 8080,
  },
  {
    flag: '--control-host <host>',
    about: 'address on which the control port listens',
    parse: hostValue,
    fallback: '127.0.0.1',
  },
  {
    flag: '--control-port <port>',
    about: 'control port; 0 selects a free one',
    parse: portValue,
    fallback: 8081,
  },
  { flag: '--no-control', about: 'do not open the control port' },
  {
    flag: '--control-token <token>',
    about: 'bearer token that the control port requires',
    parse: tokenValue,
  },
  {
    flag: '--control-allowed-host <name>',
    about: 'accept this Host name on the control port, such as that of a container',
    parse: hostNameValue,
    repeatable: true,
  },
  choice('--clock <mode>', 'what moves simulated time', clockModes),
  {
    flag: '--rate <n>',
    about: `simulated seconds per second, scaled only (default: ${defaultRate})`,
    parse: rateValue,
  },
  choice(
    '--retry-after <seconds>',
    'which seconds Retry-After counts on a scaled clock; send_at is always compared with ' +
      'simulated time',
    retryAfterSeconds,
  ),
  {
    flag: '--start-time <ISO>',
    about: 'start time of a manual clock',
    parse: startTimeValue,
  },
  {
    flag: '--seed <n>',
    about: 'seed of keys, ids and random outcomes',
    parse: seedValue,
    fallback: 1,
  },
  file('--world <file>', 'accounts, SIMs and fates as JSON or YAML (world.schema.json)'),
  {
    flag: '--assume <name=value>',
    about: 'answer to an assumption',
    parse: assumptionValue,
    repeatable: true,
  },
  file('--assumptions <file>', 'answers to assumptions as JSON or YAML'),
  {
    flag: '--limit <endpoint=N|off>',
    about: 'requests per minute of an endpoint',
    parse: limitValue,
    repeatable: true,
  },
  { flag: '--no-limits', about: 'disable rate limits and quotas' },
  {
    flag: '--max-messages <n>',
    about:
      'messages to hold, or unlimited; above this the oldest final ones are forgotten ' +
      `(default: ${defaultMaxMessages.toLocaleString('en')}, plus room for unfinished ones)`,
    parse: maxMessagesValue,
  },
  file(
    '--journal <file>',
    'record every input of the first world in this file; an existing run continues',
  ),
  file(
    '--journal-dir <folder>',
    'record every world in a journal of its own in this folder; all of them continue',
  ),
  {
    flag: '--journal-max <size>',
    about: 'size near which a checkpoint replaces the recorded inputs',
    parse: sizeValue,
    shown: '1GiB',
  },
  file('--ready-file <file>', 'write URLs, keys and numbers here once both ports listen'),
  choice(
    '--transport <name>',
    'the HTTP server; only node answers HTTP/1.0 (ab, nginx by default)',
    transports,
  ),
  {
    flag: '--public-url <url>',
    about: 'base URL to hand out (default: the Host of the request, if it is allowed)',
    parse: baseUrlValue,
  },
  ...tlsFlags,
  { flag: '--trust-proxy', about: 'read the client IP from X-Forwarded-For' },
  choice('--log <format>', 'log one line per request to stderr', logModes),
  {
    flag: '--shard <i/N>',
    about: 'this is server i of N of a fleet, from 0: no two draw the same id for a world',
    parse: shardValue,
  },
] as const satisfies readonly Flag[];

type ServeFlags = FlagValues<typeof serveFlags>;

type AsGiven = 'host' | 'port' | 'transport' | 'publicUrl' | 'readyFile' | 'journal' | 'journalDir';
export interface ServeOptions extends Pick<ServeFlags, AsGiven> {
  readonly settings: SettingsInput;
  readonly control:
    | {
        readonly host: string;
        readonly port: number;
        readonly token?: string;
        readonly allowedHosts?: readonly string[];
      }
    | false;
  readonly tls: ServedTls | undefined;
  readonly journalMaxBytes?: number;
  /** Which server of a fleet this is. */
  readonly share: Share | undefined;
}

export function addServeFlags(command: Command): void {
  addFlags(command, serveFlags);
}

export async function serveOptions(command: Command): Promise<ServeOptions> {
  const flags = command.opts<ServeFlags>();
  refuseContradictions(flags);
  const world = flags.world === undefined ? undefined : await readWorldFile(flags.world);
  const answers =
    flags.assumptions === undefined ? {} : await readAssumptionsFile(flags.assumptions);
  const { host, port, transport, publicUrl, readyFile, journal, journalDir } = flags;
  return {
    ...{ host, port, transport, publicUrl, readyFile, journal, journalDir },
    settings: {
      clock: flags.clock,
      retryAfterSeconds: flags.retryAfter,
      seed: flags.seed,
      assumptions: Object.assign({}, answers, ...flags.assume),
      limits: Object.assign({}, ...flags.limit),
      noLimits: !flags.limits,
      trustProxy: flags.trustProxy === true,
      log: flags.log,
      ...(flags.maxMessages === undefined ? {} : { maxMessages: flags.maxMessages }),
      ...(flags.rate === undefined ? {} : { rate: flags.rate }),
      ...(flags.startTime === undefined ? {} : { startTime: flags.startTime }),
      ...(world === undefined ? {} : { world }),
    },
    control: flags.control && {
      host: flags.controlHost,
      port: flags.controlPort,
      ...(flags.controlToken === undefined ? {} : { token: flags.controlToken }),
      ...(flags.controlAllowedHost.length > 0 && { allowedHosts: flags.controlAllowedHost }),
    },
    tls: await tlsOf(flags, handedOut(flags)),
    ...(flags.journalMax !== undefined && { journalMaxBytes: flags.journalMax }),
    share: flags.shard,
  };
}

/** The host names that the URLs of the service show. */
function handedOut({ host, publicUrl }: ServeFlags): readonly string[] {
  const names = publicUrl === undefined ? [host] : [host, new URL(publicUrl).hostname];
  return names.map((name) => name.replace(/^\[|\]$/g, ''));
}

function refuseContradictions(flags: ServeFlags): void {
  if (flags.rate !== undefined && flags.clock !== 'scaled') {
    throw new UsageError(`--rate needs --clock scaled; the clock is ${flags.clock}`);
  }
  if (flags.startTime !== undefined && flags.clock !== 'manual') {
    throw new UsageError(`--start-time needs --clock manual; the clock is ${flags.clock}`);
  }
  if (flags.journal !== undefined && flags.journalDir !== undefined) {
    throw new UsageError('--journal-dir records the first world, too: leave out --journal');
  }
  if (flags.journalMax !== undefined && (flags.journal ?? flags.journalDir) === undefined) {
    throw new UsageError('--journal-max needs --journal or --journal-dir');
  }
  if (!flags.control) return;
  if (!isLoopback(flags.controlHost) && flags.controlToken === undefined) {
    throw new UsageError(
      `--control-host ${flags.controlHost} is reachable from other machines: add a ` +
        '--control-token, or use 127.0.0.1',
    );
  }
  if (flags.port !== 0 && flags.port === flags.controlPort && flags.host === flags.controlHost) {
    throw new UsageError(`--port and --control-port are both ${flags.port}`);
  }
}
