import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Client, type Clock, isAllowed, isNearlyAllowed } from './client.ts';
import { noReply } from './connections.ts';
import { Masks } from './masks.ts';
import { RunFacts } from './run-facts.ts';

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

/** A target that breaks the first connections, and answers `200 {}` on later ones. */
async function breaking(connections: number): Promise<{ baseUrl: string; requests: () => number }> {
  let seen = 0;
  const fields = 'content-type: application/json\r\nretry-after: 1\r\nRetry-After: 2\r\n'.repeat(2);
  const reply = `HTTP/1.1 200 OK\r\n${fields}content-length: 2\r\n\r\n{}`;
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
  expect(reply.headers).toMatchObject({
    'content-type': 'application/json',
    'retry-after': '1, 2',
  });
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
  expect(await client.request({ ...stats, mayRetry: false })).toMatchObject({ status: 0 });
  expect(requests()).toBe(1);
  client.close();
});

/** A target that answers every request with these bytes. */
async function answering(bytes: string): Promise<Client> {
  const listening = createServer((socket: Socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(bytes));
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const address = listening.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const baseUrl = `http://127.0.0.1:${port}`;
  return new Client({ baseUrl, timeoutMs: 5_000, masks: new Masks(), clock: instantClock() });
}

function withBody(body: string): string {
  return `HTTP/1.1 202 Accepted\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

const tooMuch = [
  ['a long body', withBody('x'.repeat(131_073)), '202 with a body of more than 131072 bytes'],
  ['nested JSON', withBody('{"a":'.repeat(65)), '202 with a body that nests deeper than 64 levels'],
  [
    'long headers',
    `HTTP/1.1 200 OK\r\na: ${'x'.repeat(70_000)}`,
    'headers of more than 65536 bytes',
  ],
] as const;

test.each(tooMuch)(
  '%s makes a reply unusable, and is not tried again',
  async (_, bytes, failure) => {
    const client = await answering(bytes);
    const reply = await client.request(stats);
    expect(reply).toMatchObject({ status: 0, isUnusable: true, failure, interruptions: 0 });
    client.close();
  },
);

test('brackets within texts do not nest', async () => {
  const body = JSON.stringify({ text: `\\"${'[{'.repeat(99)}` });
  const client = await answering(withBody(body));
  expect(await client.request(stats)).toMatchObject({ status: 202, text: body });
  client.close();
});

test('a field called toString does not keep a value from being printed', async () => {
  const client = await answering(withBody('{"message_id":{"toString":null}}'));
  const { json } = await client.request(stats);
  expect(`${(json as { message_id: unknown }).message_id}`).toBe('{"toString":null}');
  client.close();
});

test('an id that a request line cannot carry is escaped', async () => {
  const client = await answering(withBody('{}'));
  const path = '/api/v1/sms/a b\r\n\ud800/';
  expect(await client.request({ method: 'GET', path })).toMatchObject({ status: 202 });
  client.close();
});

const message = { to: '+12125550150', from: '+12025550101', message: 'conformance' };

function posting(fields: object) {
  const body = JSON.stringify({ ...message, ...fields });
  return { method: 'POST', path: '/api/v1/sms/send/', body };
}

test('a message without a request_id that may have arrived is never sent again', async () => {
  const { baseUrl, requests } = await breaking(1);
  const client = new Client({
    baseUrl,
    timeoutMs: 5_000,
    masks: new Masks(),
    clock: instantClock(),
  });
  const reply = await client.request(posting({}));
  expect(reply).toMatchObject({ status: 0, failure: 'ECONNRESET', interruptions: 1 });
  expect([requests(), client.sends, [...client.interruptions]]).toEqual([
    1,
    1,
    [['ECONNRESET', 1]],
  ]);
  client.close();
});

test('each try of a message counts as a send, and --max-sends ends the tries', async () => {
  const { baseUrl, requests } = await breaking(100);
  const settings = { baseUrl, timeoutMs: 5_000, masks: new Masks(), clock: instantClock() };
  const client = new Client({ ...settings, maxSends: 3 });
  const reply = await client.request(posting({ request_id: 'a' }));
  expect(reply).toMatchObject({ status: 0, interruptions: 3 });
  expect([requests(), client.sends, client.budgetReached]).toEqual([3, 3, true]);
  client.close();
});

