/** The flags of `smstwin bench`. */
import type { Command } from 'commander';
import { dayMs } from '#contract/time.ts';
import { UsageError } from '#io/command-error.ts';
import {
  duration,
  headerValue,
  isLoopback,
  oneOf,
  reportOf,
  wholeNumber,
} from '#io/flag-values.ts';
import {
  addArgument,
  addFlags,
  type Flag,
  type FlagValues,
  flag,
  list,
  ValueError,
} from '#io/flags.ts';
import { limitValue } from '#src/config/setting-values.ts';
import type { LimitOverrides } from '#src/config/world-schema.ts';
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
    ...others,
    baseUrl,
    scenarios,
    limits,
    slos: slo,
    reports: report,
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
  list('--scenario <name>', scenarioNames.join('|'), oneOf(scenarioNames), 'all but endurance'),
  flag(
    '--duration <time>',
    'duration of load for each case, over all rounds; give endurance 10m',
    duration({
      leastMs: 100,
      mostMs: dayMs,
      expected: 'a time from 100ms to 24h, such as 10s',
    }),
    10_000,
    '10s',
  ),
  flag('--rounds <n>', 'number of rounds that share the duration', countValue, 10),
  flag('--warm-up <n>', 'requests to each server before the first round', countValue, 60_000),
  flag('--connections <n>', 'number of open connections', countValue, 64),
  flag(
    '--held <n>',
    'messages that its own simulator holds before the first round',
    wholeNumber(0, 2_000_000),
    1_000_000,
  ),
  flag('--rate <n>', 'requests per second in open loop; default: saturation', countValue),
  list('--slo <threshold>', "threshold such as 'p99<50ms'; exit 7 if crossed", sloValue),
  list(
    '--report <format=file>',
    'write a report: json=FILE or html=FILE',
    reportOf(['json', 'html']),
  ),
  list('--limit <endpoint=N|off>', 'limit-audit: limits of its own simulator', limitValue),
  flag('--api-key <key>', 'with a base_url: API key of the sender', headerValue),
  flag('--from <number>', 'with a base_url: the sender number', (text) => text),
  flag('--to <number>', 'recipient number', (text) => text, '+12025550199'),
  flag(
    '--control-url <url>',
    "with a simulator's base_url: control port, to create callers there",
    httpAddress,
  ),
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
