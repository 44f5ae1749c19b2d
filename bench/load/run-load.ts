/**
 * Runs the load of every scenario. Without a rate it saturates the server. With a rate it is an
 * open loop: requests start at their scheduled time, whether or not earlier ones were answered.
 * Latency counts from that time, so every request that a stalled server delays counts as slow.
 * Requests that the generator itself sends late are counted, because they invalidate the run.
 */
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { Connection, mostReplyBytes } from './connection.ts';
import { type LoadResult, Tally } from './load-result.ts';
import {
  type Load,
  requestBytes,
  type SlotCounter,
  stamper,
  type Target,
  type Workload,
} from './workload.ts';

/** A request later than this counts as late; Node's timers are accurate to about a millisecond. */
const lateMs = 10;
/** The longest queue for a connection, in seconds of the rate. */
const backlogSeconds = 2;
/** How long the last replies may take after the load. */
const drainMs = 1_000;
/** How often a connection that breaks is opened. */
const mostAttempts = 3;

export async function runLoad(target: Target, workload: Workload, load: Load): Promise<LoadResult> {
  const { perSecond } = load;
  if (perSecond === undefined) return saturate(target, workload, load);
  const loop = new OpenLoop(target, workload, load);
  await loop.open();
  await loop.send(perSecond);
  return loop.finish();
}

function authorityOf({ host, port }: Target): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

class OpenLoop {
  readonly #load: Load;
  readonly #tally: Tally;
  readonly #stamps: readonly (() => Buffer)[];
  readonly #connections: readonly Connection[];
  readonly #free: Connection[] = [];
  /** Scheduled times of requests that wait for a connection, from `#firstWaiting` on. */
  readonly #waiting: number[] = [];
  #firstWaiting = 0;
  /** The number of requests so far, which selects the next template. */
  #started = 0;
  #inFlight = 0;

  constructor(target: Target, workload: Workload, load: Load) {
    const counter = { filled: 0 };
    this.#load = load;
    this.#tally = new Tally(workload.expects);
    this.#stamps = workload.requests.map((template) =>
      stamper(template, requestBytes(template, authorityOf(target)), counter),
    );
    const connections = Array.from({ length: load.connections });
    this.#connections = connections.map(() => new Connection(target, this));
  }

  async open(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => this.#open(connection)));
  }

  async send(perSecond: number): Promise<void> {
    const startedMs = performance.now();
    const count = Math.floor((this.#load.durationMs / 1_000) * perSecond);
    const dueMs = (n: number) => startedMs + (n * 1_000) / perSecond;
    for (let next = 0; next < count; ) {
      const nowMs = performance.now();
      for (; next < count && dueMs(next) <= nowMs; next++) {
        if (nowMs - dueMs(next) > lateMs) this.#tally.late++;
        const connection = this.#free.pop();
        if (connection !== undefined) this.#start(connection, dueMs(next));
        else if (this.#backlog > backlogSeconds * perSecond) this.#tally.dropped++;
        else this.#waiting.push(dueMs(next));
      }
      if (next < count) await sleep(Math.max(1, dueMs(next) - performance.now()));
    }
    const untilMs = performance.now() + drainMs;
    while (this.#inFlight + this.#backlog > 0 && performance.now() < untilMs) await sleep(5);
    this.#tally.dropped += this.#inFlight + this.#backlog;
  }

  finish(): LoadResult {
    this.#load.whenOver?.();
    const result = this.#tally.finish();
    for (const connection of this.#connections) connection.close();
    return result;
  }

  get #backlog(): number {
    return this.#waiting.length - this.#firstWaiting;
  }

  #start(connection: Connection, startedMs: number): void {
    this.#inFlight++;
    const stamp = this.#stamps[this.#started++ % this.#stamps.length];
    if (stamp !== undefined) connection.send(stamp(), startedMs);
  }

  reply(status: number, startedMs: number): void {
    this.#inFlight--;
    const nowMs = performance.now();
    this.#tally.reply(status, nowMs - startedMs, nowMs);
  }

  free(connection: Connection): void {
    if (this.#backlog > 0) this.#start(connection, this.#waiting[this.#firstWaiting++] ?? 0);
    else this.#free.push(connection);
  }

  broken(connection: Connection, { wasBusy }: { readonly wasBusy: boolean }): void {
    if (wasBusy) {
      this.#inFlight--;
      this.#tally.error();
    }
    const index = this.#free.indexOf(connection);
    if (index >= 0) this.#free.splice(index, 1);
    if (connection.attempts < mostAttempts) void this.#open(connection);
  }

  async #open(connection: Connection): Promise<void> {
    try {
      await connection.open();
    } catch {
      this.#tally.error();
      return;
    }
    this.free(connection);
  }
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
  const over = new AbortController();
  const setupClient = (bare: unknown): void => {
    const client = bare as LiveClient;
    boundBodies(client, () => tally.error());
    client.on('response', (status, _bytes, ms) => {
      if (over.signal.aborted) return;
      tally.reply(status, ms, performance.now());
      if (tally.requests >= mostRequests) over.abort();
    });
    stampEach(client, workload, counter);
  };
  const options = {
    url: `http://${authorityOf(target)}`,
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
  const timer = setTimeout(() => over.abort(), load.durationMs);
  await once(over.signal, 'abort');
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
