/**
 * Runs the load of every scenario. With a rate it is an open loop (`open-loop.ts`). Without one it
 * saturates the server: each connection sends its next request as soon as the last is answered.
 */
import { once } from 'node:events';
import autocannon from 'autocannon';
import { authorityOf } from '#io/flag-values.ts';
import { type LoadResult, Tally } from './load-result.ts';
import { mostReplyBytes, OpenLoop } from './open-loop.ts';
import { type Load, type SlotCounter, stamper, type Target, type Workload } from './workload.ts';

export async function runLoad(target: Target, workload: Workload, load: Load): Promise<LoadResult> {
  const { perSecond } = load;
  if (perSecond === undefined) return saturate(target, workload, load);
  return new OpenLoop(target, workload, load).run(perSecond);
}

const replyWithinSeconds = 10;
const stopCheckEveryMs = 100;

/** The part of autocannon's client that its typings omit. */
interface LiveClient {
  getRequestBuffer(): Buffer;
  destroy(): void;
  on(event: 'response', listen: (status: number, bytes: number, ms: number) => void): void;
  on(event: 'body', listen: (bytes: Buffer) => void): void;
}

async function saturate(target: Target, workload: Workload, load: Load): Promise<LoadResult> {
  const tally = new Tally(workload.expects);
  const counter = { filled: 0 };
  const mostRequests = load.requests ?? Number.POSITIVE_INFINITY;
  /** Aborted when the measurement is over, while the last replies still arrive. */
  const measured = new AbortController();
  const setupClient = (untyped: unknown): void => {
    const client = untyped as LiveClient;
    boundBodies(client, () => tally.error());
    client.on('response', (status, _bytes, ms) => {
      if (measured.signal.aborted) return;
      tally.reply(status, ms, performance.now());
      if (tally.requests >= mostRequests) measured.abort();
    });
    stampEach(client, workload, counter);
  };
  const options = {
    url: `http://${authorityOf(target.host, target.port)}`,
    connections: load.connections,
    // Longer than the load, which is stopped below: this duration is a number of whole seconds.
    duration: Math.ceil(load.durationMs / 1_000) + 60,
    timeout: replyWithinSeconds,
    sampleInt: stopCheckEveryMs,
    requests: workload.requests.map(({ method, path, headers, body }) => ({
      method,
      path,
      headers: { ...headers },
      ...(method === 'POST' ? { body } : {}),
    })),
    setupClient,
  };
  const instance = autocannon(options as never, () => {});
  const ended = once(instance, 'done');
  instance.on('reqError', () => tally.error());
  const timer = setTimeout(() => measured.abort(), load.durationMs);
  await once(measured.signal, 'abort');
  load.whenOver?.();
  const result = tally.finish();
  clearTimeout(timer);
  instance.stop();
  await ended;
  return result;
}

/** Ends a connection whose reply is too long: autocannon keeps a body in memory until its end. */
function boundBodies(client: LiveClient, onTooLong: () => void): void {
  let bodyBytes = 0;
  client.on('response', () => {
    bodyBytes = 0;
  });
  client.on('body', ({ length }) => {
    bodyBytes += length;
    if (bodyBytes <= mostReplyBytes) return;
    onTooLong();
    client.destroy();
  });
}

/** Writes the slot into the bytes that autocannon has built, just before each send. */
function stampEach(client: LiveClient, workload: Workload, counter: SlotCounter): void {
  const buildBytes = client.getRequestBuffer.bind(client);
  const stamps = new Map<Buffer, () => Buffer>();
  const withSlot = workload.requests.filter(({ slot }) => slot !== undefined);
  if (withSlot.length === 0) return;
  client.getRequestBuffer = () => {
    const bytes = buildBytes();
    let stamp = stamps.get(bytes);
    if (stamp === undefined) {
      const template = withSlot.find(({ slot }) => slot && bytes.includes(slot.placeholder));
      stamp = template === undefined ? () => bytes : stamper(template, bytes, counter);
      stamps.set(bytes, stamp);
    }
    return stamp();
  };
}
