import { afterEach, expect, test, vi } from 'vitest';
import { keptRequests } from '#contract/limits.ts';
import { sendBy, Twin } from '#verify/testkit/twin/twin.ts';
import { longestKeptBody } from '../../recording/recorded-exchange.ts';
import { type SettingsInput, Simulator } from '../../simulator.ts';
import type { ActivityEvent, MessageEvent, TrafficCounts } from './activity-events.ts';
import {
  keptAfterLastMs,
  keptEvents,
  mostEventsPerSecond,
  mostStreams,
  type StreamOptions,
} from './event-streams.ts';

afterEach(() => void vi.useRealTimers());

function streamFixture(settings: SettingsInput = {}, options: StreamOptions = {}) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  const simulator = new Simulator({ clock: 'manual', noLimits: true, ...settings });
  const events: ActivityEvent[] = [];
  const stop = simulator.activity.openStream((event) => events.push(event), options);
  const count = (kind: string) => events.filter((event) => event.kind === kind).length;
  return { simulator, events, stop, count };
}

test('nothing is made before there is a reader; then messages, traffic, SIMs and the clock', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  const simulator = new Simulator({ clock: 'manual' });
  sendBy(simulator, 0, {});
  const events: ActivityEvent[] = [];
  simulator.activity.openStream((event) => events.push(event));
  sendBy(simulator, 0, {});
  const [account] = simulator.accounts.list();
  const [sim] = simulator.sims.list(account?.account_id ?? '');
  simulator.sims.patch(sim?.device_id ?? '', { connected: false });
  simulator.clock.advance('1s');
  simulator.reset();
  sendBy(simulator, 0, {});
  vi.advanceTimersByTime(100);
  expect(events.map(({ kind }) => kind)).toEqual([
    'message',
    'sim',
    'traffic',
    'clock',
    'clock',
    'message',
    'traffic',
  ]);
  expect(events[0]?.data).toMatchObject({ status: 'queued', from_status: null });
  void simulator.close();
});

test('traffic counts requests by endpoint and status, up to the last of them', () => {
  const { simulator, events } = streamFixture({}, { kinds: ['traffic'] });
  for (let n = 0; n < 3; n++) sendBy(simulator, 0, {});
  sendBy(simulator, 0, { to: 'nonsense' });
  vi.advanceTimersByTime(1_000);
  expect(events).toEqual([
    {
      id: 1,
      kind: 'traffic',
      data: {
        at: '2026-01-01T00:00:00.000Z',
        last_number: 4,
        counts: [
          { endpoint: 'send', status: 202, count: 3 },
          { endpoint: 'send', status: 400, count: 1 },
        ],
      },
    },
  ]);
  void simulator.close();
});

test('traffic is summed up no more often than the streams write, and at once after a pause', () => {
  const { simulator, events } = streamFixture({}, { kinds: ['traffic'], pauseMs: 1_000 });
  const countsAfter = (ms: number) => {
    sendBy(simulator, 0, {});
    vi.advanceTimersByTime(ms);
    return events.map(({ data }) => (data as TrafficCounts).counts[0]?.count);
  };
  expect(countsAfter(100)).toEqual([1]);
  expect(countsAfter(500)).toEqual([1]);
  expect(countsAfter(500)).toEqual([1, 2]);
  vi.advanceTimersByTime(5_000);
  expect(countsAfter(100)).toEqual([1, 2, 1]);
  simulator.activity.openStream(() => {}, { kinds: ['traffic'] });
  expect(countsAfter(100)).toEqual([1, 2, 1, 1]);
  void simulator.close();
});

test('messages counts them by status at once for all that changed, and never is behind', () => {
  const { simulator, events } = streamFixture({}, { kinds: ['messages'] });
  for (let n = 0; n < mostEventsPerSecond + 500; n++) sendBy(simulator, 0, {});
  vi.advanceTimersByTime(1_000);
  const total = mostEventsPerSecond + 500;
  const counts = { total, queued: total, sending: 0, sent: 0, delivered: 0, failed: 0 };
  expect(events).toEqual([{ id: 1, kind: 'messages', data: counts }]);
  simulator.clock.advance('1h');
  vi.advanceTimersByTime(1_000);
  expect(events).toHaveLength(2);
  expect(events[1]).toMatchObject({ kind: 'messages', data: simulator.state().messages });
  void simulator.close();
});

test('a stream gets each request only if it asks for requests', () => {
  const { simulator, count } = streamFixture();
  const asked = openStream(simulator, { kinds: ['request'] });
  sendBy(simulator, 0, {});
  expect([count('request'), asked.length]).toEqual([0, 1]);
  expect(asked[0]).toMatchObject({ kind: 'request', data: { endpoint: 'send', status: 202 } });
  void simulator.close();
});

