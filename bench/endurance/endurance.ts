/**
 * Endurance: one long load of sends on a simulator as a series of intervals, with a probe beside it and
 * one reading of the simulator's metrics after each interval.
 */
import { createHistogram } from 'node:perf_hooks';
import { UsageError } from '../../src/commands/command-error.ts';
import { routes } from '../../src/http/service/routes.ts';
import { invalidity, type LoadResult } from '../load/load-result.ts';
import { runLoad } from '../load/run-load.ts';
import type { BenchOptions } from '../options.ts';
import { type BenchCase, workloadOf } from '../scenarios/bench-case.ts';
import type { MetricsText } from '../servers/metrics-text.ts';
import { type Probe, startProbe } from '../servers/server-process.ts';
import { startService } from '../servers/service.ts';
import { type EnduranceResult, enduranceResult, type Interval } from './endurance-result.ts';

const probesPerSecond = 100;
const shortestIntervalMs = 500;
const longestIntervalMs = 10_000;
const intervalsPerRun = 60;
/** The period of the timer with which the server's process measures its event loop. */
const eventLoopPeriodMs = 10;

/** The same load again and again until the time is over. */
export async function endure(
  endured: BenchCase,
  options: BenchOptions,
  onInterval: (interval: Interval) => void,
): Promise<EnduranceResult> {
  const { baseUrl, durationMs, connections, perSecond, to } = options;
  const { target, started, control, stop } = await startService(endured, options, true);
  let probe: Probe | undefined;
  try {
    if (control === undefined) {
      throw new UsageError('endurance of a base_url needs --control-url, to read its metrics');
    }
    const intervalMs = Math.min(
      longestIntervalMs,
      Math.max(shortestIntervalMs, durationMs / intervalsPerRun),
    );
    const request = {
      method: 'GET',
      path: routes.stats.pattern,
      headers: { authorization: `Bearer ${started.apiKey}` },
      body: '',
    } as const;
    const order = {
      kind: 'probe',
      target,
      request,
      perSecond: probesPerSecond,
      intervalMs,
    } as const;
    probe = await startProbe(order);
    const workload = workloadOf(endured, { ...started, to, messageIds: [] }, baseUrl === undefined);
    const ordinals = { next: 0 };
    const latency = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 });
    const intervals: Interval[] = [];
    const loads: LoadResult[] = [];
    const startedMs = performance.now();
    let before = await control.metrics();
    let seen = probe.latest();
    for (;;) {
      const leftMs = durationMs - (performance.now() - startedMs);
      if (leftMs < shortestIntervalMs / 2) break;
      const part = { connections, perSecond, durationMs: Math.min(intervalMs, leftMs) };
      const load = await runLoad(target, workload, part, ordinals);
      const after = await control.metrics();
      const probed = probe.latest();
      const interval = intervalOf(load, before, after, {
        at_s: (performance.now() - startedMs) / 1_000,
        probe_ms: probed === seen ? null : probed.interval,
      });
      before = after;
      seen = probed;
      latency.add(load.latency);
      loads.push(load);
      intervals.push(interval);
      onInterval(interval);
    }
    const { run, requests, failed, late } = probe.latest();
    const isLate = late > requests / 100;
    // What failed is judged by a threshold.
    const answered = loads.map((load) => ({ ...load, errors: 0 }));
    return enduranceResult(
      {
        case: endured.name,
        what: endured.what,
        durationMs,
        intervals,
        probe: run,
        latency,
        errors: loads.reduce((sum, { errors }) => sum + errors, failed),
        invalid: [
          ...invalidity(answered, perSecond !== undefined),
          ...(isLate ? [`${late} of ${requests} probes left late`] : []),
        ],
      },
      options.slos,
    );
  } finally {
    probe?.stop();
    await stop();
  }
}

/** What one part of the load and the metrics before and after it say. */
function intervalOf(
  { requests, durationMs }: LoadResult,
  before: MetricsText,
  after: MetricsText,
  more: Pick<Interval, 'at_s' | 'probe_ms'>,
): Interval {
  const cpuSeconds = (metrics: MetricsText) => metrics.value('process_cpu_seconds_total');
  const delayMs = (name: string) =>
    Math.max(0, after.value(`nodejs_eventloop_lag_${name}_seconds`) * 1_000 - eventLoopPeriodMs);
  return {
    ...more,
    requests_per_second: (requests / durationMs) * 1_000,
    cpu_us_per_request: ((cpuSeconds(after) - cpuSeconds(before)) * 1e6) / Math.max(1, requests),
    rss_bytes: after.value('process_resident_memory_bytes'),
    heap_bytes: after.value('nodejs_heap_size_used_bytes'),
    event_loop_delay_ms: { p50: delayMs('p50'), p99: delayMs('p99'), max: delayMs('max') },
  };
}
