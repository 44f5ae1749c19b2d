/**
 * The control port through real sockets, on both transports: events, waits, faults, snapshots, the
 * guard, the end.
 */
import { request as httpRequest } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { kinds } from '#verify/testkit/transport-fixture.ts';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { type SettingsInput, Simulator } from '../simulator.ts';

const open: Simulator[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((simulator) => simulator.close()));
});

interface Ports {
  readonly simulator: Simulator;
  readonly baseUrl: string;
  readonly control: string;
}

async function start(
  transport: (typeof kinds)[number],
  settings: SettingsInput = {},
  options: { onShutdown?: () => unknown; token?: string } = {},
): Promise<Ports> {
  const simulator = new Simulator({ clock: 'manual', ...settings });
  open.push(simulator);
  const { token, onShutdown } = options;
  const { baseUrl, controlUrl } = await simulator.listen({
    transport,
    control: { token },
    ...(onShutdown !== undefined && { onShutdown: () => void onShutdown() }),
  });
  return { simulator, baseUrl, control: controlUrl ?? '' };
}

function post(url: string, body: unknown, method = 'POST'): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method, headers, body: JSON.stringify(body) });
}

function send({ simulator, baseUrl }: Ports, fields: object = {}): Promise<Response> {
  const [account] = simulator.readyFile().accounts;
  return fetch(`${baseUrl}/api/v1/sms/send/`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${account?.api_key}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      to: '+12025550123',
      from: account?.sims[0]?.number,
      message: 'Hello',
      ...fields,
    }),
  });
}

/** Reads events until there are `count`; `id event` of each. */
async function readEvents(response: Response, count: number): Promise<string[]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let found: string[] = [];
  while (reader !== undefined && found.length < count) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
    found = [...text.matchAll(/id: (\d+)\nevent: (\w+)\n/g)].map(
      ([, id, event]) => `${id} ${event}`,
    );
  }
  await reader?.cancel();
  return found;
}

test.each(kinds)('%s: events come as they happen, and Last-Event-ID resumes', async (kind) => {
  const ports = await start(kind);
  const first = await fetch(`${ports.control}/control/events?kinds=message,clock,request`);
  expect(first.headers.get('content-type')).toContain('text/event-stream');
  await send(ports);
  await post(`${ports.control}/control/clock/advance`, { by: '1ms' });
  expect(await readEvents(first, 3)).toEqual(['1 message', '2 request', '3 clock']);
  await post(`${ports.control}/control/clock/advance`, { by: '1ms' });
  const headers = { 'last-event-id': '2' };
  const again = await fetch(`${ports.control}/control/events`, { headers });
  expect(await readEvents(again, 2)).toEqual(['3 clock', '4 clock']);
});

test.each(kinds)('%s: a wait answers with the step that makes it match', async (kind) => {
  const ports = await start(kind);
  await send(ports);
  const match = { status: 'sending' };
  const waiting = post(`${ports.control}/control/messages/wait`, { match, timeout_ms: 60_000 });
  await post(`${ports.control}/control/clock/advance`, { by: '20s' });
  expect(await (await waiting).json()).toMatchObject({ count: 1, messages: [match] });
  const late = await post(`${ports.control}/control/messages/wait`, { count: 2, timeout_ms: 0 });
  expect(late.status).toBe(408);
});

test.each(kinds)(
  '%s: SEND-4 a lost response, and the retry gets 200 and the one message',
  async (kind) => {
    const ports = await start(kind);
    const fault = {
      match: { endpoint: 'send' },
      when: { nth: [1] },
      fault: { kind: 'lost_response' },
    };
    expect((await post(`${ports.control}/control/faults`, fault)).status).toBe(201);
    await expect(send(ports, { request_id: 'a' })).rejects.toThrow();
    expect((await send(ports, { request_id: 'a' })).status).toBe(200);
    const page = await (await fetch(`${ports.control}/control/messages`)).json();
    expect(page).toMatchObject({ messages: [{ request_id: 'a' }], next_cursor: null });
    const refuse = { when: { nth: [1] }, fault: { kind: 'refuse' } };
    await post(`${ports.control}/control/faults`, refuse);
    await expect(send(ports)).rejects.toThrow();
    expect(ports.simulator.state().messages.total).toBe(1);
  },
);

test.each(kinds)('%s: truncated, malformed and delayed replies', async (kind) => {
  const ports = await start(kind);
  const set = (nth: number, fault: object) =>
    post(`${ports.control}/control/faults`, { when: { nth: [nth] }, fault });
  await set(1, { kind: 'truncate' });
  await set(2, { kind: 'malformed' });
  await set(3, { kind: 'delay', ms: 30 });
  await expect(send(ports).then((reply) => reply.text())).rejects.toThrow();
  await expect((await send(ports)).json()).rejects.toThrow(SyntaxError);
  const before = performance.now();
  expect((await send(ports)).status).toBe(202);
  expect(performance.now() - before).toBeGreaterThanOrEqual(29);
});

test.each(kinds)(
  '%s: a snapshot larger than a request of the service comes and goes',
  async (kind) => {
    const ports = await start(kind, { noLimits: true });
    for (let n = 0; n < 600; n++) sendBy(ports.simulator, 0, { request_id: `r${n}` });
    const snapshot = await (await fetch(`${ports.control}/control/snapshot`)).text();
    expect(snapshot.length).toBeGreaterThan(65_536);
    const other = await start(kind, { seed: 2 });
    const restored = await fetch(`${other.control}/control/snapshot`, {
      method: 'PUT',
      body: snapshot,
    });
    expect(restored.status).toBe(200);
    expect(other.simulator.state().messages.total).toBe(600);
  },
);

test.each(kinds)('%s: another Host, another Origin and a wrong token are refused', async (kind) => {
  const { control } = await start(kind, {}, { token: 'secret' });
  const status = (headers: Readonly<Record<string, string>>) =>
    new Promise<number>((resolve, reject) => {
      const call = httpRequest(`${control}/control/state`, { headers }, (reply) => {
        reply.resume();
        resolve(reply.statusCode ?? 0);
      });
      call.on('error', reject);
      call.end();
    });
  const authorization = 'Bearer secret';
  expect(await status({ authorization })).toBe(200);
  expect(await status({ authorization, host: 'evil.example' })).toBe(403);
  expect(await status({ authorization, origin: 'http://evil.example' })).toBe(403);
  expect(await status({ authorization, origin: control })).toBe(200);
  expect(await status({ authorization: 'Bearer wrong' })).toBe(401);
  expect(await status({})).toBe(401);
});

test.each(kinds)('%s: shutdown is answered, then does what the process asks for', async (kind) => {
  const calls: string[] = [];
  const { control } = await start(kind, {}, { onShutdown: () => calls.push('stop') });
  const reply = await post(`${control}/control/shutdown`, undefined);
  expect([reply.status, await reply.json()]).toEqual([202, { status: 'stopping' }]);
  expect((await fetch(`${control}/control/health`)).status).toBe(200);
  expect(calls).toEqual(['stop']);
});

test.each(kinds)('%s: without such a process, shutdown closes both ports', async (kind) => {
  const { control, baseUrl } = await start(kind);
  expect((await post(`${control}/control/shutdown`, undefined)).status).toBe(202);
  await expect
    .poll(() =>
      fetch(`${baseUrl}/`).then(
        () => 'open',
        () => 'closed',
      ),
    )
    .toBe('closed');
});
