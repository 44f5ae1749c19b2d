import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Client } from './client.ts';
import type { Clock } from './clock.ts';
import { Masks } from './exchange.ts';

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

/** A target that breaks the first connections, and answers `200 {}` on later ones. */
async function breaking(connections: number): Promise<{ baseUrl: string; requests: () => number }> {
  let seen = 0;
  const reply = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';
  const listening = createServer((socket: Socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      seen += 1;
      if (seen <= connections) socket.resetAndDestroy();
      else socket.end(reply);
    });
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const address = listening.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return { baseUrl: `http://127.0.0.1:${port}`, requests: () => seen };
}

/** Its pauses take no time, and are remembered. */
function instantClock(): Clock & { readonly pauses: number[] } {
  const pauses: number[] = [];
  return {
    pauses,
    now: () => 0,
    sleep: async (ms) => {
      pauses.push(ms);
    },
  };
}

const stats = { method: 'GET', path: '/api/v1/account/stats/' };

test('a connection that breaks is tried again on a new one, after longer and longer pauses', async () => {
  const { baseUrl } = await breaking(3);
  const clock = instantClock();
  const client = new Client({ baseUrl, timeoutMs: 5_000, masks: new Masks(), clock });
  const reply = await client.request(stats);
  expect(reply).toMatchObject({ status: 200, interruptions: 3 });
  expect(clock.pauses).toEqual([100, 400, 1_000]);
  expect([...client.interruptions]).toEqual([['ECONNRESET', 3]]);
  client.close();
});

test('a request whose connection breaks every time gets no reply, which is judged', async () => {
  const { baseUrl, requests } = await breaking(100);
  const clock = instantClock();
  const client = new Client({ baseUrl, timeoutMs: 5_000, masks: new Masks(), clock });
  expect(await client.request(stats)).toMatchObject({ status: 0, failure: 'ECONNRESET' });
  expect(requests()).toBe(6);
  client.close();
});

test('the check that the target is reachable does not retry', async () => {
  const { baseUrl, requests } = await breaking(100);
  const client = new Client({ baseUrl, timeoutMs: 5_000, masks: new Masks() });
  expect(await client.request({ ...stats, retried: false })).toMatchObject({ status: 0 });
  expect(requests()).toBe(1);
  client.close();
});
