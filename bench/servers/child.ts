/**
 * One server in a process of its own, started and asked over IPC. It ends when its parent does.
 */
import { createSimulator, type Simulator } from '../../src/simulator.ts';
import type { Order, Report, ServerSpec } from './messages.ts';
import { preload } from './preload.ts';

const startedAtMs = performance.timeOrigin;
let simulator: Simulator | undefined;

process.on('disconnect', () => process.exit(0));
process.on('message', (order: Order) => {
  carryOut(order).then(tell, (error: unknown) =>
    tell({
      kind: 'failed',
      why: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }),
  );
});

async function carryOut(order: Order): Promise<Report> {
  switch (order.kind) {
    case 'start':
      return start(order.spec);
    case 'usage': {
      const { user, system } = process.cpuUsage();
      const { rss, heapUsed } = process.memoryUsage();
      return { kind: 'usage', cpuMicros: user + system, rssBytes: rss, heapBytes: heapUsed };
    }
  }
}

async function start(spec: ServerSpec): Promise<Report> {
  if (spec.kind !== 'simulator') {
    // Loaded here, so that neither kind of server pays for the other's code.
    const { bareHyperExpress, rawServer } = await import('./floors.ts');
    const port = await (spec.kind === 'raw' ? rawServer : bareHyperExpress)(spec.reply);
    return { ...nobody, port, startedMs: sinceStart() };
  }
  simulator = await createSimulator(spec.settings);
  const { baseUrl } = await simulator.listen();
  const startedMs = sinceStart();
  const [account] = simulator.readyFile().accounts;
  return {
    kind: 'started',
    port: Number(new URL(baseUrl).port),
    startedMs,
    apiKey: account?.api_key ?? '',
    from: account?.sims[0]?.number ?? '',
    messageIds: preload(simulator, spec.preload),
  };
}

const nobody = { kind: 'started', apiKey: '', from: '', messageIds: [] } as const;

function sinceStart(): number {
  return Date.now() - startedAtMs;
}

function tell(report: Report): void {
  process.send?.(report);
}