/** A target that answers each connection's first request, and resets at the second. */
async function answeringOnce(): Promise<{ baseUrl: string; requests: () => number }> {
  let seen = 0;
  const reply = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';
  const listening = createServer((socket: Socket) => {
    let isFirst = true;
    socket.on('error', () => {});
    socket.on('data', () => {
      seen += 1;
      if (isFirst) socket.write(reply);
      else socket.resetAndDestroy();
      isFirst = false;
    });
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const address = listening.address();
  return {
    baseUrl: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    requests: () => seen,
  };
}

test('a reset on a connection that was used before counts like any other', async () => {
  const { baseUrl, requests } = await answeringOnce();
  const settings = { baseUrl, timeoutMs: 5_000, masks: new Masks(), clock: instantClock() };
  const client = new Client(settings);
  await client.request(stats);
  const reply = await client.request(posting({ request_id: 'a' }));
  expect(reply).toMatchObject({ status: 200, interruptions: 1 });
  expect([requests(), client.sends, [...client.interruptions]]).toEqual([
    3,
    2,
    [['ECONNRESET', 1]],
  ]);
  client.close();
});

test('of two keys of which one begins the other, both are masked whole', () => {
  const masks = new Masks();
  for (const key of ['key-of-acme', 'key-of-acme-2']) masks.hide(key);
  expect(masks.clean('key-of-acme-2, key-of-acme')).toBe('key…, ke…');
});

test('a key is masked, and known, whatever the case of its header name', () => {
  const masks = new Masks();
  const headers = { AUTHORIZATION: 'Bearer key-of-acme-2' };
  const request = { method: 'GET', path: '/', headers };
  expect(masks.record('http://a', request, noReply, 1).requestHeaders).toEqual({
    AUTHORIZATION: 'Bearer key…',
  });
  const facts = new RunFacts({ apiKey: 'key-of-acme-2' }, true);
  for (const name of ['AUTHORIZATION', 'Authorization']) {
    const headers = { [name]: 'Bearer key-of-acme-2' };
    expect(facts.callerOf({ ...request, headers }), name).toMatchObject({ key: 'valid' });
  }
});

test('--allow-to permits its recipients in any spelling, and no number that may be another', () => {
  const allows = (to: unknown) => isAllowed(['+12125550150'], to);
  const list = '+12125550150,+12125550150';
  for (const to of [undefined, '', '+12125550150', '+1 (212) 555-0150', 'tel:+12125550150', list])
    expect(allows(to), String(to)).toBe(true);
  for (const to of [
    '12125550150',
    '0012125550150',
    '+12125550150;ext=3',
    '+1212555',
    `${list},1`,
    {},
  ])
    expect(allows(to), String(to)).toBe(false);
});

test('a sender that no SIM has may name an allowed number as it is dialled, and no other one', () => {
  const nearly = (to: unknown) => isNearlyAllowed(['+12125550150'], to);
  for (const to of [
    '0012125550150',
    '2125550150',
    '++12125550150',
    12125550150,
    '+1',
    ['+12125550150'],
  ])
    expect(nearly(to), String(to)).toBe(true);
  for (const to of ['+12125550151', '12345', '+33199001234', { to: '+12125550151' }])
    expect(nearly(to), String(to)).toBe(false);
});

test.each([
  [{ from: '+12025550101', to: '0012125550150' }, false],
  [{ from: '+12025550199', to: '0012125550150' }, true],
  [{ from: '+12025550199', to: '+12125550151' }, false],
])('--allow-to: %j leaves: %s', async (fields, leaves) => {
  const { baseUrl } = await breaking(0);
  const limits = { allowTo: ['+12125550150'], unknownFrom: '+12025550199' };
  const client = new Client({ baseUrl, timeoutMs: 5_000, masks: new Masks(), ...limits });
  const body = JSON.stringify(fields);
  for (const text of [body, ...(leaves ? [] : [`${body}x`])]) {
    const sent = client.request({ method: 'POST', path: '/api/v1/sms/send/', body: text });
    if (leaves) await sent;
    else await expect(sent).rejects.toThrow('--allow-to');
  }
  expect(client.sends).toBe(leaves ? 1 : 0);
  client.close();
});
