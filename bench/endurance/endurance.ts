/**
 * Endurance: one long load of sends on a simulator, with a probe and one reading of the simulator's
 * metrics per interval.
 */
import { UsageError } from '../../src/commands/command-error.ts';
import { routes } from '../../src/http/service/routes.ts';
import { saturate } from '../load/saturate.ts';
import { Ordinals } from '../load/workload.ts';
import type { BenchOptions } from '../options.ts';
import { pollingWorld, sendTemplate } from '../scenarios/bench-case.ts';
import { ControlClient } from '../servers/control-client.ts';
import type { ProbeReport } from '../servers/messages.ts';
import type { MetricsText } from '../servers/metrics-text.ts';
import { remoteServer } from '../servers/remote-server.ts';
import { type LoadedServer, ProbeProcess, ServerProcess } from '../servers/server-process.ts';
import { invalidity } from '../validity.ts';
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
  { name: 'endurance', what: 'sends without request_id, at saturation', isFresh: false },
  {
    name: 'endurance-fresh-id',
    what: 'sends with a request_id of their own, at saturation',
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
    const { durationMs, connections } = options;
    const { apiKey, from } = server.started;
    const caller = { apiKey, from, to: options.to, messageIds: [] };
    const { control } = server;
    const intervalMs = Math.min(
      longestIntervalMs,
      Math.max(shortestIntervalMs, durationMs / intervalsPerRun),
    );
    const sampler = new Sampler(await control.metrics());
    const probed: ProbeReport[] = [];
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
      (report) => void probed.push(report),
    );
    let failure: unknown;
    const sample = async (): Promise<void> => {
      try {
        const interval = sampler.interval(await control.metrics(), probed.at(-1));
        if (interval !== undefined) onInterval(interval);
      } catch (error) {
        failure ??= error;
      }
    };
    const timer = setInterval(() => void sample(), intervalMs);
    const workload = {
      requests: [sendTemplate(caller, endured.isFresh)],
      expects: options.baseUrl === undefined ? [202] : [202, 429],
    } as const;
    const load = await saturate(
      server.target,
      workload,
      { connections, durationMs },
      new Ordinals(),
    );
    clearInterval(timer);
    const lateProbes = probed.reduce((sum, { late }) => sum + late, 0);
    const probes = probed.reduce((sum, { requests }) => sum + requests, 0);
    const failedProbes = probed.reduce((sum, { failed }) => sum + failed, 0);
    return enduranceResult(
      {
        case: endured.name,
        what: endured.what,
        durationMs,
        intervals: sampler.intervals,
        probe: probed.at(-1)?.run ?? { p50: 0, p99: 0, max: 0 },
        latency: load.latency,
        errors: load.errors + failedProbes,
        invalid: [
          ...(failure === undefined ? [] : [`the metrics could not be read: ${failure}`]),
          ...invalidity([{ ...load, errors: 0 }], false),
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

async function startServer(
  options: BenchOptions,
): Promise<LoadedServer & { readonly control: ControlClient }> {
  if (options.baseUrl === undefined) {
    const settings = { noLimits: true, world: pollingWorld };
    const server = await ServerProcess.start({
      kind: 'simulator',
      settings,
      preload: 0,
      control: true,
    });
    return Object.assign(server, {
      control: new ControlClient(new URL(server.started.controlUrl)),
    });
  }
  if (options.controlUrl === undefined) {
    throw new UsageError('endurance of a base_url needs --control-url, to read its metrics');
  }
  const server = await remoteServer(options.baseUrl, options, { preload: 0 });
  return { ...server, control: new ControlClient(options.controlUrl) };
}

/** Computes an interval from two successive readings of the metrics. */
class Sampler {
  readonly intervals: Interval[] = [];
  readonly #startedMs = performance.now();
  #beforeMs = performance.now();
  #before: { readonly requests: number; readonly cpuSeconds: number };
  #lastProbe: ProbeReport | undefined;

  constructor(metrics: MetricsText) {
    this.#before = countsOf(metrics);
  }

  /** Undefined if no request was answered in the interval. */
  interval(metrics: MetricsText, probed: ProbeReport | undefined): Interval | undefined {
    const nowMs = performance.now();
    const counts = countsOf(metrics);
    const requests = counts.requests - this.#before.requests;
    const cpuSeconds = counts.cpuSeconds - this.#before.cpuSeconds;
    const seconds = (nowMs - this.#beforeMs) / 1_000;
    this.#before = counts;
    this.#beforeMs = nowMs;
    if (requests === 0) return undefined;
    const delayMs = (name: string) =>
      Math.max(
        0,
        metrics.value(`nodejs_eventloop_lag_${name}_seconds`) * 1_000 - eventLoopPeriodMs,
      );
    const interval: Interval = {
      at_s: (nowMs - this.#startedMs) / 1_000,
      requests_per_second: requests / seconds,
      cpu_us_per_request: (cpuSeconds * 1e6) / requests,
      rss_bytes: metrics.value('process_resident_memory_bytes'),
      heap_bytes: metrics.value('nodejs_heap_size_used_bytes'),
      event_loop_delay_ms: { p50: delayMs('p50'), p99: delayMs('p99'), max: delayMs('max') },
      probe_ms: probed === this.#lastProbe ? null : (probed?.interval ?? null),
    };
    this.#lastProbe = probed;
    this.intervals.push(interval);
    return interval;
  }
}

function countsOf(metrics: MetricsText): {
  readonly requests: number;
  readonly cpuSeconds: number;
} {
  const requests = [...metrics.all('smstwin_requests_total').values()];
  return {
    requests: requests.reduce((sum, count) => sum + count, 0),
    cpuSeconds: metrics.value('process_cpu_seconds_total'),
  };
}
