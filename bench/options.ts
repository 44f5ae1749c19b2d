/**
 * The flags of `smstwin bench`, and what they ask for.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { fitsHeader } from '../conformance/header-text.ts';
import { isWritable } from '../conformance/writable.ts';
import { isLoopback, limitValue } from '../src/cli/flag-values.ts';
import { UsageError } from '../src/cli/usage-error.ts';
import type { LimitOverrides } from '../src/config/world-schema.ts';
import { cases, type ScenarioName, scenarioNames } from './scenarios/bench-case.ts';
import { type Slo, sloValue } from './slo.ts';

export interface ReportFile {
  readonly format: 'json' | 'html';
  readonly path: string;
}

export interface BenchOptions {
  readonly baseUrl: URL | undefined;
  readonly scenarios: readonly ScenarioName[];
  readonly durationMs: number;
  readonly rounds: number;
  readonly warmUpRequests: number;
  readonly connections: number;
  /** Requests per second in open loop; undefined saturates. */
  readonly perSecond: number | undefined;
  readonly slos: readonly Slo[];
  readonly reports: readonly ReportFile[];
  readonly limits: LimitOverrides;
  readonly apiKey: string | undefined;
  readonly from: string | undefined;
  readonly to: string;
  readonly controlUrl: URL | undefined;
}

interface BenchFlags {
  readonly scenario: readonly ScenarioName[];
  readonly duration: number;
  readonly rounds: number;
  readonly warmUp: number;
  readonly connections: number;
  readonly rate?: number;
  readonly slo: readonly Slo[];
  readonly report: readonly ReportFile[];
  readonly limit: readonly LimitOverrides[];
  readonly apiKey?: string;
  readonly from?: string;
  readonly to: string;
  readonly controlUrl?: URL;
}

export function addBenchFlags(command: Command): void {
  const add = (
    flags: string,
    description: string,
    fallback?: unknown,
    parse?: (text: string, earlier: never) => unknown,
  ): void => {
    const shown = Array.isArray(fallback) ? 'none' : fallback === 10_000 ? '10s' : undefined;
    const option = new Option(flags, description).default(fallback, shown);
    command.addOption(parse === undefined ? option : option.argParser(parse as never));
  };
  command.argument('[base_url]', 'the service to load; without it, a simulator of its own');
  const names = scenarioNames.join('|');
  add(`--scenario <name>`, `${names}; repeatable; all by default`, [], scenarioValue);
  add('--duration <time>', 'of load for each case, over all rounds', 10_000, timeValue);
  add('--rounds <n>', 'how many rounds the duration is divided into', 10, countValue);
  add('--warm-up <n>', 'requests to each server before the first round', 60_000, countValue);
  add('--connections <n>', 'connections kept open', 64, countValue);
  add(
    '--rate <n>',
    'requests per second, open loop; without it, saturation',
    undefined,
    countValue,
  );
  add('--slo <threshold>', "such as 'p99<50ms'; exit 7 when crossed; repeatable", [], sloValue);
  add('--report <format=file>', 'json=F or html=F; repeatable', [], reportValue);
  add('--limit <endpoint=N|off>', "limit-audit: limits of its own simulator's", [], limitValue);
  add('--api-key <key>', 'with a base_url: who sends');
  add('--from <number>', 'with a base_url: the sender number');
  add('--to <number>', 'the recipient', '+12025550199');
  add(
    '--control-url <url>',
    "a simulator's control port: makes the callers itself",
    undefined,
    urlValue,
  );
}

export function benchOptions(command: Command): BenchOptions {
  const flags = command.opts<BenchFlags>();
  const [address] = command.args;
  const baseUrl = address === undefined ? undefined : baseUrlOf(address);
  const scenarios = flags.scenario.length === 0 ? scenarioNames : [...new Set(flags.scenario)];
  refuseIdleThresholds(flags.slo, scenarios);
  // Not while it is parsed: that line would repeat the key.
  if (!fitsHeader(flags.apiKey ?? '')) {
    throw new UsageError('--api-key holds a character that no header can carry');
  }
  if (baseUrl === undefined) {
    for (const name of ['apiKey', 'from', 'controlUrl'] as const) {
      if (flags[name] !== undefined) throw new UsageError(`--${dashed(name)} needs a base_url`);
    }
  } else {
    if (flags.limit.length > 0) throw new UsageError('--limit is for a simulator of our own');
    const isNamed = flags.apiKey !== undefined && flags.from !== undefined;
    if (!isNamed && flags.controlUrl === undefined) {
      throw new UsageError('a base_url needs --api-key and --from, or --control-url');
    }
    if (
      scenarios.includes('limit-audit') &&
      flags.controlUrl === undefined &&
      flags.scenario.length > 0
    ) {
      throw new UsageError(
        'limit-audit of a base_url needs --control-url: it reads the record there',
      );
    }
  }
  return {
    baseUrl,
    scenarios,
    durationMs: flags.duration,
    rounds: flags.rounds,
    warmUpRequests: flags.warmUp,
    connections: flags.connections,
    perSecond: flags.rate,
    slos: flags.slo,
    reports: flags.report,
    limits: Object.assign({}, ...flags.limit),
    apiKey: flags.apiKey,
    from: flags.from,
    to: flags.to,
    controlUrl: flags.controlUrl,
  };
}

/** A threshold that nothing is held against would look like one that was met. */
function refuseIdleThresholds([first]: readonly Slo[], scenarios: readonly ScenarioName[]): void {
  if (first === undefined || cases.some(({ scenario }) => scenarios.includes(scenario))) return;
  throw new UsageError(`--slo ${first.text}: no case of this run measures it`);
}

function scenarioValue(text: string, earlier: readonly ScenarioName[]): readonly ScenarioName[] {
  const name = scenarioNames.find((known) => known === text);
  if (name === undefined) throw new InvalidArgumentError(`Known are ${scenarioNames.join(', ')}.`);
  return [...earlier, name];
}

function timeValue(text: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text) ?? [];
  const ms = Number(digits ?? 0) * (unit === 'm' ? 60_000 : unit === 's' ? 1_000 : 1);
  if (ms >= 100 && ms <= 3_600_000) return ms;
  throw new InvalidArgumentError('Expected a time from 100ms to 60m, such as 10s.');
}

const mostCounted = 9_999_999;

function countValue(text: string): number {
  const count = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= mostCounted) return count;
  throw new InvalidArgumentError(`Expected a whole number from 1 to ${mostCounted}.`);
}

function reportValue(text: string, earlier: readonly ReportFile[]): readonly ReportFile[] {
  const [, format, path] = /^(json|html)=(.+)$/.exec(text) ?? [];
  if ((format !== 'json' && format !== 'html') || path === undefined) {
    throw new InvalidArgumentError('Expected json=FILE or html=FILE.');
  }
  if (!isWritable(path)) throw new InvalidArgumentError(`${path} cannot be written.`);
  return [...earlier, { format, path }];
}

function urlValue(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:') return url;
  throw new InvalidArgumentError('Expected an address such as http://127.0.0.1:8081.');
}

/** Load goes to this machine alone: a bench must not become an attack by a slip of the hand. */
function baseUrlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:') throw new UsageError(`base_url: not an http address: ${text}`);
  if (!isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) {
    throw new UsageError(
      `base_url: ${url.hostname} is not this machine; a bench loads loopback alone`,
    );
  }
  return url;
}

function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
