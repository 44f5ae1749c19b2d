import { expect, test } from 'vitest';
import { sendBy, Twin } from '#verify/testkit/twin/twin.ts';

test('the clock is read, advanced and switched', async () => {
  const { call, simulator } = new Twin();
  expect((await call('GET', '/control/health')).json).toEqual({ status: 'ok' });
  expect((await call('GET', '/control/clock')).json).toEqual({
    now: '2026-01-01T00:00:00.000Z',
    mode: 'manual',
    rate: 0,
    pending: 0,
    next_at: null,
  });
  const advanced = await call('POST', '/control/clock/advance', { by: '24h' });
  expect(advanced.json).toEqual({ now: '2026-01-02T00:00:00.000Z', fired: 0 });
  expect((await call('PUT', '/control/clock', { mode: 'scaled', rate: 7 })).json).toMatchObject({
    mode: 'scaled',
    rate: 7,
  });
  await simulator.close();
});

test('an advance answers when all that fell due has happened', async () => {
  const { call, send, simulator } = new Twin();
  const { message_id: id } = JSON.parse(send({}).body);
  await call('POST', '/control/clock/advance', { until_idle: true });
  const { json } = await call('GET', `/control/messages/${id}`);
  expect(json.status).toBe('delivered');
  expect(json.history).toHaveLength(4);
  await simulator.close();
});

test('accounts, keys and SIMs are made, used and taken away', async () => {
  const { call, simulator } = new Twin();
  const account = await call('POST', '/control/accounts', { name: 'hooli', monthly_quota: 2 });
  expect(account.status).toBe(201);
  const path = `/control/accounts/${account.json.account_id}`;
  const key = await call('POST', `${path}/keys`, { name: 'k' });
  expect(key.status).toBe(201);
  expect(Object.keys(key.json)).toEqual(['key_id', 'name', 'key', 'created_at']);
  const keys = await call('GET', `${path}/keys`);
  expect(keys.json.keys[0].prefix).toBe(key.json.key.slice(0, 9));
  expect(JSON.stringify(keys.json)).not.toContain(key.json.key);
  const sim = await call('POST', `${path}/sims`, { number: '+12025550177' });
  expect(sim.status).toBe(201);
  expect((await call('PATCH', path, { name: 'pied', monthly_quota: null })).json).toMatchObject({
    name: 'pied',
    monthly_quota: null,
  });
  expect((await call('DELETE', `/control/keys/${key.json.key_id}`)).status).toBe(204);
  expect((await call('GET', `${path}/keys`)).json.keys[0].revoked_at).not.toBeNull();
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('GET', path)).status).toBe(404);
  await simulator.close();
});

test('a mistake in a body is a 400 with its path, all mistakes in one message', async () => {
  const { call, control: request, simulator } = new Twin();
  const wrong = await call('POST', '/control/accounts', { name: '', monthly_quota: -1, x: 1 });
  expect(wrong.status).toBe(400);
  expect(wrong.json.error).toMatchObject({ code: 'invalid', path: 'name' });
  expect(wrong.json.error.message).toMatch(/name: .*monthly_quota: .*x: /);
  const malformed = await request({ method: 'POST', path: '/control/accounts', body: '{"a":' });
  expect(malformed.json).toEqual({
    error: { code: 'invalid', message: 'the body is not valid JSON' },
  });
  const limit = await call('PATCH', '/control/limits', { sent: 1 });
  expect(limit.json.error).toEqual({
    code: 'invalid',
    message:
      'no endpoint is named "sent"; use one of send, dashboard_send, external_send, received, tasks, read, stats',
    path: 'sent',
  });
  const both = await call('POST', '/control/clock/advance', { by: '1s', until_idle: true });
  expect(both.json.error.message).toMatch(/^expected one of/);
  const page = await call('GET', '/control/messages?limit=0&state=sent');
  expect(page.json.error.message).toMatch(/limit: .*state: /);
  await simulator.close();
});

test('unknown paths are 404, other methods 405 with Allow, twins 409', async () => {
  const { call, simulator } = new Twin();
  expect((await call('GET', '/control/nothing')).json.error.code).toBe('not_found');
  const wrong = await call('PATCH', '/control/clock');
  expect([wrong.status, wrong.headers['allow']]).toEqual([405, 'GET, HEAD, PUT']);
  expect((await call('HEAD', '/control/clock')).status).toBe(200);
  const twin = await call('POST', '/control/accounts', { name: 'acme' });
  expect(twin.status).toBe(409);
  expect(twin.json.error).toMatchObject({ code: 'conflict', path: 'name' });
  await simulator.close();
});

