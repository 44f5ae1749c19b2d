/**
 * The result of an endurance run: its intervals, and whether each figure stayed within its
 * threshold. Growth, throughput and CPU leave out the warm-up; the probe's latency and the errors
 * count from the start.
 */
import type { RecordableHistogram } from 'node:perf_hooks';
import type { Percentiles } from '../servers/messages.ts';
import { type Figures, judged, type Slo, sloValue } from '../slo.ts';

/** The figures of one stretch of the load. The JSON report contains them under these names. */
export interface Interval {
  /** Seconds since the load began. */
  readonly at_s: number;
  readonly requests_per_second: number;
  readonly cpu_us_per_request: number;
  readonly rss_bytes: number;
  readonly heap_bytes: number;
  /** Milliseconds beyond the period of the measuring timer. */
  readonly event_loop_delay_ms: Percentiles;
  /** Null if the probe has no result in this interval. */
  readonly probe_ms: Percentiles | null;
}

export type EnduranceResult = ReturnType<typeof enduranceResult>;

/** The default thresholds; `--slo` replaces the one for the same figure. */
const defaultThresholds = [
  'growth<15%',
  'loss<10%',
  'probe_p99<25ms',
  'probe_max<150ms',
  'errors<1',
];

/** The share of the run that only warms up: two of ten minutes. */
const warmUpShare = 0.2;

/** What an endurance run has measured. */
export interface Observed {
  /** The name of the case, and a sentence that says what it measures. */
  readonly case: string;
  readonly what: string;
  readonly durationMs: number;
  readonly intervals: readonly Interval[];
  readonly probe: Percentiles;
  /** Latencies of the load in microseconds. */
  readonly latency: Pick<RecordableHistogram, 'percentile' | 'max' | 'mean'>;
  readonly errors: number;
  /** Why the run proves nothing; empty if it is valid. */
  readonly invalid: readonly string[];
}

/** Judges the run by the thresholds of `--slo`, and by a default for each figure without one. */
export function enduranceResult(observed: Observed, slos: readonly Slo[]) {
  const { intervals, probe, latency, errors } = observed;
  const warmUpSeconds = (observed.durationMs / 1_000) * warmUpShare;
  const settled = intervals.filter((interval) => interval.at_s > warmUpSeconds);
  const memory = settled.map((interval) => interval.rss_bytes);
  const throughput = settled.map((interval) => interval.requests_per_second);
  const times = settled.map((interval) => interval.at_s);
  const growth = relativeChange(times, memory);
  const loss = -relativeChange(times, throughput);
  const figures: Figures = {
    percentile: (percent) => latency.percentile(percent) / 1_000,
    maxMs: latency.max / 1_000,
    meanMs: latency.mean / 1_000,
    perSecond: mean(throughput),
    errors,
    cpuMicros: mean(settled.map((interval) => interval.cpu_us_per_request)),
    cpuRatio: undefined,
    endurance: { growth, loss, probeP99: probe.p99, probeMax: probe.max },
  };
  const tooShort = settled.length < 2 ? ['too few intervals after the warm-up; run it longer'] : [];
  return {
    case: observed.case,
    what: observed.what,
    invalid: [...observed.invalid, ...tooShort],
    warm_up_s: warmUpSeconds,
    intervals,
    probe_ms: probe,
    /** Requests of the load and of the probe that failed. */
    errors,
    /** Change from the end of the warm-up to the end of the run, along the fitted line. */
    memory_growth: growth,
    throughput_loss: loss,
    /** By what share the largest memory after the warm-up exceeds the smallest. */
    memory_spread: Math.max(...memory) / Math.min(...memory) - 1,
    slos: judged(withDefaults(slos), figures),
  };
}

/** Adds the default threshold of each figure for which the user gave none. */
function withDefaults(slos: readonly Slo[]): readonly Slo[] {
  const given = new Set(slos.map(({ metric }) => metric));
  const defaults = defaultThresholds.map(sloValue).filter(({ metric }) => !given.has(metric));
  return [...defaults, ...slos];
}

/**
 * Fits a straight line to values over time by least squares. Returns the change from its first to
 * its last point, relative to the first.
 */
function relativeChange(times: readonly number[], values: readonly number[]): number {
  const [firstTime] = times;
  const lastTime = times.at(-1);
  if (firstTime === undefined || lastTime === undefined || times.length < 2) return 0;
  const meanTime = mean(times);
  const meanValue = mean(values);
  const variance = mean(times.map((time) => (time - meanTime) ** 2));
  const covariance = mean(
    times.map((time, index) => (time - meanTime) * ((values[index] ?? 0) - meanValue)),
  );
  const slope = covariance / variance;
  const firstOnLine = meanValue + slope * (firstTime - meanTime);
  return (slope * (lastTime - firstTime)) / firstOnLine;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
