/**
 * Saturation: every connection sends its next request as soon as the last is answered. It uses
 * autocannon, but never with a rate: its latencies would be wrong, and the requests of each second
 * would leave in one burst.
 */
import autocannon from 'autocannon';
import { mostReplyBytes } from './connection.ts';
import { type LoadResult, Tally } from './load-result.ts';
import { type Load, type SlotCounter, stamper, type Target, type Workload } from './workload.ts';

/** The part of autocannon's client that its typings omit. */
interface LiveClient {
  getRequestBuffer(): Buffer;
  destroy(): void;
  on(event: 'response', listen: (status: number, bytes: number, ms: number) => void): void;
  on(event: 'body', listen: (bytes: Buffer) => void): void;
}

export async function saturate(
  target: Target,
  workload: Workload,
  load: Load,
  counter: SlotCounter,
): Promise<LoadResult> {
  const tally = new Tally(workload.expects);
  const most = load.requests ?? Number.POSITIVE_INFINITY;
  let isOver = false;
  let finish = (): void => {};
  const measured = new Promise<LoadResult>((resolve) => {
    finish = () => {
      if (isOver) return;
      isOver = true;
      load.whenOver?.();
      resolve(tally.finish());
    };
  });
  const setupClient = (bare: unknown): void => {
    const client = bare as LiveClient;
    let bodyBytes = 0;
    // Autocannon keeps a body in memory until its end.
    client.on('body', ({ length }) => {
      bodyBytes += length;
      if (bodyBytes <= mostReplyBytes) return;
      tally.error();
      client.destroy();
    });
    client.on('response', (status, _bytes, ms) => {
      bodyBytes = 0;
      if (isOver) return;
      tally.reply(status, ms, performance.now());
      if (tally.requests >= most) finish();
    });
    stampEach(client, workload, counter);
  };
  const options = {
    url: `http://${target.host}:${target.port}`,
    connections: load.connections,
    // Stopped explicitly below: autocannon rounds its own duration up to a full second.
    duration: Math.ceil(load.durationMs / 1_000) + 60,
    timeout: 10,
    // How often it checks whether it was stopped.
    sampleInt: 100,
    requests: workload.requests.map(({ method, path, headers, body }) => ({
      method,
      path,
      headers: { ...headers },
      ...(method === 'POST' ? { body } : {}),
    })),
    setupClient,
  };
  let ended = (): void => {};
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const instance = autocannon(options as never, () => ended());
  instance.on('reqError', () => tally.error());
  const timer = setTimeout(finish, load.durationMs);
  const result = await measured;
  clearTimeout(timer);
  instance.stop();
  await end;
  return result;
}

/** Writes the slot into the bytes that autocannon has built, just before each send. */
function stampEach(client: LiveClient, workload: Workload, counter: SlotCounter): void {
  const built = client.getRequestBuffer.bind(client);
  const stamps = new Map<Buffer, () => Buffer>();
  const withSlot = workload.requests.filter(({ slot }) => slot !== undefined);
  if (withSlot.length === 0) return;
  client.getRequestBuffer = () => {
    const bytes = built();
    let stamp = stamps.get(bytes);
    if (stamp === undefined) {
      const template = withSlot.find(({ slot }) => slot && bytes.includes(slot.placeholder));
      stamp = template === undefined ? () => bytes : stamper(template, bytes, counter);
      stamps.set(bytes, stamp);
    }
    return stamp();
  };
}
