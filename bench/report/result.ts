/**
 * The result of a bench run. Written as it is, it is the JSON report; the other reports read it. At
 * the terminal each case has its headline, which is the CPU per request as a multiple of the bare
 * handler's, then a table of its servers, then its thresholds.
 */
import { type AuditRun, isBroken } from '#judging/limiter/recount.ts';
import { invalidity, median } from '../load/load-result.ts';
import { cpuOf, type Measurement, type Round, servers, throughputOf } from '../measure.ts';
import { type Figures, judged, type Slo } from '../slo.ts';

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

const plotted = [
  0, 10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97.5, 99, 99.5, 99.9, 99.99, 100,
];

/** In place of 0, which a histogram of Node does not accept. */
const lowestPercentile = 0.001;

export function caseResult(measurement: Measurement, slos: readonly Slo[], isOpenLoop: boolean) {
  const { case: benchCase, rounds } = measurement;
  const loads = rounds.service.map(({ load }) => load);
  // The floor is the bare handler; the ratio is invalid if its load is.
  const floor = rounds.hyperexpress.map(({ load }) => load);
  /** Why there is no headline figure; empty if the run is valid. */
  const invalid: readonly string[] = [
    ...invalidity(loads, isOpenLoop),
    ...(floor.length === 0 ? [] : invalidity(floor, isOpenLoop)).map((why) => `floor: ${why}`),
  ];
  const ratio = cpuOf(rounds.service) / cpuOf(rounds.hyperexpress);
  return {
    case: benchCase.name,
    scenario: benchCase.scenario,
    what: benchCase.what,
    invalid,
    /** The headline: CPU per request as a multiple of the bare HyperExpress handler's. */
    cpu_ratio: invalid.length > 0 ? null : known(ratio),
    bar: benchCase.bar ?? null,
    without_floors: measurement.withoutFloor ?? null,
    servers: {
      ...(floor.length > 0 && { hyperexpress: serverFigures(rounds.hyperexpress) }),
      service: serverFigures(rounds.service),
    },
    start_ms: known(measurement.startMs),
    idle_rss_bytes: known(measurement.idleRssBytes),
    slos: judged(slos, figuresOf(rounds.service, ratio)),
    generator_cores: Math.max(...loads.map(({ generatorCores }) => generatorCores)),
    /** Seconds of load on the service, of all rounds in order. */
    seconds: loads.flatMap(({ seconds, durationMs }) =>
      seconds.slice(0, Math.max(1, Math.floor(durationMs / 1_000))),
    ),
    /** Percentile and milliseconds, for the plot. */
    distribution: plotted.map((percent) => [percent, percentile(rounds.service, percent)] as const),
  };
}

/** A sentence that says why there is no ratio; empty if there is a floor. */
export function withoutRatio({ without_floors: why }: CaseResult): string {
  return why === null ? '' : `No ratio: there is no floor. ${why}`;
}

function serverFigures(rounds: readonly Round[]) {
  const statuses: Record<string, number> = {};
  for (const { load } of rounds) {
    for (const [status, count] of Object.entries(load.statuses)) {
      statuses[status] = (statuses[status] ?? 0) + count;
    }
  }
  return {
    cpu_us_per_request: known(cpuOf(rounds)),
    requests_per_second: throughputOf(rounds),
    latency_ms: {
      p50: percentile(rounds, 50),
      p90: percentile(rounds, 90),
      p99: percentile(rounds, 99),
      p99_9: percentile(rounds, 99.9),
      max: percentile(rounds, 100),
    },
    rss_bytes: known(Math.max(...rounds.map(({ rssBytes }) => rssBytes))),
    statuses,
    /** CPU per request, all rounds. */
    rounds: rounds.map(({ cpuMicrosPerRequest }) => known(cpuMicrosPerRequest)),
  };
}

function figuresOf(rounds: readonly Round[], ratio: number): Figures {
  return {
    percentile: (percent) => percentile(rounds, percent),
    maxMs: percentile(rounds, 100),
    meanMs: median(rounds.map(({ load }) => load.latency.mean / 1_000)),
    perSecond: throughputOf(rounds),
    errors: rounds.reduce((sum, { load }) => sum + load.errors, 0),
    cpuMicros: known(cpuOf(rounds)) ?? undefined,
    cpuRatio: known(ratio) ?? undefined,
  };
}

