/** Users move time over HTTP on both ports: a day, a month and a year each pass in one call. */
import { afterEach, expect, test } from 'vitest';
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { Simulator } from '#src/simulator.ts';
import { acmeNumber, recipient } from '../testkit/twin/twin.ts';

let simulator: Simulator | undefined;
afterEach(() => simulator?.close());

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

async function travel(transport: TransportKind) {
  simulator = new Simulator({ clock: 'manual', startTime: '2026-01-31T23:59:59.000Z' });
  const { baseUrl, controlUrl } = await simulator.listen({ transport, control: {} });
  const [acme] = simulator.readyFile().accounts;
  const call = async (url: string, body?: unknown, method?: string): Promise<Answer> => {
    const reply = await fetch(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { authorization: `Bearer ${acme?.api_key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    return { status: reply.status, text, json: JSON.parse(text) };
  };
  const message = { to: recipient, from: acmeNumber, message: 'Hello' };
  return {
    send: (fields: object = {}) => call(`${baseUrl}/api/v1/sms/send/`, { ...message, ...fields }),
    read: (id: unknown) => call(`${baseUrl}/api/v1/sms/${id}/`),
    advance: (how: object) => call(`${controlUrl}/control/clock/advance`, how),
    setQuota: (quota: number) =>
      call(`${controlUrl}/control/accounts/${acme?.account_id}`, { monthly_quota: quota }, 'PATCH'),
  };
}

const transports: readonly TransportKind[] = ['hyperexpress', 'node'];

test.each(transports)(
  'SEND-4 a day passes: the replay window ends after 24 h, %s',
  async (kind) => {
    const { send, advance } = await travel(kind);
    const first = await send({ request_id: 'a' });
    expect(first.status).toBe(202);
    await advance({ by: '24h' });
    expect(await send({ request_id: 'a' })).toMatchObject({ status: 200, text: first.text });
    await advance({ by: '1ms' });
    const next = await send({ request_id: 'a' });
    expect(next.status).toBe(202);
    expect(next.json['message_id']).not.toBe(first.json['message_id']);
  },
);

test.each(transports)(
  'ERR-1 a month passes: the quota starts again with the next, %s',
  async (kind) => {
    const { send, advance, setQuota } = await travel(kind);
    await setQuota(1);
    expect((await send()).status).toBe(202);
    await advance({ to: '2026-01-31T23:59:59.999Z' });
    expect(await send()).toMatchObject({ status: 402, json: { code: 'quota_exceeded' } });
    await advance({ by: '1ms' });
    expect((await send()).status).toBe(202);
    await advance({ to: '2026-02-28T23:59:59.999Z' });
    expect((await send()).status).toBe(402);
  },
);

test.each(transports)('SEND-7 a year passes: send_at holds until then, %s', async (kind) => {
  const { send, read, advance } = await travel(kind);
  const { json } = await send({ send_at: '2027-01-31T23:59:59.000Z' });
  await advance({ to: '2027-01-31T23:59:59.000Z' });
  expect((await read(json['message_id'])).json['status']).toBe('queued');
  await advance({ by: '20s' });
  expect((await read(json['message_id'])).json['status']).toBe('sending');
  await advance({ until_idle: true });
  expect((await read(json['message_id'])).json['status']).toBe('delivered');
});

test('simulated time ends with the year 8999, even with timers pending, and the state is sound', async () => {
  const { send, advance } = await travel('node');
  const last = '9000-01-01T00:00:00.000Z';
  await send({ send_at: '8999-12-31T23:59:59.000Z' });
  await send({ send_at: '9999-12-31T23:59:59.000Z' });
  expect((await advance({ to: last })).json['now']).toBe(last);
  expect((await advance({ until_idle: true })).json).toEqual({ now: last, fired: 0 });
  expect((await send()).json).toMatchObject({ status: 'queued', created_at: last });
  expect((await advance({ by: '1s' })).status).toBe(400);
  simulator?.clock.setMode('scaled', 1_000_000);
  await new Promise((resolve) => setTimeout(resolve, 50));
  simulator?.snapshots.restore(simulator.snapshots.take());
  expect(simulator?.clock.state()).toMatchObject({ now: last, next_at: null });
  expect(simulator?.invariants()).toMatchObject({ sound: true });
});

test('SEND-7 until_idle does not wait for a send_at that is later than the end of simulated time', async () => {
  const { send, read, advance } = await travel('node');
  const { json: late } = await send({ send_at: '9999-12-31T23:59:59.000Z' });
  const { json: soon } = await send({ send_at: '2026-02-01T01:00:00.000Z' });
  const { now } = (await advance({ until_idle: true })).json;
  expect(String(now)).toMatch(/^2026-02-01T01:0/);
  expect((await read(soon['message_id'])).json['status']).toBe('delivered');
  expect((await read(late['message_id'])).json['status']).toBe('queued');
  expect((await advance({ until_idle: true })).json).toEqual({ now, fired: 0 });
});
