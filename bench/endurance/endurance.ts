/**
 * The endurance scenario: one long load of sends on a simulator, measured in intervals. A probe
 * sends a few requests at the same time, to see the latency that another client would see. After
 * each interval the simulator's metrics are read over its control port.
 */
import { createHistogram } from 'node:perf_hooks';
import { routes } from '#contract/routes.ts';
import { UsageError } from '#io/command-error.ts';
import type { MetricsText } from '#io/metrics-text.ts';
import { invalidity, type LoadResult } from '../load/load-result.ts';
import { runLoad } from '../load/run-load.ts';
import type { Target } from '../load/workload.ts';
import type { BenchOptions } from '../options.ts';
import { type BenchCase, workloadOf } from '../scenarios/bench-case.ts';
import type { ControlClient } from '../servers/control-client.ts';
import type { ProbeOrder } from '../servers/messages.ts';
import { type Probe, startProbe } from '../servers/server-process.ts';
import { type Service, startService } from '../servers/service.ts';
import { type EnduranceResult, enduranceResult, type Interval } from './endurance-result.ts';

const probesPerSecond = 100;
/** A larger share of late probes makes the run invalid. */
const mostLateShare = 0.01;
const shortestIntervalMs = 500;
const longestIntervalMs = 10_000;
const intervalsPerRun = 60;
/** The period of the timer with which the server's process measures its event loop. */
const eventLoopPeriodMs = 10;

/** Loads the simulator interval by interval until the duration is over, and judges the trends. */
export async function endure(
  benchCase: BenchCase,
  options: BenchOptions,
  onInterval: (interval: Interval) => void,
): Promise<EnduranceResult> {
  const service = await startService(benchCase, options, { needsControl: true });
  let probe: Probe | undefined;
  try {
    const { control, target, started } = service;
    if (control === undefined)
      throw new UsageError('endurance of a base_url needs --control-url, to read its metrics');
    const { durationMs } = options;
    const intervalMs = clamp(durationMs / intervalsPerRun, shortestIntervalMs, longestIntervalMs);
    probe = await startProbe(probeOrder(target, started.apiKey, intervalMs));
    const { loads, intervals, latency } = await loadInIntervals(
      { benchCase, options, service, control, probe, intervalMs },
      onInterval,
    );
    const { run, requests, failed, late } = probe.latest();
    // Errors count against a threshold. They do not make the run invalid.
    const withoutErrors = loads.map((load) => ({ ...load, errors: 0 }));
    const isLate = late > requests * mostLateShare;
    const observed = {
      case: benchCase.name,
      what: benchCase.what,
      durationMs,
      intervals,
      probe: run,
      latency,
      errors: loads.reduce((sum, { errors }) => sum + errors, failed),
      invalid: [
        ...invalidity(withoutErrors, options.perSecond !== undefined),
        ...(isLate ? [`${late} of ${requests} probes left late`] : []),
      ],
    };
    return enduranceResult(observed, options.slos);
  } finally {
    probe?.stop();
    await service.stop();
  }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

function probeOrder(target: Target, apiKey: string, intervalMs: number): ProbeOrder {
  const headers = { authorization: `Bearer ${apiKey}` };
  const request = { method: 'GET', path: routes.stats.pattern, headers, body: '' } as const;
  return { kind: 'probe', target, request, perSecond: probesPerSecond, intervalMs };
}

interface EnduranceLoad {
  readonly benchCase: BenchCase;
  readonly options: BenchOptions;
  readonly service: Service;
  readonly control: ControlClient;
  readonly probe: Probe;
  readonly intervalMs: number;
}

async function loadInIntervals(
  { benchCase, options, service, control, probe, intervalMs }: EnduranceLoad,
  onInterval: (interval: Interval) => void,
) {
  const { baseUrl, durationMs, connections, perSecond, to } = options;
  const caller = { ...service.started, to, messageIds: [] };
  const workload = workloadOf(benchCase, caller, baseUrl === undefined);
  // All intervals share it, so that no request_id is sent twice.
  const slotCounter = { filled: 0 };
  const latency = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 });
  const loads: LoadResult[] = [];
  const intervals: Interval[] = [];
  const startedMs = performance.now();
  let metrics = await control.metrics();
  let report = probe.latest();
  for (;;) {
    const remainingMs = durationMs - (performance.now() - startedMs);
    if (remainingMs < shortestIntervalMs / 2) return { loads, intervals, latency };
    const load = await runLoad(
      service.target,
      workload,
      { connections, perSecond, durationMs: Math.min(intervalMs, remainingMs) },
      slotCounter,
    );
    const [metricsBefore, reportBefore] = [metrics, report];
    metrics = await control.metrics();
    report = probe.latest();
    const interval = intervalOf(load, metricsBefore, metrics, {
      at_s: (performance.now() - startedMs) / 1_000,
      probe_ms: report === reportBefore ? null : report.interval,
    });
    latency.add(load.latency);
    loads.push(load);
    intervals.push(interval);
    onInterval(interval);
  }
}

/** The figures of one interval, from its load and the metrics before and after it. */
function intervalOf(
  { requests, durationMs }: LoadResult,
  before: MetricsText,
  after: MetricsText,
  timeAndProbe: Pick<Interval, 'at_s' | 'probe_ms'>,
): Interval {
  const cpuSeconds = (metrics: MetricsText) => metrics.value('process_cpu_seconds_total');
  const delayMs = (name: string) =>
    Math.max(0, after.value(`nodejs_eventloop_lag_${name}_seconds`) * 1_000 - eventLoopPeriodMs);
  return {
    ...timeAndProbe,
    requests_per_second: (requests / durationMs) * 1_000,
    cpu_us_per_request: ((cpuSeconds(after) - cpuSeconds(before)) * 1e6) / Math.max(1, requests),
    rss_bytes: after.value('process_resident_memory_bytes'),
    heap_bytes: after.value('nodejs_heap_size_used_bytes'),
    event_loop_delay_ms: { p50: delayMs('p50'), p99: delayMs('p99'), max: delayMs('max') },
  };
}
