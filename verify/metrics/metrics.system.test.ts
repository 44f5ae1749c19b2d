/** Compares `GET /control/metrics` with counts made from the replies and the message histories. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { statuses } from '#contract/message-status.ts';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { matchRoute } from '#contract/routes.ts';
import { atOnce } from '#io/event-loop.ts';
import { Rng } from '#src/sim/random.ts';
import {
  familiesOf,
  metricNames,
  mostLabelledWorlds,
  type Sample,
} from '#src/simulation/metrics/families.ts';
import { type SettingsInput, Simulator } from '#src/simulator.ts';
import { MetricsText } from '#verify/testkit/metrics-text.ts';
import { kinds } from '../testkit/transport-fixture.ts';
import { plainRequest, sendBy } from '../testkit/twin/twin.ts';

const open: Simulator[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((simulator) => simulator.close()));
});

function start(settings: SettingsInput = { clock: 'manual' }): Simulator {
  const simulator = new Simulator(settings);
  open.push(simulator);
  return simulator;
}

/** The metrics as a scraper gets them. */
async function scrape(simulator: Simulator): Promise<MetricsText> {
  const { controlUrl } = await simulator.listen({ control: {} });
  return new MetricsText(await (await fetch(`${controlUrl}/control/metrics`)).text());
}

/** Requests of every endpoint and most statuses, drawn from a seed. */
function mixedRequests(simulator: Simulator, rng: Rng): () => ApiRequest {
  const [acme] = simulator.readyFile().accounts;
  const key = `Bearer ${acme?.api_key}`;
  const device = acme?.sims[0]?.device_id;
  const send = (path: string, body: unknown, authorization = key): ApiRequest => ({
    ...plainRequest,
    method: 'POST',
    path,
    authorization,
    contentType: 'application/json',
    body: JSON.stringify(body),
  });
  const get = (path: string, authorization = key): ApiRequest => ({
    ...plainRequest,
    path,
    authorization,
  });
  const body = () => ({
    to: `+1202555016${rng.below(10)}`,
    from: acme?.sims[0]?.number,
    message: 'Hello',
    ...(rng.below(2) === 0 && { request_id: `order-${rng.below(2_000)}` }),
  });
  const kindsOfRequest = [
    () => send('/api/v1/sms/send/', body()),
    () => send('/api/v1/sms/send/', body()),
    () => send('/api/sms/send/', body()),
    () => send('/api/external/send/', body()),
    () => send('/api/v1/sms/send/', { ...body(), to: 'not a number' }),
    () => send('/api/v1/sms/send/', { ...body(), from: '+12025550111' }),
    () => send('/api/v1/sms/send/', body(), 'Bearer wrong'),
    () => get(`/api/v1/sms/${simulator.messages.list({ limit: 1 })[0]?.message_id}/`),
    () => get('/api/v1/sms/00000000-0000-4000-8000-000000000000/'),
    () => get('/api/v1/account/stats/'),
    () => get('/api/v1/sms/received/'),
    () => get(`/api/devices/${device}/tasks/`),
    () => get('/api/v1/sms/send/'),
    () => get('/no/such/path/'),
  ];
  return () => (kindsOfRequest[rng.below(kindsOfRequest.length)] ?? (() => get('/')))();
}

test('after 10,000 mixed requests the counters equal an independent count', async () => {
  const simulator = start({
    clock: 'manual',
    world: { assumptions: { monthlyQuota: 'unlimited' } },
  });
  const rng = Rng.stream(15, 'metrics');
  const draw = mixedRequests(simulator, rng);
  const requests = new Map<string, number>();
  let accepted = 0;
  for (let n = 0; n < 10_000; n++) {
    const request = draw();
    const { status, body } = simulator.handle(request);
    const endpoint = matchRoute(request.path)?.route.endpoint ?? 'unknown';
    const labels = `endpoint=${endpoint},status=${status}`;
    requests.set(labels, (requests.get(labels) ?? 0) + 1);
    if (status === 202 && body.includes('"status":"queued"')) accepted++;
    if (rng.below(20) === 0) simulator.clock.advance('1s');
  }
  const metrics = await scrape(simulator);
  expect(new Set(requests.keys())).toContain('endpoint=send,status=429');
  expect(Object.fromEntries(metrics.all('smstwin_requests_total'))).toEqual(
    Object.fromEntries(requests),
  );
  for (const [labels, count] of metrics.all('smstwin_throttled_total'))
    expect(count, labels).toBe(requests.get(`${labels},status=429`) ?? 0);
  const perEndpoint = [...requests].filter(([labels]) => labels.startsWith('endpoint=read,'));
  expect(metrics.value('smstwin_request_duration_seconds_count', { endpoint: 'read' })).toBe(
    perEndpoint.reduce((sum, [, count]) => sum + count, 0),
  );
  expect(metrics.value('smstwin_messages_accepted_total')).toBe(accepted);
  const { messages, sims, timers } = simulator.state();
  for (const status of statuses)
    expect(metrics.value('smstwin_messages', { status })).toBe(messages[status]);
  expect(metrics.value('smstwin_sims', { state: 'connected' })).toBe(sims);
  expect(metrics.value('smstwin_timers')).toBe(timers);
  expect(metrics.value('smstwin_simulated_time_seconds')).toBe(
    Date.parse(simulator.clock.state().now) / 1_000,
  );
  expect(metrics.value('smstwin_worlds')).toBe(1);
});

