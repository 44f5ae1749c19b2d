/**
 * The metrics of a fleet: the worlds that its users have, and a shard that is down, starts again
 * and keeps requests waiting.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MetricsText } from '#verify/testkit/metrics-text.ts';
import { FleetFixture } from './fleet-fixture.ts';

let fleet: FleetFixture;

beforeAll(async () => {
  fleet = await FleetFixture.start(['--shards', '3']);
});
afterAll(() => fleet.stop());

async function scrape(accept = 'text/plain', query = ''): Promise<string> {
  const url = `${fleet.served.controlUrl}/control/metrics${query}`;
  return (await fetch(url, { headers: { accept } })).text();
}

function sumOf(text: string, name: string): number {
  return [...new MetricsText(text).all(name).values()].reduce((sum, value) => sum + value, 0);
}

test('a narrow fleet has as many worlds as were created, and the first one', async () => {
  expect(sumOf(await scrape(), 'smstwin_worlds')).toBe(1);
  const sims = sumOf(await scrape(), 'smstwin_sims');
  const { sims: ofFirst } = await fleet.operate<{ sims: number }>('GET', '/control/state');
  expect(sims).toBe(ofFirst);
  for (let n = 0; n < 9; n++)
    await fleet.operate('POST', '/control/worlds', { world: { pool: [], accounts: [] } });
  const text = await scrape();
  expect(sumOf(text, 'smstwin_worlds')).toBe(10);
  expect(sumOf(text, 'smstwin_sims')).toBe(ofFirst);
  expect(new MetricsText(text).all('smstwin_shard_up')).toEqual(
    new Map([
      ['shard=0', 1],
      ['shard=1', 1],
      ['shard=2', 1],
    ]),
  );
});

test('a world of the query is shown by the shard that has it, and one that is not there refused', async () => {
  const { world_id: id } = await fleet.operate<{ world_id: string }>('POST', '/control/worlds', {});
  const text = await scrape('text/plain', `?world=${id}`);
  expect(text).toContain('smstwin_timers{shard=');
  expect(text).not.toContain('smstwin_shard_up');
  expect((await fleet.control('GET', '/control/metrics?world=none')).status).toBe(400);
  expect((await fleet.control('GET', '/control/metrics?x=1')).status).toBe(400);
});

test('OpenMetrics ends with its mark once, and names the family of a counter without _total', async () => {
  const text = await scrape('application/openmetrics-text');
  expect(text.match(/^# EOF$/gm)).toHaveLength(1);
  expect(text.endsWith('# EOF\n')).toBe(true);
  expect(text).toContain('# TYPE smstwin_shard_restarts counter\n');
  expect(text).toContain('smstwin_shard_restarts_total{shard="0"} 0\n');
});

const ofShard0 = async (name: string) =>
  new MetricsText(await scrape()).value(`smstwin_shard_${name}`, { shard: '0' });
const often = { timeout: 30_000, interval: 5 };

async function signalShard0(signal: NodeJS.Signals): Promise<void> {
  const { body } = await fleet.control('GET', '/control/health');
  const { shards } = JSON.parse(body) as { readonly shards: readonly { readonly pid: number }[] };
  process.kill(shards[0]?.pid ?? 0, signal);
}

/** A request of the first world, which is on shard 0. */
async function request(signal?: AbortSignal): Promise<number | 'left'> {
  const headers = { authorization: `Bearer ${fleet.served.ready.accounts[0]?.api_key}` };
  const url = `${fleet.served.baseUrl}/api/v1/account/stats/`;
  const reply = fetch(url, { headers, ...(signal !== undefined && { signal }) });
  return reply.then(
    ({ status }) => status,
    () => 'left' as const,
  );
}

test('a shard that is killed is down, holds its requests, and is back with one restart', async () => {
  await signalShard0('SIGKILL');
  await expect.poll(() => ofShard0('up'), often).toBe(0);
  const leaving = new AbortController();
  const replies = [request(), request(), request(leaving.signal)];
  await expect.poll(() => ofShard0('waiting_requests'), often).toBe(3);
  leaving.abort();
  await expect.poll(() => ofShard0('restarts_total'), often).toBe(1);
  expect(await Promise.all(replies)).toEqual([200, 200, 'left']);
  expect([await ofShard0('up'), await ofShard0('waiting_requests')]).toEqual([1, 0]);
  expect(new MetricsText(await scrape()).value('smstwin_shard_up', { shard: '1' })).toBe(1);
});

test('a shard that is silent is down, and its requests wait', async () => {
  await signalShard0('SIGSTOP');
  await expect.poll(() => ofShard0('up'), often).toBe(0);
  const leaving = new AbortController();
  const replies = [request(), request(), request(leaving.signal)];
  await expect.poll(() => ofShard0('waiting_requests'), often).toBe(3);
  leaving.abort();
  await expect.poll(() => ofShard0('waiting_requests'), often).toBe(2);
  expect(JSON.parse((await fleet.control('GET', '/control/ready')).body)).toEqual({
    status: 'ready',
  });
  await signalShard0('SIGCONT');
  expect(await Promise.all(replies)).toEqual([200, 200, 'left']);
  await expect.poll(() => ofShard0('up'), often).toBe(1);
});

test('probes of a fleet need no token, and say nothing else', async () => {
  for (const [path, status] of [
    ['live', 'live'],
    ['ready', 'ready'],
  ]) {
    const { body } = await fleet.control('GET', `/control/${path}`);
    expect(JSON.parse(body)).toEqual({ status });
  }
});

test('a fleet that finishes its last requests is alive, and not ready', async () => {
  const own = await FleetFixture.start(['--shards', '2']);
  await own.operate('POST', '/control/faults', {
    when: { every: 1 },
    fault: { kind: 'delay', ms: 1_500 },
  });
  const { api_key: key = '' } = own.served.ready.accounts[0] ?? {};
  const inFlight = own.get('/api/v1/account/stats/', key);
  const haveArrived = async () =>
    (await own.operate<{ requests: number }>('GET', '/control/state')).requests;
  await expect.poll(haveArrived, often).toBe(1);
  own.served.signal('SIGTERM');
  const ready = async () => (await own.control('GET', '/control/ready')).status;
  await expect.poll(ready, often).toBe(503);
  expect((await own.control('GET', '/control/live')).status).toBe(200);
  expect((await inFlight).status).toBe(200);
  expect(await own.served.ended).toEqual({ code: 0, signal: null });
  await own.stop();
});
