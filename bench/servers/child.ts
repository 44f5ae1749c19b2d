/**
 * The program of a child process: runs one server, as the parent orders over IPC. It
 * exits with its parent.
 */
import { createSimulator, type Simulator } from '#src/simulator.ts';
import type { Order, Report, ServerSpec } from './server-process.ts';

const startedAtMs = performance.timeOrigin;

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
    case 'usage': {
      const { user, system } = process.cpuUsage();
      return { kind: 'usage', cpuMicros: user + system, rssBytes: process.memoryUsage.rss() };
    }
  }
}

async function start(spec: ServerSpec): Promise<Report> {
  const noCaller = { apiKey: '', from: '', messageIds: [] };
  if (spec.kind === 'hyperexpress') {
    // Imported here, as the native server may not load.
    const { bareHyperExpress } = await import('./floor.ts');
    const port = await bareHyperExpress();
    return { kind: 'started', port, startedMs: sinceStart(), ...noCaller };
  }
  const simulator = await createSimulator(spec.settings);
  const { baseUrl } = await simulator.listen();
  const startedMs = sinceStart();
  const [account] = simulator.readyFile().accounts;
  const caller = { apiKey: account?.api_key ?? '', from: account?.sims[0]?.number ?? '' };
  return {
    kind: 'started',
    port: Number(new URL(baseUrl).port),
    startedMs,
    ...caller,
    messageIds: preload(simulator, caller, spec.preload),
  };
}

/** More ids would only fill the memory of the generator. */
const mostIds = 100_000;

/**
 * Sends `count` messages in process, without limits, and returns ids of messages of all ages. A
 * service in use holds many messages, and its tables and memory must have their realistic size.
 */
function preload(
  simulator: Simulator,
  { apiKey, from }: { readonly apiKey: string; readonly from: string },
  count: number,
): string[] {
  const request = {
    method: 'POST',
    path: '/api/v1/sms/send/',
    query: '',
    authorization: `Bearer ${apiKey}`,
    contentType: 'application/json',
    clientIp: '127.0.0.1',
    forwardedFor: undefined,
    body: JSON.stringify({ to: '+12025550199', from, message: 'Preloaded by the bench.' }),
  };
  const ids: string[] = [];
  const { send: limit } = simulator.limits.get();
  simulator.limits.patch({ send: null });
  const step = Math.ceil(count / mostIds);
  for (let n = 0; n < count; n++) {
    const { status, body } = simulator.handle(request);
    if (status !== 202) throw new Error(`a preloaded send was answered ${status}: ${body}`);
    if (n % step === 0) ids.push((JSON.parse(body) as { message_id: string }).message_id);
  }
  // Restores the limit. A changed limit starts with full buckets.
  simulator.limits.patch({ send: limit });
  return ids;
}

function sinceStart(): number {
  return Date.now() - startedAtMs;
}

function sendReport(report: Report): void {
  process.send?.(report);
}