test('the ages equal the times of the histories, and each bucket holds those up to its bound', async () => {
  const simulator = start();
  for (let n = 0; n < 100; n++) {
    sendBy(simulator, n % 2, { to: `+1202555016${n % 10}` });
    simulator.clock.advance('3s');
  }
  const metrics = await scrape(simulator);
  const records = simulator.messages.list({ limit: 100 }).map((message) => message.history);
  for (const status of ['sending', 'sent', 'delivered', 'failed']) {
    const ages = records.flatMap(([queued, ...later]) =>
      later
        .filter((entry) => entry.status === status)
        .map(({ at }) => (Date.parse(at) - Date.parse(queued?.at ?? '')) / 1_000),
    );
    expect(ages.length, status).toBeGreaterThan(0);
    const name = 'smstwin_message_age_seconds';
    expect(metrics.value(`${name}_count`, { status })).toBe(ages.length);
    expect(metrics.value(`${name}_sum`, { status })).toBeCloseTo(
      ages.reduce((sum, age) => sum + age, 0),
    );
    for (const [labels, count] of metrics.all(`${name}_bucket`)) {
      const [, le = ''] = /^le=([^,]+),.*=(\w+)$/.exec(labels) ?? [];
      if (!labels.endsWith(`status=${status}`) || le === '+Inf') continue;
      expect(count, labels).toBe(ages.filter((age) => age <= Number(le)).length);
    }
  }
});

test('a reset sets no counter back, and messages after it are counted', async () => {
  const simulator = start();
  sendBy(simulator, 0, {});
  simulator.clock.advance('1m');
  simulator.reset();
  sendBy(simulator, 0, {});
  simulator.clock.advance('20s');
  const metrics = await scrape(simulator);
  expect(metrics.value('smstwin_messages_accepted_total')).toBe(2);
  expect(metrics.value('smstwin_message_age_seconds_count', { status: 'sending' })).toBe(2);
  expect(metrics.value('smstwin_messages', { status: 'delivered' })).toBe(0);
  expect(metrics.value('smstwin_requests_total', { endpoint: 'send', status: '202' })).toBe(2);
});

test('forgotten messages are counted, over a reset too, and are no longer held', async () => {
  const simulator = start({ clock: 'manual', maxMessages: 3, noLimits: true });
  const fill = () => {
    for (let n = 0; n < 5; n++) {
      sendBy(simulator, 0, {});
      simulator.clock.advance('2m');
    }
  };
  fill();
  simulator.reset();
  fill();
  const metrics = await scrape(simulator);
  expect(metrics.value('smstwin_forgotten_messages_total')).toBe(4);
  expect(metrics.value('smstwin_messages', { status: 'delivered' })).toBe(3);
  simulator.snapshots.restore(simulator.snapshots.take());
  const [forgotten] = simulator
    .metrics()
    .filter(({ name }) => name === 'smstwin_forgotten_messages_total');
  expect(forgotten?.values).toEqual([{ labels: {}, value: 4 }]);
});

test('SIMs are counted by state, those of the pool included', async () => {
  const simulator = start();
  const [first, second] = simulator.sims.all();
  simulator.sims.patch(first?.device_id ?? '', { connected: false });
  simulator.sims.patch(second?.device_id ?? '', { connected: false, active: false });
  const metrics = await scrape(simulator);
  expect(Object.fromEntries(metrics.all('smstwin_sims'))).toEqual({
    'state=connected': 2,
    'state=disconnected': 1,
    'state=deactivated': 1,
  });
});

/** Sends bytes that are not a request, and waits for the end of the connection. */
function sendRaw(url: string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on('close', () => resolve()).on('error', reject);
    socket.resume();
  });
}

test.each(kinds)('%s: what the transport answers in place of the service counts', async (kind) => {
  const simulator = start();
  const { baseUrl } = await simulator.listen({ transport: kind });
  const init = { method: 'POST', body: 'x'.repeat(65_537) };
  await (await fetch(`${baseUrl}/api/v1/sms/send/?q=1`, init)).text();
  const head = 'POST /elsewhere HTTP/1.1\r\nhost: x\r\n';
  await sendRaw(baseUrl, `${head}content-length: 9999999\r\nconnection: close\r\n\r\n`);
  const counted = [...simulator.counts.requests.byStatus()];
  expect(counted).toEqual([
    { endpoint: 'send', status: 413, count: 1 },
    { endpoint: 'unknown', status: 413, count: 1 },
  ]);
});

