/**
 * The same requests over a socket with Node's `fetch` and in process with `sim.fetch`: one table,
 * whose rows must answer, fail and redirect in the same way.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, test, vi } from 'vitest';
import type { FaultInput } from '../../../config/fault-schema.ts';
import { type SettingsInput, Simulator } from '../../../simulator.ts';
import { InProcessFetch } from './in-process-fetch.ts';

type Fetch = typeof globalThis.fetch;
type Ask = (fetch: Fetch, at: (path?: string) => string, key: string) => Promise<unknown>;

const running: Simulator[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
});

function started(settings: SettingsInput = {}, ...faults: FaultInput[]): Simulator {
  const simulator = new Simulator({ clock: 'manual', ...settings });
  for (const fault of faults) simulator.faults.add(fault);
  running.push(simulator);
  return simulator;
}

function keyOf(simulator: Simulator): string {
  return simulator.readyFile().accounts[0]?.api_key ?? '';
}

const content = JSON.stringify({ to: '+12025550123', from: '+12025550101', message: 'Hello' });
const bytes = new TextEncoder().encode(content);
const stats = '/api/v1/account/stats/';

/** A send, as clients make one. */
function send(more: RequestInit = {}): Ask {
  return (fetch, at, key) =>
    fetch(at(), { method: 'POST', headers: headersOf(key), body: content, ...more });
}

function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

function streamOf(...pieces: unknown[]): RequestInit {
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  return { body, duplex: 'half' } as RequestInit;
}

function failingStream(): RequestInit {
  const body = new ReadableStream({
    pull: (controller) => controller.error(new Error('no more')),
  });
  return { body, duplex: 'half' } as RequestInit;
}

/**
 * What a client can see of a result. The connection's own headers and the real date are left out.
 */
async function seen(asked: Promise<unknown>): Promise<unknown> {
  try {
    const response = await asked;
    if (!(response instanceof Response)) return response;
    const { status, statusText, ok, url, redirected, type } = response;
    const own = ['connection', 'keep-alive', 'date'];
    const headers = [...response.headers].filter(([name]) => !own.includes(name));
    const body = await response.text().catch(errorSeen);
    return { status, statusText, ok, url, redirected, type, headers, body };
  } catch (error) {
    return errorSeen(error);
  }
}

function errorSeen(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, cause } = error;
  const { code } = error as { code?: unknown };
  const inner = cause === undefined ? undefined : errorSeen(cause);
  return { name, class: error.constructor.name, message, code, cause: inner };
}

const each = (fault: FaultInput['fault']): FaultInput => ({ when: { every: 1 }, fault });
const first = (fault: FaultInput['fault']): FaultInput => ({ when: { nth: [1] }, fault });
const redirectTo = (location: string, status = 302): FaultInput =>
  first({ kind: 'status', status, headers: { location } });

