/**
 * Endurance: one long load of sends on a simulator as a series of intervals, with a probe beside it and
 * one reading of the simulator's metrics after each interval.
 */
import { createHistogram } from 'node:perf_hooks';
import { UsageError } from '../../src/commands/command-error.ts';
import { routes } from '../../src/http/service/routes.ts';
import type { LoadResult } from '../load/load-result.ts';
import { invalidity } from '../load/load-result.ts';
import { runLoad } from '../load/run-load.ts';
import type { Load } from '../load/workload.ts';
import { Ordinals, type Workload } from '../load/workload.ts';
import type { BenchOptions } from '../options.ts';
import { pollingWorld, sendTemplate } from '../scenarios/bench-case.ts';
import { ControlClient } from '../servers/control-client.ts';
import type { ProbeReport } from '../servers/messages.ts';
import type { MetricsText } from '../servers/metrics-text.ts';
import { remoteServer } from '../servers/remote-server.ts';
import { type LoadedServer, ProbeProcess, ServerProcess } from '../servers/server-process.ts';
import { type EnduranceResult, enduranceResult, type Interval } from './endurance-result.ts';

const probesPerSecond = 100;
const shortestIntervalMs = 500;
const longestIntervalMs = 10_000;
const intervalsPerRun = 60;
/** The period of the timer with which the server's process measures its event loop. */
const eventLoopPeriodMs = 10;

export interface EnduranceCase {
  readonly name: string;
  readonly what: string;
  readonly isFresh: boolean;
}

/** Limits are off, time is real, and the SIM polls every 20 s. */
export const enduranceCases: readonly EnduranceCase[] = [
  { name: 'endurance', what: 'sends without request_id', isFresh: false },
  {
    name: 'endurance-fresh-id',
    what: 'sends with a request_id of their own',
    isFresh: true,
  },
];

export async function endure(
  endured: EnduranceCase,
  options: BenchOptions,
  onInterval: (interval: Interval) => void,
): Promise<EnduranceResult> {
  const server = await startServer(options);
  let probe: ProbeProcess | undefined;
  try {
    const { durationMs, connections, perSecond } = options;
    const { apiKey, from } = server.started;
    const caller = { apiKey, from, to: options.to, messageIds: [] };
    const intervalMs = Math.min(
      longestIntervalMs,
      Math.max(shortestIntervalMs, durationMs / intervalsPerRun),
    );
    const probed: ProbeReport[] = [];
    let hasStarted = (): void => {};
    const started = new Promise<void>((resolve) => {
      hasStarted = resolve;
    });
    probe = ProbeProcess.start(
      {
        kind: 'probe',
        target: server.target,
        request: {
          method: 'GET',
          path: routes.stats.pattern,
          headers: { authorization: `Bearer ${apiKey}` },
          body: '',
        },
        perSecond: probesPerSecond,
        intervalMs,
      },
      (report) => {
        probed.push(report);
        hasStarted();
      },
    );
    await started;
    const workload = {
      requests: [sendTemplate(caller, endured.isFresh)],
      expects: options.baseUrl === undefined ? [202] : [202, 429],
    } as const;
    const part = { connections, perSecond, durationMs: intervalMs };
    const { intervals, loads } = await loadInParts(server, workload, part, {
      durationMs,
      probed,
      onInterval,
    });
    const latency = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 });
    for (const load of loads) latency.add(load.latency);
    const lateProbes = probed.reduce((sum, { late }) => sum + late, 0);
    const probes = probed.reduce((sum, { requests }) => sum + requests, 0);
    const failedProbes = probed.reduce((sum, { failed }) => sum + failed, 0);
    return enduranceResult(
      {
        case: endured.name,
        what: endured.what,
        durationMs,
        intervals,
        probe: probed.at(-1)?.run ?? { p50: 0, p99: 0, max: 0 },
        latency,
        errors: loads.reduce((sum, { errors }) => sum + errors, failedProbes),
        invalid: [
          ...invalidity(
            loads.map((load) => ({ ...load, errors: 0 })),
            perSecond !== undefined,
          ),
          ...(lateProbes > probes / 100 ? [`${lateProbes} of ${probes} probes left late`] : []),
        ],
      },
      options.slos,
    );
  } finally {
    probe?.stop();
    await server.stop();
  }
}

interface Parts {
  readonly durationMs: number;
  /** Grows while the load runs. */
  readonly probed: readonly ProbeReport[];
  readonly onInterval: (interval: Interval) => void;
}

/** The same load again and again until the time is over; never the same request_id twice. */
async function loadInParts(
  server: ControlledServer,
  workload: Workload,
  part: Load,
  { durationMs, probed, onInterval }: Parts,
): Promise<{ readonly intervals: readonly Interval[]; readonly loads: readonly LoadResult[] }> {
  const ordinals = new Ordinals();
  const intervals: Interval[] = [];
  const loads: LoadResult[] = [];
  const startedMs = performance.now();
  let before = await server.control.metrics();
  let lastProbe = probed.at(-1);
  for (;;) {
    const leftMs = durationMs - (performance.now() - startedMs);
    if (leftMs < shortestIntervalMs / 2) return { intervals, loads };
    const bounds = { ...part, durationMs: Math.min(part.durationMs, leftMs) };
    const load = await runLoad(server.target, workload, bounds, ordinals);
    const after = await server.control.metrics();
    const probe = probed.at(-1);
    const interval = intervalOf(load, before, after, {
      at_s: (performance.now() - startedMs) / 1_000,
      probe_ms: probe === lastProbe ? null : (probe?.interval ?? null),
    });
    before = after;
    lastProbe = probe;
    loads.push(load);
    intervals.push(interval);
    onInterval(interval);
  }
}

type ControlledServer = LoadedServer & { readonly control: ControlClient };

async function startServer(options: BenchOptions): Promise<ControlledServer> {
  if (options.baseUrl === undefined) {
    const settings = { noLimits: true, world: pollingWorld };
    const server = await ServerProcess.start({
      kind: 'simulator',
      settings,
      preload: options.held,
      control: true,
    });
    return Object.assign(server, {
      control: new ControlClient(new URL(server.started.controlUrl)),
    });
  }
  if (options.controlUrl === undefined) {
    throw new UsageError('endurance of a base_url needs --control-url, to read its metrics');
  }
  const server = await remoteServer(options.baseUrl, options, { reads: false });
  return { ...server, control: new ControlClient(options.controlUrl) };
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
