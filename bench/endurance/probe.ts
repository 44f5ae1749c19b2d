/**
 * The probe of an endurance run: requests at a low, fixed rate, whose latency shows what a client
 * with little traffic would see. It runs in a separate process, because the load generator's is
 * busy.
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { runLoad } from '../load/run-load.ts';
import type { Percentiles, ProbeOrder, ProbeReport } from '../servers/messages.ts';

const connections = 16;
const microsPerMs = 1_000;
const startMs = 100;

/** Probes until the process ends, and reports once per interval. */
export async function probe(
  { target, request, perSecond, intervalMs }: ProbeOrder,
  report: (report: ProbeReport) => void,
): Promise<never> {
  const all = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 });
  const total = { requests: 0, failed: 0, late: 0 };
  const workload = { requests: [request], expects: [200] } as const;
  // The first interval is short: its report says that the probe has started.
  for (let durationMs = startMs; ; durationMs = intervalMs) {
    const load = await runLoad(target, workload, { connections, durationMs, perSecond });
    all.add(load.latency);
    total.requests += load.requests;
    total.failed += load.errors + load.dropped;
    total.late += load.late;
    const interval = percentilesOf(load.latency);
    report({ kind: 'probed', interval, run: percentilesOf(all), ...total });
  }
}

function percentilesOf(latency: RecordableHistogram): Percentiles {
  if (latency.count === 0) return { p50: 0, p99: 0, max: 0 };
  const ms = (micros: number) => micros / microsPerMs;
  return {
    p50: ms(latency.percentile(50)),
    p99: ms(latency.percentile(99)),
    max: ms(latency.max),
  };
}