const rows: readonly [string, Ask, FaultInput[]?, SettingsInput?][] = [
  ['a text', send()],
  ['bytes', send({ body: bytes })],
  ['an ArrayBuffer', send({ body: bytes.buffer as ArrayBuffer })],
  ['a Blob with its type', send({ body: new Blob([content]) })],
  ['a stream of bytes', (...given) => send(streamOf(bytes))(...given)],
  [
    'a stream of texts',
    (...given) => send(streamOf(content.slice(0, 9), content.slice(9)))(...given),
  ],
  ['a stream that fails', (...given) => send(failingStream())(...given)],
  ['a stream without `duplex`', send({ body: new Blob([content]).stream() })],
  ['parameters', (fetch, at) => fetch(at(), { method: 'POST', body: new URLSearchParams('a=1') })],
  [
    'a form',
    (fetch, at, key) => {
      const body = new FormData();
      body.set('to', '+12025550123');
      return fetch(at(), { method: 'POST', body, headers: { authorization: `Bearer ${key}` } });
    },
  ],
  ['no body', send({ body: null })],
  ['a body at the limit', send({ body: `${content}${' '.repeat(65_536 - content.length)}` })],
  ['a body over the limit', send({ body: ' '.repeat(65_537) })],
  ['a body over what is drained', send({ body: ' '.repeat(1_100_000) })],
  [
    'a key in capitals',
    (fetch, at, key) =>
      fetch(at(stats), { headers: new Headers([['AUTHORIZATION', `Bearer ${key}`]]) }),
  ],
  [
    'two keys',
    (fetch, at, key) =>
      fetch(at(stats), {
        headers: [
          ['authorization', `Bearer ${key}`],
          ['Authorization', 'b'],
        ],
      }),
  ],
  ['no key', (fetch, at) => fetch(at(stats))],
  [
    'a URL object with a query and a fragment',
    (fetch, at, key) =>
      fetch(new URL(at('/api/v1/sms/received/?page=2&page_size=1#part')), {
        headers: headersOf(key),
      }),
  ],
  [
    'a Request',
    (fetch, at, key) =>
      fetch(new Request(at(), { method: 'POST', headers: headersOf(key), body: content })),
  ],
  [
    'a Request and its overrides',
    (fetch, at, key) =>
      fetch(new Request(at(stats), { headers: { authorization: 'Bearer wrong' } }), {
        headers: headersOf(key),
      }),
  ],
  [
    'a Request in the place of the options',
    (fetch, at, key) =>
      fetch(
        at(),
        new Request('http://x.example', {
          method: 'POST',
          headers: headersOf(key),
          body: content,
        }) as unknown as RequestInit,
      ),
  ],
  ['HEAD', (fetch, at, key) => fetch(at(stats), { method: 'HEAD', headers: headersOf(key) })],
  [
    'a method in lower case',
    (fetch, at, key) => fetch(at(stats), { method: 'get', headers: headersOf(key) }),
  ],
  ['a method of its own', (fetch, at) => fetch(at(), { method: 'PURGE' })],
  ['GET with a body', send({ method: 'GET' })],
  ['an escaped path', (fetch, at) => fetch(at('/api/v1/sms/%2e%2E/%41'))],
  ['an unknown scheme', (fetch) => fetch('ftp://x.example/')],
  ['a URL that is none', (fetch) => fetch('http://[')],
  [
    'nested errors',
    send({ body: ' '.repeat(70_000) }),
    [],
    { assumptions: { errorBody: 'nested' } },
  ],
  [
    'trailingSlash: redirect, followed',
    (fetch, at, key) => fetch(at('/api/v1/account/stats'), { headers: headersOf(key) }),
    [],
    { assumptions: { trailingSlash: 'redirect' } },
  ],
  [
    'trailingSlash: redirect, a POST becomes a GET',
    (fetch, at, key) =>
      fetch(at('/api/v1/sms/send'), { method: 'POST', headers: headersOf(key), body: content }),
    [],
    { assumptions: { trailingSlash: 'redirect' } },
  ],
  [
    'trailingSlash: redirect, by hand',
    (fetch, at, key) =>
      fetch(at('/api/v1/account/stats'), { headers: headersOf(key), redirect: 'manual' }),
    [],
    { assumptions: { trailingSlash: 'redirect' } },
  ],
  [
    'trailingSlash: redirect, refused',
    (fetch, at, key) =>
      fetch(at('/api/v1/account/stats'), { headers: headersOf(key), redirect: 'error' }),
    [],
    { assumptions: { trailingSlash: 'redirect' } },
  ],
  ['307 keeps method and body', send(), [redirectTo('/api/sms/send/', 307)]],
  [
    '307 cannot send a stream twice',
    (...given) => send(streamOf(bytes))(...given),
    [redirectTo('/api/sms/send/', 307)],
  ],
  ['303 becomes a GET', send(), [redirectTo(stats, 303)]],
  [
    'a redirect to itself',
    send(),
    [each({ kind: 'status', status: 302, headers: { location: '' } })],
  ],
  ['a redirect to another scheme', send(), [redirectTo('ftp://x.example/')]],
  ['refuse', send(), [each({ kind: 'refuse' })]],
  ['lost_response', send(), [each({ kind: 'lost_response' })]],
  ['truncate', send(), [each({ kind: 'truncate' })]],
  ['truncate, of a HEAD', send({ method: 'HEAD', body: null }), [each({ kind: 'truncate' })]],
  ['malformed', send(), [each({ kind: 'malformed' })]],
  [
    'malformed, as JSON',
    async (...given) => ((await send()(...given)) as Response).json(),
    [each({ kind: 'malformed' })],
  ],
  ['delay', send(), [each({ kind: 'delay', ms: 20 })]],
  [
    'delay and lost_response',
    send(),
    [each({ kind: 'delay', ms: 20 }), each({ kind: 'lost_response' })],
  ],
  ...[204, 205, 304, 418, 429, 599].map((status): [string, Ask, FaultInput[]] => [
    `status ${status}`,
    send(),
    [each({ kind: 'status', status, headers: { 'X-Own': 'a, b' } })],
  ]),
  [
    'a body that is not what it says',
    send(),
    [each({ kind: 'status', status: 200, headers: { 'content-encoding': 'gzip' } })],
  ],
  ['an aborted signal', send({ signal: AbortSignal.abort() })],
  ['an aborted signal with its reason', send({ signal: AbortSignal.abort(new RangeError('why')) })],
  ['a reason that is not an error', send({ signal: AbortSignal.abort('why') })],
  [
    'a timeout during a delay',
    (...given) => send({ signal: AbortSignal.timeout(300) })(...given),
    [each({ kind: 'delay', ms: 10_000 })],
  ],
  [
    'an abort before the body is read',
    async (...given) => {
      const abort = new AbortController();
      const response = await send({ signal: abort.signal })(...given);
      abort.abort();
      return response;
    },
  ],
  [
    'an abort while the body is sent',
    (...given) => {
      const body = new ReadableStream({});
      const signal = AbortSignal.timeout(20);
      return send({ body, signal, duplex: 'half' } as RequestInit)(...given);
    },
  ],
];

