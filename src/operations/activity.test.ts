import { expect, test } from 'vitest';
import { controlFixture, sendBy } from '../../verify/testkit/control-fixture.ts';
import { Simulator } from '../simulator.ts';
import { type ActivityEvent, keptEvents, mostStreams } from './activity.ts';
import { keptRequests } from './requests.ts';

test('nothing is made before somebody listens; then messages, requests, SIMs and the clock', () => {
  const simulator = new Simulator({ clock: 'manual' });
  sendBy(simulator, 0, {});
  const events: ActivityEvent[] = [];
  const stop = simulator.activity.stream((event) => events.push(event));
  sendBy(simulator, 0, {});
  const [account] = simulator.accounts.list();
  const [sim] = simulator.sims.list(account?.account_id ?? '');
  simulator.sims.patch(sim?.device_id ?? '', { connected: false });
  simulator.clock.advance('1s');
  simulator.reset();
  sendBy(simulator, 0, {});
  expect(events.map(({ id, kind }) => `${id} ${kind}`)).toEqual([
    '1 message',
    '2 request',
    '3 sim',
    '4 clock',
    '5 clock',
    '6 message',
    '7 request',
  ]);
  expect(events[0]?.data).toMatchObject({ status: 'queued', from_status: null });
  stop();
  void simulator.close();
});

test('a reader that comes back gets what it missed, and is told what is lost', () => {
  const simulator = new Simulator({ clock: 'manual' });
  simulator.activity.stream(() => {})();
  for (let n = 0; n < keptEvents + 5; n++) simulator.clock.advance(1);
  const kinds: string[] = [];
  simulator.activity.stream(({ id, kind }) => kinds.push(`${id} ${kind}`), keptEvents + 2)();
  expect(kinds).toEqual(['1003 clock', '1004 clock', '1005 clock']);
  const late: ActivityEvent[] = [];
  simulator.activity.stream((event) => late.push(event), 2)();
  expect(late[0]).toEqual({ id: 5, kind: 'gap', data: { missed: 3 } });
  expect(late).toHaveLength(keptEvents + 1);
  void simulator.close();
});

test('the last requests are kept, newest first, with the code of a refusal and never a key', () => {
  const simulator = new Simulator({ clock: 'manual', limits: { send: 2_000 } });
  for (let n = 0; n < keptRequests; n++) sendBy(simulator, 0, {});
  const { accounts } = simulator.readyFile();
  sendBy(simulator, 0, { to: 'nonsense' });
  const requests = simulator.requests.list();
  expect(requests).toHaveLength(keptRequests);
  expect(requests[0]).toMatchObject({
    number: keptRequests + 1,
    endpoint: 'send',
    method: 'POST',
    account_id: accounts[0]?.account_id,
    status: 400,
    code: 'to',
  });
  expect(requests.at(-1)?.number).toBe(2);
  expect(JSON.stringify(requests)).not.toContain(accounts[0]?.api_key);
  expect(simulator.requests.list({ limit: 3 })).toHaveLength(3);
  void simulator.close();
});

test('streams of events are bounded: one too many is 409, and one that ends makes room', async () => {
  const { simulator, call } = controlFixture();
  const ends = Array.from({ length: mostStreams }, () => simulator.activity.stream(() => {}));
  expect(await call('GET', '/control/events')).toMatchObject({
    status: 409,
    json: { error: { code: 'conflict', message: 'there are 100 streams of events already' } },
  });
  expect(() => simulator.activity.stream(() => {})).toThrow('100 streams of events already');
  ends[0]?.();
  ends[0]?.();
  simulator.activity.stream(() => {});
  expect(() => simulator.activity.stream(() => {})).toThrow('100 streams');
  await simulator.close();
});

test('an error of a fault may be long, and no more of it is kept than could hold a code', async () => {
  const { simulator, send } = controlFixture();
  const set = (text: string, nth: number) => {
    const body = { code: 'planted', text };
    simulator.faults.add({ when: { nth: [nth] }, fault: { kind: 'status', status: 500, body } });
  };
  set('short', 1);
  set('x'.repeat(5_000), 2);
  for (let n = 0; n < 2; n++) send({});
  expect(simulator.requests.list().map(({ code }) => code)).toEqual([null, 'planted']);
  await simulator.close();
});
