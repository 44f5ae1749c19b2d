/**
 * Both load generators against servers that answer, delay, break off and never end, and the reasons
 * for which a load is not valid.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { invalidity, type LoadResult, Tally } from './load-result.ts';
import { runLoad } from './run-load.ts';
import type { Target, Workload } from './workload.ts';

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
});

/** Answers after `delayMs` and records the bodies. */
async function serve(
  bodies: string[],
  { status = 202, delayMs = 0, host = '127.0.0.1' } = {},
): Promise<Target> {
  const made = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      bodies.push(body);
      setTimeout(() => response.writeHead(status, { 'content-length': 2 }).end('{}'), delayMs);
    });
  });
  server = made;
  await new Promise<void>((resolve) => made.listen(0, host, resolve));
  return { host, port: (made.address() as AddressInfo).port };
}

const fresh: Workload = {
  requests: [
    {
      method: 'POST',
      path: '/',
      headers: { 'content-type': 'application/json' },
      body: '{"request_id":"0000"}',
      slot: { placeholder: '0000', textOf: (n) => String(n).padStart(4, '0') },
    },
  ],
  expects: [202],
};

test.each(['127.0.0.1', '::1'])(
  'saturation never repeats a request_id, on any connection to %s',
  async (host) => {
    const bodies: string[] = [];
    const target = await serve(bodies, { host });
    const load = { connections: 4, durationMs: 5_000, requests: 200 };
    const result = await runLoad(target, fresh, load);
    expect(result).toMatchObject({ requests: 200, errors: 0 });
    expect(new Set(bodies).size).toBe(bodies.length);
  },
);

test('open loop sends at the requested rate, each request with its own text', async () => {
  const bodies: string[] = [];
  const target = await serve(bodies);
  const load = { connections: 4, durationMs: 500, perSecond: 100 };
  const result = await runLoad(target, fresh, load);
  expect(result).toMatchObject({ requests: 50, errors: 0, dropped: 0 });
  expect(new Set(bodies).size).toBe(50);
});

test('open loop opens idle connections again, however often the server closes them', async () => {
  let opened = 0;
  const made = createServer((_, response) => response.end('{}'));
  made.on('connection', (socket) => {
    opened += 1;
    setTimeout(() => socket.destroy(), 100);
  });
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  const target = { host: '127.0.0.1', port: (made.address() as AddressInfo).port };
  await runLoad(target, fresh, { connections: 4, durationMs: 2_500, perSecond: 1 });
  // Three attempts each would be 12, and three more after the reply to a request.
  expect(opened).toBeGreaterThan(20);
});

test('open loop includes the waiting time in the latency', async () => {
  const target = await serve([], { delayMs: 100 });
  const result = await runLoad(target, fresh, { connections: 1, durationMs: 500, perSecond: 20 });
  // Ten requests of 100 ms each on one connection, one every 50 ms: the last waits for about 450
  // ms.
  expect(result.latency.max / 1_000).toBeGreaterThan(400);
  expect(result.requests).toBe(10);
});

test('an unexpected status is an error', async () => {
  const target = await serve([], { status: 500 });
  const result = await runLoad(target, fresh, { connections: 1, durationMs: 100, perSecond: 50 });
  expect(result.errors).toBe(5);
});

test.each([
  ['saturation', undefined],
  ['open loop', 100],
])('%s closes a connection whose reply does not end', async (_, perSecond) => {
  let sentBytes = 0;
  const endless = createServer((_request, response) => {
    response.writeHead(202, { 'content-length': 1e12 });
    const piece = Buffer.alloc(65_536);
    const more = () => {
      while (!response.destroyed && response.write(piece)) sentBytes += piece.length;
    };
    response.on('drain', more);
    more();
  });
  server = endless;
  await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve));
  const target = { host: '127.0.0.1', port: (endless.address() as AddressInfo).port };
  const result = await runLoad(target, fresh, { connections: 2, durationMs: 500, perSecond });
  expect(result.requests).toBe(0);
  expect(result.errors).toBeGreaterThan(0);
  expect(sentBytes).toBeLessThan(64 * 1_048_576);
});

test.each([
  ['states no length', {}],
  ['ends its connection', { connection: 'close', 'content-length': 2 }],
])('a reply that %s is read whole, and the next request follows', async (_, headers) => {
  const made = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(202, headers);
      response.write('{');
      setTimeout(() => response.end('}'), 5);
    });
  });
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  const target = { host: '127.0.0.1', port: (made.address() as AddressInfo).port };
  const load = { connections: 2, durationMs: 200, perSecond: 100 };
  expect(await runLoad(target, fresh, load)).toMatchObject({ requests: 20, errors: 0 });
});

function load(changed: Partial<LoadResult>): LoadResult {
  return { ...new Tally([]).finish(), requests: 1_000, generatorCores: 0.5, ...changed };
}

test('a load without problems is valid', () => {
  expect(invalidity([load({})], { isOpenLoop: true })).toEqual([]);
});

test.each([
  [{ requests: 0 }, 'no reply arrived'],
  [{ errors: 1 }, '1 request got no reply or an unexpected one; 1000 replies'],
  [{ errors: 7, requests: 0 }, '7 requests got no reply or an unexpected one; 0 replies'],
  [{ late: 11 }, 'sent 11 of 1000 requests later than intended'],
  [{ dropped: 1 }, 'no free connection for 1 request'],
  [{ generatorCores: 0.97 }, 'the generator was saturated'],
])('%o invalidates an open loop', (changed, why) => {
  expect(invalidity([load(changed)], { isOpenLoop: true }).join()).toContain(why);
});

test('a busy generator does not invalidate saturation', () => {
  expect(invalidity([load({ generatorCores: 1 })], { isOpenLoop: false })).toEqual([]);
});