test.each(rows)('%s: in process as over a socket', async (_, ask, faults = [], settings = {}) => {
  const served = started(settings, ...faults);
  const { baseUrl } = await served.listen();
  const at = (path = '/api/v1/sms/send/') => `${baseUrl}${path}`;
  const overSocket = await seen(ask(fetch, at, keyOf(served)));
  const local = started(settings, ...faults);
  expect(await seen(ask(local.fetch, at, keyOf(local)))).toEqual(overSocket);
  expect(local.state().messages).toEqual(served.state().messages);
});

test('a relative URL and one of any origin reach the service, without a port', async () => {
  const { fetch } = started();
  const replies = [await fetch(stats), await fetch(`https://sms.example:444${stats}`)];
  expect(replies.map(({ status }) => status)).toEqual([401, 401]);
  expect(replies[1]?.url).toBe(`https://sms.example:444${stats}`);
});

test('a reply carries the simulated date', async () => {
  const simulator = started({ startTime: '2030-01-01T00:00:00Z' });
  simulator.clock.advance('90s');
  const { headers } = await simulator.fetch(stats);
  expect(headers.get('date')).toBe('Tue, 01 Jan 2030 00:01:30 GMT');
});

test('a request takes no turn of the event loop, so that fake timers cannot pass it', async () => {
  const { fetch } = started();
  let turns = 0;
  const turn = setImmediate(() => turns++);
  await (await fetch(stats, { method: 'POST', body: content })).text();
  expect(turns).toBe(0);
  clearImmediate(turn);
});

test('a delay counts on the timers of the client, fake ones included', async () => {
  vi.useFakeTimers();
  const { fetch } = started({}, each({ kind: 'delay', ms: 60_000 }));
  const answered = vi.fn();
  const asked = fetch(stats).then(answered);
  await vi.advanceTimersByTimeAsync(59_999);
  expect(answered).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await asked;
  expect(answered).toHaveBeenCalledOnce();
});

test('an abort during a delay takes the timer back', async () => {
  vi.useFakeTimers();
  const { fetch } = started({}, each({ kind: 'delay', ms: 60_000 }));
  const abort = new AbortController();
  const asked = fetch(stats, { signal: abort.signal });
  await vi.waitUntil(() => vi.getTimerCount() === 1);
  abort.abort(new RangeError('enough'));
  await expect(asked).rejects.toThrow('enough');
  expect(vi.getTimerCount()).toBe(0);
});

test('a delayed reply beyond the bound comes at once', async () => {
  vi.useFakeTimers();
  const service = () => ({ status: 200, body: '{}', delivery: { delayMs: 1_000 } });
  const local = new InProcessFetch({ service }, { mostDelayed: 2 });
  const ask = () => local.fetch('/', undefined, 'http://localhost');
  const delayed = [ask(), ask()];
  expect((await ask()).status).toBe(200);
  expect(vi.getTimerCount()).toBe(2);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await Promise.all(delayed)).toHaveLength(2);
});

test('a simulator that closes ends delayed replies, and refuses further requests', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  simulator.faults.add(each({ kind: 'delay', ms: 600_000 }));
  const delayed = simulator.fetch(stats).catch(errorSeen);
  await vi.waitUntil(() => simulator.state().requests === 1);
  await simulator.close();
  expect(await delayed).toMatchObject({ cause: { code: 'UND_ERR_SOCKET' } });
  await expect(simulator.fetch(stats)).rejects.toMatchObject({
    message: 'fetch failed',
    cause: { code: 'ECONNREFUSED' },
  });
});

test('bodies that were aborted hold no memory: the next one is read', async () => {
  const service = () => ({ status: 200, body: '{}' });
  const local = new InProcessFetch({ service }, { heldLimitBytes: 200_000 });
  const ask = (init: RequestInit) => local.fetch('/', init, 'http://localhost');
  for (let n = 0; n < 5; n++) {
    const abort = new AbortController();
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(60_000)),
    });
    const { signal } = abort;
    const asked = ask({ method: 'POST', body, signal, duplex: 'half' } as RequestInit);
    const failed = expect(asked).rejects.toThrow('aborted');
    setImmediate(() => abort.abort());
    await failed;
  }
  expect((await ask({ method: 'POST', body: content })).status).toBe(200);
});

test('a caller that only its own timeout wakes is not collected as garbage', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  /** Nothing but the request refers to the simulator and to the signal. */
  const waited = async () => {
    const simulator = new Simulator({ clock: 'manual' });
    simulator.faults.add({ when: { every: 1 }, fault: { kind: 'lost_request' } });
    const init = { headers: headersOf(keyOf(simulator)), signal: AbortSignal.timeout(60) };
    const failure = await simulator.fetch(stats, init).catch(({ name }: Error) => name);
    await simulator.close();
    return failure;
  };
  const found = waited();
  for (let round = 0; round < 20; round += 1) {
    await pause(10);
    collect();
  }
  expect(await Promise.race([found, pause(10_000, 'it never ended')])).toBe('TimeoutError');
});