test('above 2,000 events a second a stream learns that it is behind, at most twice a second', () => {
  const { simulator, count } = streamFixture();
  for (let n = 0; n < mostEventsPerSecond + 500; n++) sendBy(simulator, 0, {});
  vi.advanceTimersByTime(499);
  expect([count('message'), count('behind')]).toEqual([mostEventsPerSecond, 0]);
  for (let tick = 0; tick < 5; tick++) {
    vi.advanceTimersByTime(100);
    sendBy(simulator, 0, {});
  }
  expect([count('message'), count('behind')]).toEqual([mostEventsPerSecond, 1]);
  vi.advanceTimersByTime(1_001);
  expect(count('behind')).toBe(2);
  sendBy(simulator, 0, {});
  expect(count('message')).toBe(mostEventsPerSecond + 1);
  vi.advanceTimersByTime(2_000);
  expect(count('behind')).toBe(2);
  void simulator.close();
});

test('a poll that moves more messages than a stream wants reports the first ones, then that it is behind', () => {
  const simulator = new Simulator({ clock: 'manual', noLimits: true });
  for (let n = 0; n < mostEventsPerSecond + 500; n++) sendBy(simulator, 0, {});
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  const events: ActivityEvent[] = [];
  simulator.activity.openStream((event) => events.push(event), { kinds: ['message'] });
  simulator.clock.advance('20s');
  vi.advanceTimersByTime(500);
  const { messages } = simulator.simulation.world;
  expect(events.slice(0, -1).map(({ data }) => (data as MessageEvent).message_id)).toEqual(
    [...messages.keys()].slice(0, mostEventsPerSecond),
  );
  expect(events.at(-1)).toMatchObject({ id: messages.size, kind: 'behind', data: {} });
  const every = openStream(simulator, { kinds: ['message'], every: true });
  simulator.clock.advance('20s');
  expect(every.map(({ id }) => id)).toEqual(
    [...messages.keys()].map((_, n) => messages.size + n + 1),
  );
  void simulator.close();
});

test('with `every` a stream gets all events one by one, and is never behind', () => {
  const { simulator, count } = streamFixture();
  const every = openStream(simulator, { kinds: ['message'], every: true });
  for (let n = 0; n < mostEventsPerSecond + 500; n++) sendBy(simulator, 0, {});
  vi.advanceTimersByTime(500);
  expect([count('message'), count('behind')]).toEqual([mostEventsPerSecond, 1]);
  expect(every.map(({ kind }) => kind)).toEqual(Array(mostEventsPerSecond + 500).fill('message'));
  void simulator.close();
});

test('a reconnecting stream gets the events that it missed, or learns that it is behind', () => {
  const { simulator } = streamFixture({}, { kinds: ['clock'] });
  for (let n = 0; n < keptEvents + 5; n++) simulator.clock.advance(1);
  const kinds = openStream(simulator, { lastSeenId: keptEvents + 2 });
  expect(kinds.map(({ id, kind }) => `${id} ${kind}`)).toEqual([
    '1003 clock',
    '1004 clock',
    '1005 clock',
  ]);
  const late = openStream(simulator, { lastSeenId: 2 });
  expect(late).toEqual([{ id: keptEvents + 5, kind: 'behind', data: {} }]);
  void simulator.close();
});

test('a stream that reconnects after events were left out is behind', () => {
  const { simulator } = streamFixture({}, { kinds: ['message'] });
  for (let n = 0; n < mostEventsPerSecond + 500; n++) sendBy(simulator, 0, {});
  const lastSeenId = mostEventsPerSecond - 100;
  expect(openStream(simulator, { kinds: ['message'], lastSeenId })).toEqual([
    { id: mostEventsPerSecond + 500, kind: 'behind', data: {} },
  ]);
  void simulator.close();
});

test('3 s after the last stream has left, no event is made or kept', () => {
  const { simulator, stop } = streamFixture();
  simulator.clock.advance(1);
  stop();
  vi.advanceTimersByTime(keptAfterLastMs - 1);
  simulator.clock.advance(1);
  const soon = openStream(simulator, { lastSeenId: 1 }, true);
  expect(soon.map(({ id, kind }) => `${id} ${kind}`)).toEqual(['2 clock']);
  expect(simulator.activity.hasAudience).toBe(true);
  vi.advanceTimersByTime(keptAfterLastMs);
  expect(simulator.activity.hasAudience).toBe(false);
  expect(simulator.simulation.lifecycle.reader).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
  const late = openStream(simulator, { lastSeenId: 2 });
  expect(late).toMatchObject([{ kind: 'behind' }]);
  void simulator.close();
});

