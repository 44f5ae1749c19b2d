/**
 * Many idle and short connections: other callers are still served, and nothing leaks.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LoadResult } from '../../bench/load/load-result.ts';
import { runLoad } from '../../bench/load/run-load.ts';
import type { RequestTemplate } from '../../bench/load/workload.ts';
import { transports } from '../../src/cli/serve-options.ts';
import type { ReadyFile } from '../../src/simulator.ts';
import { get } from '../testkit/raw-socket.ts';
import { bearer, sendPaths } from '../testkit/request.ts';
import { handlesOf, ServedProcess } from '../testkit/served-process.ts';
import { IdleClients } from './idle-clients.ts';

test.each(transports)(
  '%s: 500 idle and 2,000 short connections neither block callers nor leak handles',
  async (transport) => {
    const folder = mkdtempSync(join(tmpdir(), 'smstwin-connections-'));
    const served = await ServedProcess.start(folder, ['--transport', transport]);
    try {
      const { baseUrl, controlUrl, ready } = served;
      const callers = { ...ready, accounts: ready.accounts.slice(0, 2) };
      const port = Number(new URL(baseUrl).port);
      await churn(port, 50);
      const before = handlesOf(await served.settledHoldings());

      const clients = new IdleClients({ baseUrl, controlUrl, count: 500, streams: 10 });
      await clients.open();
      expect(clients.report()).toEqual({ open: 500, timedOut: 0, lost: [] });
      // The kernel connects first; the server accepts later.
      const taken = async () => (await served.holdings()).descriptors ?? Number.NaN;
      if (!Number.isNaN(await taken())) {
        await expect.poll(taken, { timeout: 20_000 }).toBeGreaterThan(500);
      }
      const calling = callSteadily({ ready: callers, perMinute: 1_200, seconds: 1 });
      await churn(port, 2_000);
      const { requests, errors } = await calling;

      expect({ requests, errors }).toEqual({ requests: 40, errors: 0 });
      expect(clients.report().lost).toEqual([]);
      clients.close();
      await expect
        .poll(async () => handlesOf(await served.holdings()), { timeout: 20_000, interval: 50 })
        .toEqual(before);
      expect(served.errors).toBe('');
    } finally {
      await served.kill();
      rmSync(folder, { recursive: true });
    }
  },
  60_000,
);

test('a connection is lost if the server ends it too early or does not accept it', async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  const clients = new IdleClients({ baseUrl: url, controlUrl: url, count: 4, streams: 1 });
  await clients.open();
  await expect.poll(() => clients.report().lost.length).toBe(4);
  await new Promise((resolve) => server.close(resolve));
  const refused = new IdleClients({ baseUrl: url, controlUrl: url, count: 1, streams: 0 });
  await refused.open();
  expect(refused.report()).toEqual({ open: 0, timedOut: 0, lost: ['silent: could not connect'] });
});

/**
 * Opens and closes many connections in different ways, to detect leaks of the server.
 */
const atATime = 50;

/** What one connection does; it calls `done` at its end. */
type Behaviour = (socket: Socket, done: () => void) => void;

const behaviours: readonly Behaviour[] = [
  (_, done) => done(),
  (socket, done) => socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Half', done),
  (socket, done) => socket.write('POST /api/v1/sms/send/ HTTP/1.1\r\nContent-Length: 9\r\n', done),
  // Closes without reading the answer.
  (socket, done) => socket.write(get('/api/v1/account/stats/'), done),
  (socket, done) => {
    socket.once('data', done);
    socket.write(get('/api/v1/account/stats/'));
  },
];

const endings: readonly ((socket: Socket) => void)[] = [
  (socket) => socket.end(),
  (socket) => socket.destroy(),
  (socket) => socket.resetAndDestroy(),
];

/** Opens and closes `count` connections in all ways; resolves when the last one has closed. */
async function churn(port: number, count: number): Promise<void> {
  let next = 0;
  const liveOn = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await runOnce(port, index);
  };
  await Promise.all(Array.from({ length: atATime }, liveOn));
}

function runOnce(port: number, index: number): Promise<void> {
  const behave = behaviours[index % behaviours.length];
  const end = endings[Math.floor(index / behaviours.length) % endings.length];
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => behave?.(socket, () => end?.(socket)));
    socket.on('error', (error) => {
      if ('code' in error && error.code === 'ECONNREFUSED') reject(error);
    });
    socket.on('close', () => resolve());
    // Reads the rest of the answer, because otherwise the end would not be noticed.
    socket.resume();
  });
}

/**
 * Callers that each send at a steady pace for their own account, by the bench's open loop: latency
 * counts from the scheduled start, so a stalling server is charged for every request that it
 * delays.
 */
interface CallersPlan {
  readonly ready: ReadyFile;
  /** Per caller; the limit of its account allows 120. */
  readonly perMinute: number;
  readonly seconds: number;
}

/** One caller for each account, each with a connection. */
function callSteadily({ ready, perMinute, seconds }: CallersPlan): Promise<LoadResult> {
  const { hostname: host, port } = new URL(ready.base_url);
  const { accounts } = ready;
  const [first, ...others] = accounts.map(
    ({ api_key: key, sims: [sim] }): RequestTemplate => ({
      method: 'POST',
      path: sendPaths.send,
      headers: { authorization: bearer(key), 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from: sim?.number, message: 'steady' }),
    }),
  );
  if (first === undefined) throw new Error('no account calls');
  return runLoad(
    { host, port: Number(port) },
    { requests: [first, ...others], expects: [202] },
    {
      connections: accounts.length,
      durationMs: seconds * 1_000,
      perSecond: (accounts.length * perMinute) / 60,
    },
  );
}
