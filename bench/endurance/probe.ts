/**
 * A probe during a load: requests at a low, fixed rate in open loop. It runs in a separate process,
 * because the load generator's process is busy.
 */
import { createHistogram } from 'node:perf_hooks';
import { runLoad } from '../load/run-load.ts';
import type { ProbeOrder, ProbeReport } from '../servers/messages.ts';

const connections = 16;
const microsPerMs = 1_000;
const startMs = 100;

/** Probes until the process ends, and reports once per interval. */
export async function probe(
  { target, request, perSecond, intervalMs }: ProbeOrder,
  report: (report: ProbeReport) => void,
): Promise<never> {
  const all = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 });
  const workload = { requests: [request], expects: [200] } as const;
  // A short one first: its report says that the probe has started.
  for (let durationMs = startMs; ; durationMs = intervalMs) {
    const load = { connections, durationMs, perSecond };
    const { latency, requests, errors, late, dropped } = await runLoad(target, workload, load);
    all.add(latency);
    report({
      kind: 'probed',
      interval: percentilesOf(latency),
      run: percentilesOf(all),
      requests,
      failed: errors + dropped,
      late,
    });
  }
}

function percentilesOf(latency: {
  percentile(percent: number): number;
  max: number;
  count: number;
}) {
  if (latency.count === 0) return { p50: 0, p99: 0, max: 0 };
  const ms = (micros: number) => micros / microsPerMs;
  return {
    p50: ms(latency.percentile(50)),
    p99: ms(latency.percentile(99)),
    max: ms(latency.max),
  };
}
