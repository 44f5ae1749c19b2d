/**
 * One server, or the probe of one, in a child process; ordered over IPC. It exits with its parent.
 */
import { createSimulator, type Simulator } from '../../src/simulator.ts';
import type { Order, Report, ServerSpec } from './messages.ts';
import { preload } from './preload.ts';

const startedAtMs = performance.timeOrigin;
let simulator: Simulator | undefined;

process.on('disconnect', () => process.exit(0));
process.on('message', (order: Order) => {
  carryOut(order).then(sendReport, (error: unknown) =>
    sendReport({
      kind: 'failed',
      why: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }),
  );
});

async function carryOut(order: Order): Promise<Report> {
  switch (order.kind) {
    case 'start':
      return start(order.spec);
    case 'probe': {
      const { probe } = await import('../endurance/probe.ts');
      return probe(order, sendReport);
    }
    case 'usage': {
      const { user, system } = process.cpuUsage();
      const { rss, heapUsed } = process.memoryUsage();
      return { kind: 'usage', cpuMicros: user + system, rssBytes: rss, heapBytes: heapUsed };
    }
  }
}

async function start(spec: ServerSpec): Promise<Report> {
  if (spec.kind !== 'simulator') {
    // Imported here, so that neither kind of server loads the other's code.
    const { bareHyperExpress, rawServer } = await import('./floors.ts');
    const port = await (spec.kind === 'raw' ? rawServer : bareHyperExpress)(spec.reply);
    return { ...noCaller, port, startedMs: sinceStart() };
  }
  simulator = await createSimulator(spec.settings);
  const { baseUrl, controlUrl } = await simulator.listen(spec.control ? { control: {} } : {});
  const startedMs = sinceStart();
  const [account] = simulator.readyFile().accounts;
  return {
    kind: 'started',
    port: Number(new URL(baseUrl).port),
    controlUrl: controlUrl ?? '',
    startedMs,
    apiKey: account?.api_key ?? '',
    from: account?.sims[0]?.number ?? '',
    messageIds: preload(simulator, spec.preload),
  };
}

const noCaller = { kind: 'started', controlUrl: '', apiKey: '', from: '', messageIds: [] } as const;

function sinceStart(): number {
  return Date.now() - startedAtMs;
}

function sendReport(report: Report): void {
  process.send?.(report);
}
