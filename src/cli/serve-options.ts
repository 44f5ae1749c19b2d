/**
 * The flags of `smstwin serve`, and what they ask for: settings of the simulator, and where and how
 * it listens. What contradicts itself is refused here, before anything starts.
 */
import { type Command, Option } from 'commander';
import { clockModes, defaultRate, logModes, type SettingsInput } from '../config/settings.ts';
import { readAssumptionsFile, readWorldFile } from '../config/world-file.ts';
import type { LimitOverrides } from '../config/world-schema.ts';
import type { Assumptions } from '../sim/assumptions.ts';
import { defectValue } from './defects.ts';
import {
  assumptionValue,
  fileValue,
  hostValue,
  isLoopback,
  limitValue,
  portValue,
  rateValue,
  seedValue,
  startTimeValue,
  tokenValue,
} from './flag-values.ts';
import { UsageError } from './usage-error.ts';

export const transports = ['hyperexpress', 'node'] as const;

export interface ServeOptions {
  readonly settings: SettingsInput;
  readonly host: string;
  readonly port: number;
  readonly control:
    | { readonly host: string; readonly port: number; readonly token?: string }
    | false;
  readonly transport: (typeof transports)[number];
  readonly readyFile: string | undefined;
  /** Where every input is recorded, or was: then the run goes on. */
  readonly journal?: string | undefined;
  /** By its name in the catalogue. */
  readonly defect?: string | undefined;
}

/** The values as commander hands them over, by attribute name. */
interface ServeFlags {
  readonly host: string;
  readonly port: number;
  readonly controlHost: string;
  readonly controlPort: number;
  readonly control: boolean;
  readonly controlToken?: string;
  readonly clock: (typeof clockModes)[number];
  readonly rate?: number;
  readonly startTime?: string;
  readonly seed: number;
  readonly world?: string;
  readonly assume: readonly Partial<Assumptions>[];
  readonly assumptions?: string;
  readonly limit: readonly LimitOverrides[];
  readonly limits: boolean;
  readonly readyFile?: string;
  readonly journal?: string;
  readonly transport: (typeof transports)[number];
  readonly trustProxy?: boolean;
  readonly log: (typeof logModes)[number];
  readonly defect?: string;
}

export function addServeFlags(command: Command): void {
  const add = (
    flags: string,
    description: string,
    fallback?: unknown,
    parse?: (text: string, earlier: never) => unknown,
  ) => {
    const described = Array.isArray(fallback) ? 'none' : undefined;
    const option = new Option(flags, description).default(fallback, described);
    command.addOption(parse === undefined ? option : option.argParser(parse as never));
  };
  const addFile = (flags: string, description: string) =>
    add(flags, description, undefined, fileValue);
  const choose = (flags: string, description: string, words: readonly string[]) =>
    command.addOption(new Option(flags, description).choices(words).default(words[0]));
  add('--host <host>', 'where the service listens', '127.0.0.1', hostValue);
  add('--port <port>', 'its port; 0: any free one', 8080, portValue);
  add('--control-host <host>', 'where the control port listens', '127.0.0.1', hostValue);
  add('--control-port <port>', 'the control port; 0: any free one', 8081, portValue);
  add('--no-control', 'open no control port');
  add(
    '--control-token <token>',
    'bearer token that the control port asks for',
    undefined,
    tokenValue,
  );
  choose('--clock <mode>', 'what moves simulated time', clockModes);
  add(
    '--rate <n>',
    `simulated seconds per second, scaled only (default: ${defaultRate})`,
    undefined,
    rateValue,
  );
  add('--start-time <ISO>', 'where a manual clock starts', undefined, startTimeValue);
  add('--seed <n>', 'decides keys, ids and chance', 1, seedValue);
  addFile('--world <file>', 'accounts, SIMs and fates, JSON or YAML (world.schema.json)');
  add('--assume <name=value>', 'answer to an assumption; repeatable', [], assumptionValue);
  addFile('--assumptions <file>', 'answers to assumptions, JSON or YAML');
  add('--limit <endpoint=N|off>', 'requests per minute; repeatable', [], limitValue);
  add('--no-limits', 'neither rate limits nor quotas');
  addFile('--journal <file>', 'record every input here; an earlier run in it goes on');
  addFile('--ready-file <file>', 'written once both ports listen: URLs, keys, numbers');
  choose('--transport <name>', 'the HTTP server', transports);
  add('--trust-proxy', 'take a client IP from X-Forwarded-For');
  choose('--log <format>', 'a line per request on stderr', logModes);
  add('--defect <name>', 'a server that breaks one rule, to test with', undefined, defectValue);
  add('--list-defects', 'print every defect and the rule that it breaks');
}

export async function serveOptions(command: Command): Promise<ServeOptions> {
  const flags = command.opts<ServeFlags>();
  refuseContradictions(flags);
  const world = flags.world === undefined ? undefined : await readWorldFile(flags.world);
  const answers =
    flags.assumptions === undefined ? {} : await readAssumptionsFile(flags.assumptions);
  return {
    settings: {
      clock: flags.clock,
      seed: flags.seed,
      assumptions: Object.assign({}, answers, ...flags.assume),
      limits: Object.assign({}, ...flags.limit),
      noLimits: !flags.limits,
      trustProxy: flags.trustProxy === true,
      log: flags.log,
      ...(flags.rate === undefined ? {} : { rate: flags.rate }),
      ...(flags.startTime === undefined ? {} : { startTime: flags.startTime }),
      ...(world === undefined ? {} : { world }),
    },
    host: flags.host,
    port: flags.port,
    control: flags.control && {
      host: flags.controlHost,
      port: flags.controlPort,
      ...(flags.controlToken === undefined ? {} : { token: flags.controlToken }),
    },
    transport: flags.transport,
    readyFile: flags.readyFile,
    journal: flags.journal,
    defect: flags.defect,
  };
}

function refuseContradictions(flags: ServeFlags): void {
  if (flags.rate !== undefined && flags.clock !== 'scaled') {
    throw new UsageError(`--rate needs --clock scaled; the clock is ${flags.clock}`);
  }
  if (flags.startTime !== undefined && flags.clock !== 'manual') {
    throw new UsageError(`--start-time needs --clock manual; the clock is ${flags.clock}`);
  }
  if (!flags.control) return;
  if (!isLoopback(flags.controlHost) && flags.controlToken === undefined) {
    throw new UsageError(
      `--control-host ${flags.controlHost} is not this machine alone: give a --control-token, or use 127.0.0.1`,
    );
  }
  if (flags.port !== 0 && flags.port === flags.controlPort && flags.host === flags.controlHost) {
    throw new UsageError(`--port and --control-port are both ${flags.port}`);
  }
}
