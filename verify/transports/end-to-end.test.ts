/**
 * The service through real sockets, on both transports: what a caller gets is what `handle()`
 * answers.
 */
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import type { SettingsInput } from '#src/config/settings.ts';
import { Simulator } from '#src/simulator.ts';
import { kinds } from '../testkit/transport-fixture.ts';
import { acmeNumber, globexNumber, recipient } from '../testkit/twin/twin.ts';

const open: Simulator[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((simulator) => simulator.close()));
});

const manual: SettingsInput = { clock: 'manual', seed: 7, limits: { send: 5 } };

function start(settings: SettingsInput = manual): Simulator {
  const simulator = new Simulator(settings);
  open.push(simulator);
  return simulator;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly query?: string;
  readonly authorization?: string | undefined;
  readonly contentType?: string;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | null>>;
}

const compared = ['retry-after', 'allow', 'www-authenticate', 'location'] as const;

function inProcess(simulator: Simulator, call: Call): Answer {
  const request: ApiRequest = {
    query: '',
    authorization: undefined,
    contentType: undefined,
    body: '',
    clientIp: '127.0.0.1',
    forwardedFor: undefined,
    ...call,
  };
  const { status, body, headers = {} } = simulator.handle(request);
  return {
    status,
    body: call.method === 'HEAD' ? '' : body,
    headers: Object.fromEntries(compared.map((name) => [name, headers[name] ?? null])),
  };
}

async function overSocket(baseUrl: string, call: Call): Promise<Answer> {
  const headers: Record<string, string> = {};
  if (call.authorization !== undefined) headers['authorization'] = call.authorization;
  if (call.contentType !== undefined) headers['content-type'] = call.contentType;
  const query = call.query === undefined ? '' : `?${call.query}`;
  const response = await fetch(`${baseUrl}${call.path}${query}`, {
    method: call.method,
    redirect: 'manual',
    headers,
    ...(call.body === undefined ? {} : { body: Buffer.from(call.body) }),
  });
  expect(response.headers.get('content-type')).toBe('application/json');
  return {
    status: response.status,
    body: await response.text(),
    headers: Object.fromEntries(compared.map((name) => [name, response.headers.get(name)])),
  };
}

test.each(kinds)(
  'READ-1 STATE-3 %s: a message is sent, and polled until it is delivered',
  async (kind) => {
    const simulator = start();
    const { baseUrl } = await simulator.listen({ transport: kind });
    const authorization = `Bearer ${simulator.readyFile().accounts[0]?.api_key}`;
    const sent = await overSocket(baseUrl, {
      method: 'POST',
      path: '/api/v1/sms/send/',
      authorization,
      contentType: 'application/json',
      body: JSON.stringify({ to: recipient, from: acmeNumber, message: 'hällo 😀' }),
    });
    expect(sent.status).toBe(202);
    const first = JSON.parse(sent.body) as Record<string, unknown>;
    const seen = ['queued'];
    for (let poll = 0; poll < 4; poll++) {
      simulator.clock.advance('20s');
      const path = `/api/v1/sms/${String(first['message_id'])}/`;
      const read = await overSocket(baseUrl, { method: 'GET', path, authorization });
      const body = JSON.parse(read.body) as Record<string, unknown>;
      expect({ ...body, status: 'queued' }).toEqual(first);
      seen.push(String(body['status']));
    }
    expect(seen).toEqual(['queued', 'sending', 'sent', 'delivered', 'delivered']);
  },
);

test.each(kinds)('SVC-4 %s: a gzip body is 415, which names Content-Encoding', async (kind) => {
  const simulator = start();
  const { baseUrl } = await simulator.listen({ transport: kind });
  const authorization = `Bearer ${simulator.readyFile().accounts[0]?.api_key}`;
  const fields = { to: recipient, from: acmeNumber, message: 'hello' };
  const response = await fetch(`${baseUrl}/api/v1/sms/send/`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: gzipSync(JSON.stringify(fields)),
  });
  expect(response.status).toBe(415);
  expect(await response.json()).toEqual({
    code: 'unsupported_content_encoding',
    detail: 'The body must be sent without a Content-Encoding such as gzip.',
  });
});

test('node: Date is simulated time on the service port and real time on the control port', async () => {
  const simulator = start({ clock: 'manual' });
  const { baseUrl, controlUrl } = await simulator.listen({ transport: 'node', control: {} });
  simulator.clock.advance('400d');
  const nowMs = simulator.simulation.clock.now();
  const dateOf = async (url: string) => (await fetch(url)).headers.get('date') ?? '';
  expect(await dateOf(`${baseUrl}/nowhere/`)).toBe(new Date(nowMs).toUTCString());
  expect(Date.parse(await dateOf(`${controlUrl}/control/clock`))).toBeLessThan(nowMs - 1_000);
});

