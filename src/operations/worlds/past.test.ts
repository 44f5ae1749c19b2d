/** The world as of earlier instants, from a journal in memory and from a file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { sendBy, Twin } from '#verify/testkit/twin/twin.ts';
import { Simulator } from '../../simulator.ts';
import { past } from './past.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-past-'));
afterAll(() => rmSync(folder, { recursive: true }));

const at = (simulator: Simulator, second: number) =>
  new Date(simulator.settings.startTimeMs + second * 1_000).toISOString();

test.each([
  ['memory', undefined],
  ['a file', join(folder, 'run.ndjson')],
])(
  'a message, a SIM and the state are answered as of every instant, from %s',
  async (_, journal) => {
    const simulator = new Simulator({ clock: 'manual' }, { journal });
    const { message_id: id, device_id: sim } = JSON.parse(sendBy(simulator, 0, {}).body);
    const seen = new Map<number, unknown>();
    const note = () => {
      const second = (simulator.clock.now() - simulator.settings.startTimeMs) / 1_000;
      const { memory: _, ...state } = simulator.state();
      seen.set(second, [simulator.messages.get(id), simulator.sims.get(sim), state]);
    };
    for (let step = 0; step < 5; step++) {
      note();
      simulator.clock.advance('21s');
      if (step === 3) sendBy(simulator, 0, { message: 'later' });
    }
    note();
    for (const [second, [message, device, state]] of [...seen] as [number, unknown[]][]) {
      const time = at(simulator, second);
      expect(simulator.past.at({ time, message_id: id })).toEqual(message);
      expect(simulator.past.at({ time, device_id: sim })).toEqual(device);
      expect(simulator.past.at({ time })).toMatchObject(state as object);
    }
    await simulator.close();
  },
);

test('a time within an advance is answered, and an entry is the state after its line', async () => {
  const { simulator, call } = new Twin();
  const { message_id: id } = JSON.parse(sendBy(simulator, 0, {}).body);
  simulator.clock.advance('24h');
  const status = (query: object) => {
    const seen = simulator.past.at({ ...query, message_id: id });
    return 'status' in seen ? seen.status : undefined;
  };
  expect(status({ time: at(simulator, 0) })).toBe('queued');
  expect(status({ time: at(simulator, 25) })).toBe('sending');
  expect([2, 3].map((entry) => status({ entry }))).toEqual(['queued', 'delivered']);
  expect(() => status({ entry: 1 })).toThrow('no message has the id');
  const { json } = await call('GET', '/control/journal/inputs?limit=2');
  expect(json).toMatchObject({
    lines: 3,
    earliest: at(simulator, 0),
    entries: [
      { entry: 3, input: 'clock.advance', how: 'by 24h', number: null },
      { entry: 2, input: 'POST /api/v1/sms/send/', status: 202, number: 1, message_id: id },
    ],
  });
  await simulator.close();
});

test('inputs say what each operation was given, and no key', async () => {
  const { simulator } = new Twin();
  const { account_id: id } = simulator.accounts.create({ name: 'hooli', monthly_quota: 5 });
  const { key } = simulator.accounts.createKey(id, { name: 'first' });
  simulator.faults.add({ fault: { kind: 'delay', ms: 300 }, when: { nth: [1, 4] } });
  simulator.faults.remove('fault-1');
  const { entries } = simulator.past.inputs({ limit: 4 });
  expect(entries.map(({ how }) => how)).toEqual([
    'fault-1',
    'fault delay 300, when 1 4',
    `${id.slice(0, 8)}, name first`,
    'name hooli, monthly_quota 5',
  ]);
  expect(JSON.stringify(entries)).not.toContain(key);
  await simulator.close();
});

test('an instant that the journal does not hold is refused with the earliest one', async () => {
  const { simulator, call } = new Twin();
  simulator.clock.advance('1h');
  simulator.snapshots.restore({ ...simulator.snapshots.take() });
  const refusal = async (query: string) => {
    const { status, json } = await call('GET', `/control/at?${query}`);
    return [status, json.error.message];
  };
  const earliest = '2026-01-01T01:00:00.000Z';
  expect(await refusal('time=2026-01-01T00:30:00Z')).toEqual([
    409,
    `the journal holds no earlier instant than ${earliest}`,
  ]);
  expect(await refusal('time=2027-01-01T00:00:00Z')).toEqual([
    400,
    `in the future: it is ${earliest}`,
  ]);
  expect(await refusal('entry=9')).toEqual([400, 'the journal has 3 lines']);
  expect(await refusal('')).toEqual([400, 'expected time or entry']);
  await simulator.close();
  const silent = new Simulator({}, { journal: false });
  expect(() => silent.past.at({ entry: 1 })).toThrow('no journal is kept');
  await silent.close();
});

test('a fork from an earlier instant goes on from there, with keys of its own', async () => {
  const { simulator, call } = new Twin();
  const { message_id: id } = JSON.parse(sendBy(simulator, 0, {}).body);
  simulator.clock.advance('1h');
  sendBy(simulator, 0, { message: 'after the instant' });
  const from = { time: at(simulator, 30) };
  const { status, json } = await call('POST', '/control/worlds/default/fork', { from });
  expect(status).toBe(201);
  const fork = simulator.hostedWorlds.get(json.world_id)?.simulator as Simulator;
  expect(fork.state()).toMatchObject({ messages: { total: 1, sending: 1 } });
  expect(fork.clock.state().now).toBe(from.time);
  expect(json.accounts[0].api_key).not.toBe(simulator.readyFile().accounts[0]?.api_key);
  expect(JSON.parse(sendBy(fork, 0, {}).body).status).toBe('queued');
  fork.clock.advance('1h');
  expect(fork.messages.get(id).status).toBe('delivered');
  const past = await call('POST', '/control/worlds/default/fork', { from: { entry: 99 } });
  expect(past.status).toBe(400);
  await simulator.close();
});

test('the journal of a fork from an earlier instant plays from its file alone', async () => {
  const { simulator } = new Twin();
  sendBy(simulator, 0, {});
  const { world_id: id } = simulator.worlds.fork('default', { from: { entry: 1 } });
  const fork = simulator.hostedWorlds.get(id)?.simulator as Simulator;
  sendBy(fork, 0, {});
  expect(fork.past.at({ entry: 3 })).toMatchObject({ messages: { total: 1 } });
  expect(fork.past.at({ entry: 2 })).toMatchObject({ messages: { total: 0 } });
  await simulator.close();
});

test.each([
  ['memory', undefined],
  ['a file', join(folder, 'back.ndjson')],
])('the world goes back in place, and that is taken back too, from %s', async (_, journal) => {
  const settings = { clock: 'manual' } as const;
  const simulator = new Simulator(settings, { journal });
  const { message_id: id } = JSON.parse(sendBy(simulator, 0, {}).body);
  const { account_id: account } = simulator.accounts.create({ name: 'later' });
  const { key } = simulator.accounts.createKey(account, { name: 'k' });
  simulator.clock.advance('1h');
  const summary = () => {
    const { memory: _memory, requests: _requests, ...state } = simulator.state();
    return state;
  };
  const before = summary();
  const controlled = simulator.past.goBack({ entry: 2 });
  expect(controlled).toMatchObject({ now: at(simulator, 0) });
  expect(summary()).toMatchObject({ accounts: 3, messages: { total: 1, queued: 1 } });
  expect(simulator.clock.state().now).toBe(at(simulator, 0));
  sendBy(simulator, 0, { message: 'in the other course' });
  // Line 6 is the restored snapshot: the line before it is where the first course ended.
  simulator.past.goBack({ entry: 5 });
  expect(summary()).toEqual(before);
  expect(simulator.messages.get(id).status).toBe('delivered');
  const stats = { method: 'GET', path: '/api/v1/account/stats/', query: '', body: '' };
  const caller = { clientIp: '127.0.0.1', forwardedFor: undefined, contentType: undefined };
  const asked = { ...stats, ...caller, authorization: `Bearer ${key}` };
  expect(simulator.handle(asked).status).toBe(200);
  await simulator.close();
  if (journal === undefined) return;
  const again = new Simulator(settings, { journal });
  expect(again.state().messages).toEqual(before.messages);
  expect(again.handle(asked).status).toBe(200);
  await again.close();
});

test('going back over HTTP answers the clock, and refuses what the journal lacks', async () => {
  const { simulator, call } = new Twin();
  simulator.clock.advance('1h');
  const { status, json } = await call('POST', '/control/at', { time: at(simulator, 60) });
  expect([status, json.now]).toEqual([200, at(simulator, 60)]);
  expect((await call('POST', '/control/at', { entry: 99 })).status).toBe(400);
  expect((await call('POST', '/control/at', {})).status).toBe(400);
  expect((await call('POST', '/control/at', { time: '2025-01-01T00:00:00Z' })).status).toBe(409);
  await simulator.close();
});

test('the list of inputs lets others in throughout, and numbers requests as of its start', () => {
  const { simulator } = new Twin();
  for (let number = 1; number <= 300; number++) sendBy(simulator, 0, {});
  const inputsOf = past.inputs.slices as unknown as (live: Simulator, input: object) => Generator;
  const work = inputsOf(simulator, { limit: 1, before: 3 });
  let slices = 0;
  let step = work.next();
  for (; !step.done; step = work.next()) {
    slices++;
    sendBy(simulator, 0, {});
  }
  expect(step.value).toMatchObject({ lines: 301, entries: [{ entry: 2, number: 1 }] });
  // Two walks through 301 lines.
  expect(slices).toBeGreaterThan(7);
});

test('a copied situation is as of one moment, while others send and time passes', () => {
  const { simulator } = new Twin({ limits: { send: 1_000 } });
  const { message_id: id } = JSON.parse(sendBy(simulator, 0, { request_id: 'a' }).body);
  for (let number = 1; number <= 300; number++) sendBy(simulator, 1, { message: `${number}` });
  const copyOf = past.situation.slices as unknown as (live: Simulator, input: object) => Generator;
  const work = copyOf(simulator, { language: 'vitest', message_id: id });
  let step = work.next();
  for (; !step.done; step = work.next()) {
    simulator.clock.advance('10s');
    sendBy(simulator, 1, {});
  }
  expect(simulator.messages.get(id).status).toBe('delivered');
  expect(step.value).toContain(
    'const messages = simulator.messages.list({"to":"+12025550123","request_id":"a"',
  );
});
