/**
 * The result of a bench run. Written as it is, it is the JSON report; the other reports read it.
 */
import { invalidity } from '../load/load-result.ts';
import { cpuOf, type Measurement, median, type Round, throughputOf } from '../measure.ts';
import type { AuditRun } from '../recount.ts';
import { type Figures, judgeSlos, type Slo } from '../slo.ts';

export type ServerFigures = ReturnType<typeof serverFigures>;
export type CaseResult = ReturnType<typeof caseResult>;

export interface BenchResult {
  readonly node: string;
  readonly started_at: string;
  readonly open_loop_rate: number | null;
  readonly connections: number;
  readonly duration_ms: number;
  /** Messages that the service held before the load; null if it is not our own. */
  readonly held: number | null;
  readonly cases: readonly CaseResult[];
  readonly audit: AuditRun | null;
}

const plottedPercentiles = [
  0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97.5, 99, 99.5, 99.9, 99.99, 100,
];

/** Replaces 0, which a histogram of Node does not accept. */
const lowestPercentile = 0.001;

export function caseResult(
  measurement: Measurement,
  { slos, isOpenLoop }: { readonly slos: readonly Slo[]; readonly isOpenLoop: boolean },
) {
  const { case: benchCase, rounds } = measurement;
  const loads = rounds.service.map(({ load }) => load);
  // The floor is the bare handler; the ratio is invalid if its load is.
  const floor = rounds.hyperexpress.map(({ load }) => load);
  /** Why there is no headline figure; empty if the run is valid. */
  const invalid: readonly string[] = [
    ...invalidity(loads, { isOpenLoop }),
    ...(floor.length === 0 ? [] : invalidity(floor, { isOpenLoop })).map((why) => `floor: ${why}`),
  ];
  const ratio = cpuOf(rounds.service) / cpuOf(rounds.hyperexpress);
  return {
    case: benchCase.name,
    scenario: benchCase.scenario,
    what: benchCase.what,
    invalid,
    /** The headline: CPU per request as a multiple of the bare HyperExpress handler's. */
    cpu_ratio: invalid.length > 0 ? null : numberOrNull(ratio),
    bar: benchCase.bar ?? null,
    without_floors: measurement.withoutFloor ?? null,
    servers: {
      ...(floor.length > 0 && { hyperexpress: serverFigures(rounds.hyperexpress) }),
      service: serverFigures(rounds.service),
    },
    start_ms: numberOrNull(measurement.startMs),
    idle_rss_bytes: numberOrNull(measurement.idleRssBytes),
    slos: judgeSlos(slos, figuresOf(rounds.service, ratio)),
    generator_cores: Math.max(...loads.map(({ generatorCores }) => generatorCores)),
    /** Seconds of load on the service, of all rounds in order. The last one is incomplete. */
    seconds: loads.flatMap(({ seconds, durationMs }) =>
      seconds.slice(0, Math.max(1, Math.floor(durationMs / 1_000))),
    ),
    /** Percentile and milliseconds, for the plot. */
    distribution: plottedPercentiles.map(
      (percent) => [percent, percentile(rounds.service, percent)] as const,
    ),
  };
}

function serverFigures(rounds: readonly Round[]) {
  const statuses: Record<string, number> = {};
  for (const { load } of rounds) {
    for (const [status, count] of Object.entries(load.statuses))
      statuses[status] = (statuses[status] ?? 0) + count;
  }
  return {
    cpu_us_per_request: numberOrNull(cpuOf(rounds)),
    requests_per_second: throughputOf(rounds),
    latency_ms: {
      p50: percentile(rounds, 50),
      p90: percentile(rounds, 90),
      p99: percentile(rounds, 99),
      p99_9: percentile(rounds, 99.9),
      max: percentile(rounds, 100),
    },
    rss_bytes: numberOrNull(Math.max(...rounds.map(({ rssBytes }) => rssBytes))),
    statuses,
    rounds: rounds.map(({ cpuMicrosPerRequest }) => numberOrNull(cpuMicrosPerRequest)),
  };
}

function figuresOf(rounds: readonly Round[], ratio: number): Figures {
  return {
    percentile: (percent) => percentile(rounds, percent),
    maxMs: percentile(rounds, 100),
    meanMs: median(rounds.map(({ load }) => load.latency.mean / 1_000)),
    perSecond: throughputOf(rounds),
    errors: rounds.reduce((sum, { load }) => sum + load.errors, 0),
    cpuMicros: numberOrNull(cpuOf(rounds)) ?? undefined,
    cpuRatio: numberOrNull(ratio) ?? undefined,
  };
}

/** Milliseconds: the median over the rounds; for the maximum, the largest. */
function percentile(rounds: readonly Round[], percent: number): number {
  if (percent >= 100) return Math.max(...rounds.map(({ load }) => load.latency.max / 1_000));
  const accepted = Math.max(percent, lowestPercentile);
  return median(rounds.map(({ load }) => load.latency.percentile(accepted) / 1_000));
}

function numberOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