test('Date is the simulated time of the moment and the world, on a fast clock, by default', async () => {
  const rate = 1_000;
  const simulator = start({ clock: 'scaled', rate });
  const { baseUrl } = await simulator.listen();
  const aheadMs = simulator.wallClock.now() - Date.now() * rate;
  const expectTrue = async (path: string, init?: RequestInit) => {
    // Nothing is due in this time, so nothing but the reply itself reads the wall clock.
    await new Promise((resolve) => setTimeout(resolve, 30));
    const askedMs = aheadMs + Date.now() * rate;
    const date = Date.parse((await fetch(`${baseUrl}${path}`, init)).headers.get('date') ?? '');
    // The header has no fraction of a second, and a clock is read in whole milliseconds.
    expect(date).toBeGreaterThan(askedMs - 1_000 - rate);
  };
  await expectTrue('/nowhere/');
  await expectTrue('/w/nowhere/');
  await expectTrue('/', { method: 'POST', body: 'x'.repeat(70_000) });
  const other = simulator.worlds.create({});
  const world = simulator.hostedWorlds.get(other.world_id)?.simulator;
  world?.faults.add({ match: {}, when: { every: 1 }, fault: { kind: 'delay', ms: 100 } });
  world?.clock.advance('400d');
  const authorization = `Bearer ${other.accounts[0]?.api_key}`;
  const delayed = fetch(`${baseUrl}/api/v1/account/stats/`, { headers: { authorization } });
  await expectTrue('/nowhere/');
  const date = Date.parse((await delayed).headers.get('date') ?? '');
  expect(date).toBeGreaterThan(simulator.wallClock.now() + 300 * 86_400_000);
});

test.each(kinds)(
  'SVC-4 %s: every call gets the status, the bytes and the headers of handle()',
  async (kind) => {
    const served = start();
    const twin = start();
    const { baseUrl } = await served.listen({ transport: kind });
    const authorization = `Bearer ${served.readyFile().accounts[0]?.api_key}`;
    const fields = { to: recipient, from: acmeNumber, message: 'hällo', request_id: '"ü"' };
    const send = (more: object, rest: Partial<Call> = {}): Call => ({
      method: 'POST',
      path: '/api/v1/sms/send/',
      authorization,
      contentType: 'application/json',
      body: JSON.stringify({ ...fields, ...more }),
      ...rest,
    });
    const get = (path: string, rest: Partial<Call> = {}): Call => ({
      method: 'GET',
      path,
      authorization,
      ...rest,
    });
    const calls: readonly Call[] = [
      send({}),
      send({}),
      send({ request_id: 'b', from: globexNumber }),
      send({ request_id: 'c' }, { body: '{' }),
      send({ request_id: 'd' }, { contentType: 'text/plain' }),
      send({ request_id: 'e' }),
      send({}, { authorization: 'Bearer wrong' }),
      send({}, { authorization: undefined }),
      get('/api/v1/sms/send/'),
      get('/api/v1/sms/send'),
      get('/api/v1/sms/%2e%2e%2f/'),
      get('/nowhere/', { query: 'a=b' }),
      get('/api/v1/sms/received/', { query: 'page=0' }),
      get('/api/v1/account/stats/'),
      get('/api/v1/account/stats/', { method: 'HEAD' }),
      get('/api/v1/account/stats/', { method: 'DELETE' }),
    ];
    const statuses: number[] = [];
    for (const call of calls) {
      const answer = await overSocket(baseUrl, call);
      expect(answer).toEqual(inProcess(twin, call));
      statuses.push(answer.status);
      served.clock.advance('1s');
      twin.clock.advance('1s');
    }
    expect(statuses).toEqual([
      202, 200, 403, 400, 415, 429, 401, 401, 405, 404, 404, 404, 400, 200, 200, 405,
    ]);
  },
);

test.each(kinds)('%s: a status fault sends its headers, over any of ours', async (kind) => {
  const simulator = start();
  const { baseUrl } = await simulator.listen({ transport: kind });
  const headers = { 'Retry-After': 'Fri, 31 Dec 1999 23:59:59 GMT', 'Content-Type': 'text/html' };
  simulator.faults.add({
    when: { nth: [1] },
    fault: { kind: 'status', status: 503, body: '<p>', headers },
  });
  simulator.faults.add({ when: { nth: [2] }, fault: { kind: 'status', status: 429 } });
  const forced = await fetch(`${baseUrl}/api/v1/account/stats/`);
  expect([forced.status, await forced.text()]).toEqual([503, '<p>']);
  expect(forced.headers.get('retry-after')).toBe(headers['Retry-After']);
  expect(forced.headers.get('content-type')).toBe('text/html');
  const throttled = await fetch(`${baseUrl}/api/v1/account/stats/`);
  expect([throttled.status, throttled.headers.get('retry-after')]).toEqual([429, '1']);
});

test.each(kinds)(
  '%s: a 413 has the shape of errorBody or of the template `error`, as they are switched',
  async (kind) => {
    const simulator = start();
    const { baseUrl } = await simulator.listen({ transport: kind });
    const tooLarge = async () => {
      const init = { method: 'POST', body: 'x'.repeat(65_537) };
      return (await fetch(`${baseUrl}/api/v1/sms/send/`, init)).json();
    };
    expect(await tooLarge()).toMatchObject({ code: 'request_too_large' });
    simulator.assumptions.patch({ errorBody: 'nested' });
    expect(await tooLarge()).toMatchObject({ error: { code: 'request_too_large' } });
    simulator.assumptions.patch({ replyTemplates: { error: { body: ['{code}', '{status}'] } } });
    expect(await tooLarge()).toEqual(['request_too_large', 413]);
  },
);

test('a simulator listens once, also if asked twice at once, and a close waits for its ports', async () => {
  const simulator = start();
  const listening = simulator.listen();
  await expect(simulator.listen()).rejects.toThrow('this simulator listens already');
  await simulator.close();
  const { baseUrl } = await listening;
  await expect(fetch(baseUrl)).rejects.toThrow('fetch failed');
});

test('a simulator whose port is taken listens at another', async () => {
  const { port } = new URL((await start().listen()).baseUrl);
  const simulator = start();
  await expect(simulator.listen({ port: Number(port) })).rejects.toThrow('in use');
  expect((await simulator.listen()).baseUrl).toMatch(/^http:/);
});
