/**
 * The program of a child process: runs one server, on the parent's orders over IPC. It exits with
 * its parent. The server is the service, or the floor that it is compared with.
 */
import { servicePaths } from '#contract/routes.ts';
import { Simulator } from '#src/simulator.ts';
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
    const port = await bareHyperExpress();
    return { kind: 'started', port, startDurationMs: sinceStart(), ...noCaller };
  }
  const simulator = new Simulator(spec.settings);
  const { baseUrl } = await simulator.listen({ transport: 'hyperexpress' });
  const startDurationMs = sinceStart();
  const [account] = simulator.readyFile().accounts;
  const caller = { apiKey: account?.api_key ?? '', from: account?.sims[0]?.number ?? '' };
  return {
    kind: 'started',
    port: Number(new URL(baseUrl).port),
    startDurationMs,
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
    path: servicePaths.send,
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

/** The seven fields of a message. The floor sends this reply even where the service answers 429. */
const message = {
  status: 'queued',
  message_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
  request_id: '',
  device_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  from_number: '+12025550101',
  to: '+12025550199',
  created_at: '2026-01-01T00:00:00.000Z',
};

/**
 * Starts the floor, a bare HyperExpress server written as in its own examples; resolves to its
 * port. It parses the body as JSON and answers with a body of the service's size; it does not
 * route, authenticate, validate or store.
 */
async function bareHyperExpress(): Promise<number> {
  // Imported here, as the native server may not load. In the package the module has only a default.
  const { default: hyperExpress } = await import('hyper-express');
  const server = new hyperExpress.Server({ auto_close: false });
  server.post('/*', async (request, response) => {
    consume(await request.json());
    response.status(202).json(message);
  });
  server.get('/*', (_request, response) => {
    response.json(message);
  });
  await server.listen(0, '127.0.0.1');
  return server.port;
}

let consumed = 0;

/** Uses the parsed body, so that the compiler cannot remove the parsing. */
function consume(body: unknown): void {
  if (typeof body === 'object' && body !== null) consumed++;
  if (consumed < 0) throw new Error('a count never falls');
}