test('the text names its format by Accept, ends with # EOF, and has a help and a type for each name', async () => {
  const simulator = start();
  const { controlUrl } = await simulator.listen({ control: {} });
  sendBy(simulator, 0, {});
  const ask = (accept: string) => fetch(`${controlUrl}/control/metrics`, { headers: { accept } });
  for (const [accept, type, counter] of [
    ['*/*', 'text/plain; version=0.0.4; charset=utf-8', 'smstwin_requests_total'],
    [
      'application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
      'smstwin_requests',
    ],
  ] as const) {
    const reply = await ask(accept);
    expect(reply.headers.get('content-type')).toBe(type);
    const text = await reply.text();
    expect(text).toMatch(/[^\n]\n# EOF\n$/);
    expect(text).toContain(`# TYPE ${counter} counter\nsmstwin_requests_total{`);
    for (const name of metricNames) {
      const family = accept === '*/*' ? name : name.replace(/_total$/, '');
      expect(text).toMatch(new RegExp(`^# HELP ${family} [A-Z].*\n# TYPE ${family} \\w+$`, 'm'));
    }
    expect(new MetricsText(text).value('process_resident_memory_bytes')).toBeGreaterThan(1e7);
  }
});

test('promtool has nothing to say: counters alone end in _total, and every name has a unit or a count', async () => {
  const metrics = await scrape(start());
  const simulator = start();
  const { controlUrl } = await simulator.listen({ control: {} });
  const text = await (await fetch(`${controlUrl}/control/metrics`)).text();
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, a = '', b]) => [a, b]),
  );
  for (const [name, type] of types) expect(name.endsWith('_total'), name).toBe(type === 'counter');
  for (const name of metrics.names) {
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
    expect(types.has(family), name).toBe(true);
    expect(text).toContain(`# HELP ${family} `);
  }
});

test('prom-client is loaded by a scrape alone', () => {
  const sources = [
    'simulator.ts',
    'operations/worlds/simulator.ts',
    'simulation/metrics/families.ts',
  ];
  for (const source of sources) {
    const text = readFileSync(new URL(`../../src/${source}`, import.meta.url), 'utf8');
    expect(text).not.toMatch(/^import .*(prom-client|exposition)/m);
  }
});

/** The samples of a metric, over this many worlds of which the first has accepted one message. */
function acceptedOf(count: number): readonly Sample[] | undefined {
  const sender = start();
  sendBy(sender, 0, {});
  const other = start();
  const worlds = Array.from({ length: count }, (_, n) => ({
    worldId: `w${n}`,
    simulator: n === 0 ? sender : other,
  }));
  const families = atOnce(familiesOf(worlds));
  return families.find(({ name }) => name === 'smstwin_messages_accepted_total')?.values;
}

test('several worlds are labelled, one is not; of more than a hundred there are totals', () => {
  expect(acceptedOf(1)).toEqual([{ labels: {}, value: 1 }]);
  expect(acceptedOf(2)).toEqual([
    { labels: { world: 'w0' }, value: 1 },
    { labels: { world: 'w1' }, value: 0 },
  ]);
  expect(acceptedOf(mostLabelledWorlds)).toHaveLength(mostLabelledWorlds);
  expect(acceptedOf(mostLabelledWorlds + 1)).toEqual([{ labels: {}, value: 1 }]);
});

test('other requests get a turn after each world', () => {
  const simulator = start();
  const worlds = ['w0', 'w1', 'w2'].map((worldId) => ({ worldId, simulator }));
  expect([...familiesOf(worlds)]).toHaveLength(worlds.length);
});

test('the metrics of one world are asked for by its id, and grow no more with the others', async () => {
  const simulator = start();
  const worlds = Array.from({ length: mostLabelledWorlds }, () => simulator.worlds.create({}));
  const [first, second] = worlds.map(({ world_id: id }) => id);
  const { controlUrl } = await simulator.listen({ control: {} });
  const ask = async (path: string) => {
    const response = await fetch(`${controlUrl}${path}`);
    return [response.status, await response.text()] as const;
  };
  const [, all] = await ask('/control/metrics');
  expect(all).toMatch(/^smstwin_sims\{state="connected"\} 404$/m);
  expect(all).not.toContain('smstwin_simulated_time_seconds{');
  const [, one] = await ask(`/control/metrics?world=${first}`);
  expect(one).toMatch(/^smstwin_sims\{state="connected"\} 4$/m);
  expect(one).toMatch(/^smstwin_simulated_time_seconds \d+$/m);
  expect((await ask(`/w/${first}/control/metrics`))[1]).toMatch(/^smstwin_worlds 1$/m);
  expect(await ask('/control/metrics?world=w999')).toEqual([
    400,
    '{"error":{"code":"invalid","message":"there is no world w999 here","path":"world"}}',
  ]);
  expect((await ask(`/w/${first}/control/metrics?world=${second}`))[0]).toBe(400);
});