/** Milliseconds: the median over the rounds; for the maximum, the largest. */
function percentile(rounds: readonly Round[], percent: number): number {
  if (percent >= 100) return Math.max(...rounds.map(({ load }) => load.latency.max / 1_000));
  const accepted = Math.max(percent, lowestPercentile);
  return median(rounds.map(({ load }) => load.latency.percentile(accepted) / 1_000));
}

function known(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

export function caseText(result: CaseResult): string {
  const lines = [`\n${result.case}: ${result.what}\n`];
  if (result.invalid.length > 0) {
    lines.push(...result.invalid.map((why) => `  INVALID: ${why}\n`));
  } else if (result.cpu_ratio !== null) {
    const bar = result.bar === null ? '' : `, the bar is ${result.bar}x`;
    lines.push(
      `  CPU per request: ${result.cpu_ratio.toFixed(2)}x the bare HyperExpress handler${bar}\n`,
    );
  } else if (result.without_floors !== null) {
    lines.push(`  ${withoutRatio(result)}\n`);
  }
  lines.push('                 CPU us/req      req/s   p50 ms   p99 ms   max ms   RSS MB\n');
  for (const name of servers) {
    const figures = result.servers[name];
    // An invalid run has no headline.
    if (figures !== undefined) lines.push(serverRow(name, figures, result.invalid.length === 0));
  }
  for (const { slo, met } of result.slos) lines.push(`  ${met ? 'met    ' : 'CROSSED'} ${slo}\n`);
  return lines.join('');
}

function serverRow(name: string, figures: ServerFigures, showsCpu: boolean): string {
  const { p50, p99, max } = figures.latency_ms;
  const cpu = showsCpu ? number(figures.cpu_us_per_request, 1) : '-';
  const rate = number(figures.requests_per_second, 0);
  const rss = figures.rss_bytes === null ? null : figures.rss_bytes / 1e6;
  const others = [number(p50, 2), number(p99, 2), number(max, 2), number(rss, 0)];
  const cells = [cpu.padStart(11), rate.padStart(11), ...others.map((cell) => cell.padStart(9))];
  return `  ${name.padEnd(14)}${cells.join('')}\n`;
}

export function auditText(run: AuditRun): string {
  const seconds = run.simulatedSeconds.toFixed(0);
  const lines = [`\nlimit-audit: ${run.requests} requests in ${seconds} simulated seconds\n`];
  for (const why of run.invalid.slice(0, 3)) lines.push(`  INVALID: ${why}\n`);
  for (const audited of run.endpoints) {
    const { endpoint, limit, users, passed, refused, fullestWindow, over, under } = audited;
    const breaches: string[] = [];
    if (over > 0) breaches.push(`OVER-ADMISSION: ${over} passed beyond the limit`);
    if (under > 0) breaches.push(`UNDER-ADMISSION: ${under} refused below the limit`);
    const verdict = breaches.join(', ') || 'no over-admission, no under-admission';
    lines.push(
      `  ${endpoint.padEnd(15)} limit ${limit}, ${users} users: ` +
        `${passed} passed, ${refused} refused, fullest 60 s ${fullestWindow}: ${verdict}\n`,
    );
    for (const { kind, user, atMs, passedBefore } of audited.firstBreaches.slice(0, 2)) {
      const act = kind === 'over' ? 'passed' : 'was refused';
      lines.push(
        `    ${new Date(atMs).toISOString()} ${user}: a request ${act} with ${passedBefore} ` +
          'passed in the last 60 s\n',
      );
    }
  }
  if (run.endpoints.length === 0) lines.push('  no limited endpoint was called\n');
  lines.push(`  ${isBroken(run) ? 'a limit was BROKEN' : 'every limit held'}\n`);
  return lines.join('');
}

export function summaryText({ cases }: BenchResult): string {
  const lines = ['\nCPU per request over a bare HyperExpress handler, same run:\n'];
  for (const { case: name, cpu_ratio: ratio, bar, invalid } of cases) {
    const measured = ratio === null ? 'unknown' : `${ratio.toFixed(2)}x`;
    const shown = invalid.length > 0 ? 'invalid' : measured;
    const barText = bar === null ? '' : `  (bar ${bar}x)`;
    lines.push(`  ${name.padEnd(18)}${shown.padStart(8)}${barText}\n`);
  }
  return cases.length === 0 ? '' : lines.join('');
}

function number(value: number | null, digits: number): string {
  return value === null || !Number.isFinite(value) ? '-' : value.toFixed(digits);
}
