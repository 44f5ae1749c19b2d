/**
 * The flags of `smstwin bench`.
 */
import type { Command } from 'commander';
import { limitValue } from '../src/cli/flag-values.ts';
import { UsageError } from '../src/commands/command-error.ts';
import {
  duration,
  headerValue,
  isLoopback,
  oneOf,
  reportOf,
  wholeNumber,
} from '../src/commands/flag-values.ts';
import {
  addArgument,
  addFlags,
  type Flag,
  type FlagValues,
  ValueError,
} from '../src/commands/flags.ts';
import type { LimitOverrides } from '../src/config/world-schema.ts';
import { cases, type ScenarioName, scenarioNames, shortScenarios } from './scenarios/bench-case.ts';
import { isEnduranceOnly, type Slo, sloValue } from './slo.ts';

type BenchFlags = FlagValues<typeof benchFlags>;
export type BenchOptions = ReturnType<typeof benchOptions>;

export function addBenchFlags(command: Command): void {
  addArgument(command, '[base_url]', 'the service to load; default: its own simulator', ownMachine);
  addFlags(command, benchFlags);
}

export function benchOptions(command: Command) {
  const flags = command.opts<BenchFlags>();
  const { scenario, duration, warmUp, rate, slo, report, limit, ...others } = flags;
  const baseUrl = command.processedArgs[0] as URL | undefined;
  const scenarios: readonly ScenarioName[] =
    scenario.length === 0 ? shortScenarios : [...new Set(scenario)];
  refuseIdleThresholds(slo, scenarios);
  if (baseUrl === undefined) refuseFlagsOfBaseUrl(flags);
  else refuseFlagsOfOwnServer(flags);
  const limits: LimitOverrides = Object.assign({}, ...limit);
  return {
    ...{ ...others, baseUrl, scenarios, limits, slos: slo, reports: report },
    /** Duration of the load on the service, over all rounds. */
    durationMs: duration,
    /** A count, as on a busy machine a second may be too short for the compiler to settle. */
    warmUpRequests: warmUp,
    /** Requests per second in open loop; undefined saturates. */
    perSecond: rate,
  };
}

function refuseFlagsOfBaseUrl(flags: BenchFlags): void {
  for (const name of ['apiKey', 'from', 'controlUrl'] as const) {
    if (flags[name] !== undefined)
      throw new UsageError(`--${dashed(name)} needs a base_url; add it or leave the flag out`);
  }
}

function refuseFlagsOfOwnServer({ limit, apiKey, from, controlUrl, scenario }: BenchFlags): void {
  if (limit.length > 0)
    throw new UsageError(
      '--limit sets limits of the simulator that bench starts; leave out the base_url',
    );
  if (controlUrl !== undefined) return;
  if (apiKey === undefined || from === undefined) {
    throw new UsageError('a base_url needs --api-key and --from, or --control-url');
  }
  if (scenario.includes('limit-audit')) {
    throw new UsageError(
      'limit-audit of a base_url needs --control-url, to read its record of requests',
    );
  }
}

/** Refuses a threshold that no case measures: it would look as if it had been met. */
function refuseIdleThresholds(slos: readonly Slo[], scenarios: readonly ScenarioName[]): void {
  const endures = scenarios.includes('endurance');
  const isMeasured = cases.some(({ scenario }) => scenarios.includes(scenario));
  const idle = isMeasured
    ? slos.find(({ metric }) => isEnduranceOnly(metric) && !endures)
    : slos[0];
  if (idle === undefined) return;
  throw new UsageError(
    `--slo ${idle.text}: no case of this run measures it; add a --scenario that does`,
  );
}

const countValue = wholeNumber(1, 9_999_999);

const benchFlags = [
  {
    flag: '--scenario <name>',
    about: scenarioNames.join('|'),
    parse: oneOf(scenarioNames),
    repeatable: true,
    shown: 'all but endurance',
  },
  {
    flag: '--duration <time>',
    about: 'duration of load for each case, over all rounds; give endurance 10m',
    parse: duration({
      leastMs: 100,
      mostMs: 24 * 3_600_000,
      expected: 'a time from 100ms to 24h, such as 10s',
    }),
    fallback: 10_000,
    shown: '10s',
  },
  {
    flag: '--rounds <n>',
    about: 'number of rounds that share the duration',
    parse: countValue,
    fallback: 10,
  },
  {
    flag: '--warm-up <n>',
    about: 'requests to each server before the first round',
    parse: countValue,
    fallback: 60_000,
  },
  {
    flag: '--connections <n>',
    about: 'number of open connections',
    parse: countValue,
    fallback: 64,
  },
  {
    flag: '--held <n>',
    about: 'messages that its own simulator holds before the first round',
    parse: wholeNumber(0, 2_000_000),
    fallback: 1_000_000,
  },
  {
    flag: '--rate <n>',
    about: 'requests per second in open loop; default: saturation',
    parse: countValue,
  },
  {
    flag: '--slo <threshold>',
    about: "threshold such as 'p99<50ms'; exit 7 if crossed",
    parse: sloValue,
    repeatable: true,
  },
  {
    flag: '--report <format=file>',
    about: 'write a report: json=FILE or html=FILE',
    parse: reportOf(['json', 'html']),
    repeatable: true,
  },
  {
    flag: '--limit <endpoint=N|off>',
    about: 'limit-audit: limits of its own simulator',
    parse: limitValue,
    repeatable: true,
  },
  {
    flag: '--api-key <key>',
    about: 'with a base_url: API key of the sender',
    parse: headerValue,
  },
  { flag: '--from <number>', about: 'with a base_url: the sender number' },
  { flag: '--to <number>', about: 'recipient number', fallback: '+12025550199' },
  {
    flag: '--control-url <url>',
    about: "with a simulator's base_url: control port, to create callers there",
    parse: httpAddress,
  },
] as const satisfies readonly Flag[];

function httpAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:') return url;
  throw new ValueError('expected an address such as http://127.0.0.1:8080');
}

/** Only loopback may be loaded, so that a typing mistake never becomes an attack. */
function ownMachine(text: string): URL {
  const url = httpAddress(text);
  if (isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) return url;
  throw new ValueError(
    `${url.hostname} is not this machine; a bench loads only loopback addresses`,
  );
}

function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
