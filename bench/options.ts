/** The flags of `smstwin bench`. */
import { UsageError } from '#io/command-error.ts';
import {
  baseUrlValue,
  duration,
  headerValue,
  isLoopback,
  oneOf,
  phoneNumber,
  reportOf,
  wholeNumber,
} from '#io/flag-values.ts';
import {
  addArgument,
  type CommandIo,
  type FlagValues,
  flag,
  flagsIn,
  heading,
  list,
  newCommand,
  ValueError,
} from '#io/flags.ts';
import { isOnCommandLine, refuseWithoutNeeds } from '#io/given-flags.ts';
import { limitValue } from '#src/config/setting-values.ts';
import type { LimitOverrides } from '#src/config/world-schema.ts';
import { cases, type ScenarioName, scenarioNames } from './scenarios/bench-case.ts';
import { type Slo, sloValue } from './slo.ts';

type BenchFlags = FlagValues<typeof benchFlags>;
export type BenchOptions = NonNullable<ReturnType<typeof benchOptions>>;

/** Parses the arguments; undefined if `--help` or `--version` has printed its text. */
export function benchOptions(argv: readonly string[], io: CommandIo) {
  const command = newCommand('bench', 'Load a service and audit its rate limits.', io);
  addArgument(command, '[base_url]', 'the service to load; default: its own simulator', ownMachine);
  const flags = flagsIn(command, benchFlags, argv, io);
  if (flags === undefined) return undefined;
  const { scenario, duration, warmUp, rate, slo, report, limit, ...others } = flags;
  const baseUrl = command.processedArgs[0] as URL | undefined;
  const scenarios: readonly ScenarioName[] =
    scenario.length === 0 ? scenarioNames : [...new Set(scenario)];
  refuseIdleThresholds(slo, scenarios);
  const isOwn = baseUrl === undefined;
  const running = 'a base_url';
  const started = "bench's own simulator: leave out the base_url";
  refuseWithoutNeeds(command, [
    { name: 'apiKey', needs: running, isThere: !isOwn },
    { name: 'from', needs: running, isThere: !isOwn },
    { name: 'controlUrl', needs: running, isThere: !isOwn },
    { name: 'limit', needs: started, isThere: isOwn },
    { name: 'held', needs: started, isThere: isOwn },
  ]);
  // `serve` reads the same variable, so the variable alone does not imply a control port.
  if (isOnCommandLine(command, 'controlToken'))
    refuseWithoutNeeds(command, [
      { name: 'controlToken', needs: '--control-url', isThere: flags.controlUrl !== undefined },
    ]);
  if (!isOwn) refuseWithoutCaller(flags);
  const limits: LimitOverrides = Object.assign({}, ...limit);
  return {
    ...others,
    baseUrl,
    scenarios,
    limits,
    slos: slo,
    reports: report,
    durationMs: duration,
    /** A count: on a busy machine, a second may be too short for the compiler to settle. */
    warmUpRequests: warmUp,
    perSecond: rate,
  };
}

function refuseWithoutCaller({ apiKey, from, controlUrl, scenario }: BenchFlags): void {
  if (controlUrl !== undefined) return;
  if (apiKey === undefined || from === undefined)
    throw new UsageError('a base_url needs --api-key and --from, or --control-url');
  if (!scenario.includes('limit-audit')) return;
  throw new UsageError(
    'limit-audit of a base_url needs --control-url, to read its requests; for any other service: smstwin audit',
  );
}

/** Refuses a threshold that no case measures: it would look as if it had been met. */
function refuseIdleThresholds(slos: readonly Slo[], scenarios: readonly ScenarioName[]): void {
  const [idle] = slos;
  if (idle === undefined || cases.some(({ scenario }) => scenarios.includes(scenario))) return;
  throw new UsageError(
    `--slo ${idle.text}: no case of this run measures it; add a --scenario that does`,
  );
}

const countValue = wholeNumber(1, 9_999_999);

const benchFlags = [
  heading('The load'),
  list('--scenario <name>', 'what to measure', oneOf(scenarioNames), 'all'),
  flag(
    '--duration <duration>',
    'duration of load for each case, over all rounds',
    duration('100ms', '24h'),
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
  heading('Results'),
  list('--slo <threshold>', "threshold such as 'p99<50ms'; exit 7 if crossed", sloValue),
  list(
    '--report <format=file>',
    'write a report: json=FILE or html=FILE',
    reportOf(['json', 'html']),
  ),
  heading('What is loaded'),
  list('--limit <endpoint=N|off>', 'limit-audit: limits of its own simulator', limitValue),
  flag('--api-key <key>', 'with a base_url: API key of the sender', headerValue),
  flag('--from <number>', 'with a base_url: the sender number', phoneNumber),
  flag('--to <number>', 'recipient number', phoneNumber, '+12025550199'),
  flag(
    '--control-url <url>',
    "with a simulator's base_url: control port, to create callers there",
    httpAddress,
  ),
  flag('--control-token <token>', "that control port's bearer token", headerValue),
] as const;

function httpAddress(text: string): URL {
  const url = new URL(baseUrlValue(text));
  if (url.protocol === 'http:') return url;
  throw new ValueError('expected an address such as http://127.0.0.1:8080');
}

/** Only loopback may be loaded, so that a typing mistake never becomes an attack. */
function ownMachine(text: string): URL {
  const url = httpAddress(text);
  if (isLoopback(url.hostname)) return url;
  const why = 'is not this machine; a bench loads only loopback addresses';
  throw new ValueError(`${url.hostname} ${why}`);
}