test('a stream with the id of another process is behind', () => {
  const { events, simulator } = streamFixture({}, { lastSeenId: 41 });
  expect(events).toEqual([{ id: 0, kind: 'behind', data: {} }]);
  void simulator.close();
});

function openStream(simulator: Simulator, options: StreamOptions, leaves = false) {
  const events: ActivityEvent[] = [];
  const stop = simulator.activity.openStream((event) => events.push(event), options);
  if (leaves) stop();
  return events;
}

test('the kinds of a stream and `every` are checked', async () => {
  const { call, simulator } = new Twin();
  expect(await call('GET', '/control/events?kinds=message,nonsense')).toMatchObject({
    status: 400,
    json: {
      error: {
        path: 'kinds',
        message:
          'expected some of message, messages, sim, clock, traffic, request, operation, separated by commas; got "message,nonsense"',
      },
    },
  });
  expect((await call('GET', '/control/events?every=yes')).status).toBe(400);
  await simulator.close();
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
  const { simulator, call } = new Twin();
  const ends = Array.from({ length: mostStreams }, () => simulator.activity.openStream(() => {}));
  expect(await call('GET', '/control/events')).toMatchObject({
    status: 409,
    json: { error: { code: 'conflict', message: 'there are 100 streams of events already' } },
  });
  expect(() => simulator.activity.openStream(() => {})).toThrow('100 streams of events already');
  ends[0]?.();
  ends[0]?.();
  simulator.activity.openStream(() => {});
  expect(() => simulator.activity.openStream(() => {})).toThrow('100 streams');
  await simulator.close();
});

test('one of the last requests is shown whole, as it came, without its key', async () => {
  const { simulator, call } = new Twin();
  const [account] = simulator.readyFile().accounts;
  const body = `{ "from_number": "${account?.sims[0]?.number}",\n"to":"+12025550123", "message":"x", "extra": 1 }`;
  simulator.handle({
    method: 'POST',
    path: '/api/v1/sms/send/',
    query: 'a=1',
    authorization: `Bearer ${account?.api_key}`,
    contentType: 'application/json; charset=utf-8',
    clientIp: '127.0.0.1',
    forwardedFor: undefined,
    body: Buffer.from(body),
  });
  const { json } = await call('GET', '/control/requests/1');
  expect(json).toMatchObject({
    number: 1,
    status: 202,
    request: {
      method: 'POST',
      path: '/api/v1/sms/send/?a=1',
      headers: {
        authorization: expect.stringMatching(/^Bearer smst_.{4}…$/),
        'content-type': 'application/json; charset=utf-8',
      },
      body,
    },
    reply: { status: 202, headers: { 'content-type': 'application/json' } },
    fault: null,
  });
  const { message_id: id } = JSON.parse(json.reply.body);
  sendBy(simulator, 0, {});
  const found = await call('GET', `/control/requests?message_id=${id}`);
  expect(found.json.requests).toMatchObject([{ number: 1 }]);
  expect((await call('GET', '/control/requests/3')).status).toBe(404);
  expect((await call('GET', '/control/requests/0x1')).status).toBe(404);
  await simulator.close();
});

test('a body longer than 16,384 bytes is not kept with its request', async () => {
  const { simulator, send } = new Twin();
  send({ extra: 'x'.repeat(longestKeptBody) });
  expect(simulator.requests.get(1)).toMatchObject({ status: 202, request: { body: null } });
  send({});
  expect(simulator.requests.get(2).request.body).toContain('"message":"Hello"');
  await simulator.close();
});

test('the code of a refusal is found in a long body too, up to what is kept', async () => {
  const { simulator, send } = new Twin();
  const set = (text: string, nth: number) => {
    const body = { code: 'planted', text };
    simulator.faults.add({ when: { nth: [nth] }, fault: { kind: 'status', status: 500, body } });
  };
  set('short', 1);
  set('x'.repeat(longestKeptBody), 2);
  for (let n = 0; n < 2; n++) send({});
  expect(simulator.requests.list().map(({ code }) => code)).toEqual([null, 'planted']);
  await simulator.close();
});

test('a listener cannot ask for traffic, which only streams get', () => {
  const { activity } = new Simulator({ clock: 'manual' });
  // @ts-expect-error: not a kind that listeners get.
  expect(() => activity.listen('traffic', () => {})).toThrow(TypeError);
});