test('messages are paged newest first, and a page never repeats what arrived meanwhile', async () => {
  const { call, send, simulator } = new Twin();
  for (const request_id of ['a', 'b', 'c']) send({ request_id });
  sendBy(simulator, 1, { request_id: 'd' });
  const first = await call('GET', '/control/messages?limit=3');
  expect(idsOf(first.json)).toEqual(['d', 'c', 'b']);
  send({ request_id: 'e' });
  const next = await call('GET', `/control/messages?limit=3&cursor=${first.json.next_cursor}`);
  expect(idsOf(next.json)).toEqual(['a']);
  expect(next.json.next_cursor).toBeNull();
  const account = first.json.messages[0].account_id;
  expect(idsOf((await call('GET', `/control/messages?account_id=${account}`)).json)).toEqual(['d']);
  expect(idsOf((await call('GET', '/control/messages?text=ell&request_id=e')).json)).toEqual(['e']);
  expect(idsOf((await call('GET', '/control/messages?status=sent')).json)).toEqual([]);
  await simulator.close();
});

test('STATE-1 a message is stepped and failed by hand, and refused where the machine has no step', async () => {
  const { call, send, simulator } = new Twin();
  const path = `/control/messages/${JSON.parse(send({}).body).message_id}`;
  expect((await call('POST', `${path}/progress`)).json.status).toBe('sending');
  const failed = await call('POST', `${path}/fail`, { reason: 'because' });
  expect(failed.json).toMatchObject({ status: 'failed', failure_reason: 'because' });
  expect((await call('POST', `${path}/progress`)).status).toBe(409);
  expect((await call('POST', `${path}/fail`)).status).toBe(409);
  await simulator.close();
});

test('limits, assumptions and fates are switched; a reset takes all of it back', async () => {
  const { call, send, simulator } = new Twin();
  const before = await call('GET', '/control/outcomes');
  await call('PATCH', '/control/limits', { send: 1, read: 5 });
  await call('PATCH', '/control/assumptions', { pollIntervalSeconds: 5 });
  await call('PUT', '/control/outcomes', { outcomes: [{ to: '+1*', ends: 'stuck', in: 'sent' }] });
  expect([send({}).status, send({}).status]).toEqual([202, 429]);
  expect((await call('POST', '/control/limits/reset')).status).toBe(200);
  const { message_id: id } = JSON.parse(send({}).body);
  await call('POST', '/control/clock/advance', { by: '1h' });
  expect((await call('GET', `/control/messages/${id}`)).json.status).toBe('sent');
  expect((await call('POST', '/control/reset')).json.now).toBe('2026-01-01T00:00:00.000Z');
  expect((await call('GET', '/control/limits')).json).toMatchObject({ send: 120, read: null });
  expect((await call('GET', '/control/outcomes')).json).toEqual(before.json);
  expect((await call('PUT', '/control/outcomes', before.json)).json).toEqual(before.json);
  expect((await call('GET', '/control/messages')).json.messages).toEqual([]);
  await simulator.close();
});

test('SIMs are patched and polled, and receive', async () => {
  const { call, send, simulator } = new Twin();
  const [{ account_id: id }] = (await call('GET', '/control/accounts')).json.accounts;
  const [sim] = (await call('GET', `/control/accounts/${id}/sims`)).json.sims;
  send({});
  const polled = await call('POST', `/control/sims/${sim.device_id}/poll`);
  expect(polled.json.picked_up).toHaveLength(1);
  const patched = await call('PATCH', `/control/sims/${sim.device_id}`, { active: false });
  expect(patched.json.active).toBe(false);
  expect(send({}).status).toBe(503);
  expect((await call('POST', `/control/sims/${sim.device_id}/poll`)).status).toBe(409);
  const inbound = { from: '+12025550199', to: sim.number, message: 'hi' };
  const received = await call('POST', `/control/accounts/${id}/received`, inbound);
  expect([received.status, received.json.from_number]).toEqual([201, '+12025550199']);
  const foreign = { ...inbound, to: '+12025550111' };
  expect((await call('POST', `/control/accounts/${id}/received`, foreign)).json.error.path).toBe(
    'to',
  );
  await simulator.close();
});

function idsOf(page: { messages: { request_id: string }[] }): string[] {
  return page.messages.map(({ request_id: id }) => id);
}

test('a pool number cannot poll externally, because it has no account whose key could', async () => {
  const { call, simulator } = new Twin();
  const [{ device_id: id } = { device_id: '' }] = simulator.sims.pool();
  const reply = await call('PATCH', `/control/sims/${id}`, { polling: 'external' });
  expect(reply).toMatchObject({ status: 409, json: { error: { path: 'polling' } } });
  expect(reply.json.error.message).toContain('is a number of the pool');
  expect(simulator.sims.pool()[0]?.polling).toBe('simulated');
  const changed = await call('PATCH', `/control/sims/${id}`, {
    polling: 'simulated',
    active: false,
  });
  expect(changed.status).toBe(200);
});
