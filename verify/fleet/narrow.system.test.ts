/** Three shards behind HAProxy, with worlds that each live on one of them. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReadyNumbers } from '#src/operations/worlds/world-view.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { bearer } from '../testkit/twin/request.ts';
import { FleetFixture, runFleet } from './fleet-fixture.ts';

interface World extends ReadyNumbers {
  readonly world_id: string;
  readonly base_url: string;
  readonly control_url: string;
}

const stats = '/api/v1/account/stats/';
const keyOf = ({ accounts: [account] }: ReadyNumbers) => account?.api_key ?? '';
let fleet: FleetFixture;

beforeAll(async () => {
  fleet = await FleetFixture.start(['--shards', '3', '--clock', 'manual']);
});
afterAll(() => fleet.stop());

const create = (given: object = {}) => fleet.operate<World>('POST', '/control/worlds', given);

test('worlds go to all shards, and are found by key, path and host', async () => {
  const worlds = await Promise.all(Array.from({ length: 9 }, () => create()));
  const places = await fleet.map('worlds');
  expect([...new Set(places.values())].sort()).toEqual(['s0', 's1', 's2']);
  expect(new Set(worlds.map(({ world_id: id }) => id)).size).toBe(9);
  for (const world of worlds) {
    const first = await fleet.send(keyOf(world), { request_id: 'r' });
    expect(first.status).toBe(202);
    const again = await fleet.send(keyOf(world), { request_id: 'r' }, world.base_url);
    expect([again.status, again.body]).toEqual([200, first.body]);
    const host = `${world.world_id}.localhost`;
    const spelling = { authorization: `bearer   ${keyOf(world)}`, 'x-host': host };
    expect((await fleet.get(stats, undefined, spelling)).status).toBe(200);
    const state = await (await fetch(`${world.control_url}/control/state`)).json();
    expect(state).toMatchObject({ messages: { total: 1 }, base_url: world.base_url });
  }
  const { worlds: listed } = await fleet.operate<{ worlds: World[] }>('GET', '/control/worlds');
  expect(listed.map(({ world_id: id }) => id).sort()).toEqual(
    worlds.map(({ world_id: id }) => id).sort(),
  );
  for (const { world_id: id } of worlds) await fleet.operate('DELETE', `/control/worlds/${id}`);
  expect([(await fleet.map('worlds')).size, (await fleet.map('keys')).size]).toEqual([0, 0]);
  expect((await fleet.send(keyOf(worlds[0] as World), {})).status).toBe(401);
});

test('the first world is that of one process; names and keys are unique in the whole fleet', async () => {
  const { ready } = fleet.served;
  expect((await fleet.send(keyOf(ready), {})).status).toBe(202);
  expect((await fleet.get('/api/v1/account/stats/')).status).toBe(401);
  expect((await fleet.get('/w/wnowhere/api/v1/account/stats/', keyOf(ready))).status).toBe(404);
  const key = 'an-explicit-key-of-one-world';
  const world = { accounts: [{ name: 'a', keys: [{ name: 'k', key }], sims: [] }] };
  const named = await create({ name: 'named', world });
  expect((await fleet.map('keys')).size).toBe(1);
  for (let n = 0; n < 3; n++) {
    expect((await fleet.control('POST', '/control/worlds', { name: 'named' })).status).toBe(409);
    const taken = await fleet.control('POST', '/control/worlds', { world });
    expect([taken.status, JSON.parse(taken.body).error.path]).toEqual([
      409,
      'world.accounts[0].keys[0].key',
    ]);
  }
  const fork = await fleet.operate<World>('POST', `/control/worlds/${named.world_id}/fork`, {});
  expect((await fleet.map('worlds')).get(fork.world_id)).toBe(
    (await fleet.map('worlds')).get(named.world_id),
  );
});

test('a key is routed before it is answered, and in no map once it is revoked', async () => {
  const worlds = [await create(), await create(), await create()];
  for (const { world_id: id, accounts } of worlds) {
    const path = `/w/${id}/control/accounts/${accounts[0]?.account_id}/keys`;
    const made = await fleet.operate<{ key: string; key_id: string }>('POST', path, { name: 'k' });
    expect((await fleet.send(made.key, {})).status).toBe(202);
    const before = (await fleet.map('keys')).size;
    await fleet.operate('DELETE', `/w/${id}/control/keys/${made.key_id}`);
    expect((await fleet.map('keys')).size).toBe(before - 1);
    expect((await fleet.send(made.key, {})).status).toBe(401);
  }
});

test('what HAProxy decides cannot be set: a line says what to do', async () => {
  const { world_id: id } = await create();
  const peer = { clientIp: 'peer' };
  const snapshot = await fleet.operate<{ assumptions: object }>('GET', '/control/snapshot');
  for (const [method, path, given, field] of [
    ['PATCH', '/control/assumptions', peer, 'clientIp'],
    ['PATCH', `/w/${id}/control/assumptions`, peer, 'clientIp'],
    ['POST', '/control/worlds', { assumptions: peer }, 'assumptions.clientIp'],
    ['POST', '/control/worlds', { world: { assumptions: peer } }, 'world.assumptions.clientIp'],
    [
      'PUT',
      '/control/snapshot',
      { ...snapshot, assumptions: { ...snapshot.assumptions, ...peer } },
      'assumptions.clientIp',
    ],
  ] as const) {
    const { status, body } = await fleet.control(method, path, given);
    const { message, path: at } = JSON.parse(body).error;
    expect([status, at, message]).toEqual([409, field, expect.stringMatching(/^HAProxy decides/)]);
  }
  const same = { clientIp: 'x_forwarded_for', errorBody: 'nested' };
  await fleet.operate('PATCH', `/w/${id}/control/assumptions`, same);
  const { status, stderr } = runFleet(['--assume', 'clientIp=peer']);
  expect([status, stderr]).toEqual([2, expect.stringMatching(/^smstwin fleet: clientIp: HAProxy/)]);
});

test('a world that expires leaves every map', async () => {
  const world = await create({ ttl: '1s' });
  expect((await fleet.map('worlds')).has(world.world_id)).toBe(true);
  await expect.poll(async () => (await fleet.map('worlds')).has(world.world_id)).toBe(false);
});

test('health names each shard, metrics name the shard of each sample, events pass', async () => {
  const health = await fleet.operate<{ shards: object[] }>('GET', '/control/health');
  expect(health).toMatchObject({ status: 'ok', shards: [{ state: 'ready' }, {}, {}] });
  const metrics = await fleet.control('GET', '/control/metrics');
  expect(metrics.body.match(/^# TYPE smstwin_worlds /gm)).toHaveLength(1);
  expect(metrics.body.match(/^smstwin_worlds\{shard="[012]"\} \d/gm)).toHaveLength(3);
  const leaving = new AbortController();
  const events = await fetch(`${fleet.served.controlUrl}/control/events?kinds=message`, leaving);
  await fleet.send(keyOf(fleet.served.ready), {});
  let text = '';
  for await (const piece of events.body ?? []) {
    text += Buffer.from(piece as Uint8Array).toString();
    if (text.includes('event: message')) break;
  }
  leaving.abort();
  expect(text).toContain('"status":"queued"');
});

test('without HAProxy, or with a port in use, one line says what to do', async () => {
  const none = runFleet([], { PATH: '/nowhere' });
  expect([none.status, none.stderr.trim().split('\n').length]).toEqual([2, 1]);
  expect(none.stderr).toContain('install it');
  const blocker = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => blocker.once('listening', resolve));
  const { port } = blocker.address() as { port: number };
  const busy = ['--port', '--stats-port'].map((flag) => runFleet([flag, `${port}`]));
  blocker.close();
  for (const { status, stderr } of busy) {
    expect([status, stderr]).toEqual([
      3,
      `smstwin fleet: port ${port} on 127.0.0.1 is in use; choose another, or 0 for a free one\n`,
    ]);
  }
});

test('HAProxy ends TLS; SIGTERM ends the fleet with code 0', async () => {
  const own = await FleetFixture.start(['--shards', '1', '--tls', 'self-signed']);
  const { ready } = own.served;
  const ca = readFileSync(ready.tls_ca_file ?? '');
  const [account] = ready.accounts;
  const headers = { authorization: bearer(account?.api_key ?? '') };
  const status = await new Promise((resolve, reject) => {
    get(`${ready.base_url}${stats}`, { ca, headers }, (reply) => {
      reply.resume();
      resolve(reply.statusCode);
    }).once('error', reject);
  });
  expect([new URL(ready.base_url).protocol, status]).toEqual(['https:', 200]);
  own.served.signal('SIGTERM');
  expect(await own.served.ended).toEqual({ code: 0, signal: null });
  await own.stop();
});

test('servers that run elsewhere are joined, and HAProxy is configured for them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-join-'));
  const shards = await Promise.all(
    [0, 1].map((at) => ServedProcess.start(folder, ['--trust-proxy', '--shard', `${at}/2`])),
  );
  const list = join(folder, 'shards.json');
  writeFileSync(
    list,
    JSON.stringify(
      shards.map(({ baseUrl, controlUrl }) => ({ base_url: baseUrl, control_url: controlUrl })),
    ),
  );
  const own = await ServedProcess.startFleet(folder, ['--join', list]);
  const worlds = await Promise.all(
    [1, 2].map(async () => {
      const made = await fetch(`${own.controlUrl}/control/worlds`, { method: 'POST' });
      return (await made.json()) as World;
    }),
  );
  for (const world of worlds) {
    const headers = { authorization: bearer(keyOf(world)) };
    expect((await fetch(`${own.baseUrl}${stats}`, { headers })).status).toBe(200);
    expect(world.base_url).toBe(`${own.baseUrl}/w/${world.world_id}`);
  }
  await own.stop();
  const printed = join(folder, `ha 'pro' "$x" #y`);
  const print = runFleet(['--join', list, '--print-config', printed, '--port', '0']);
  expect([print.status, print.stderr]).toEqual([0, '']);
  const copied = join(folder, 'copied');
  renameSync(printed, copied);
  for (const name of readdirSync(copied))
    expect(readFileSync(join(copied, name), 'utf8'), name).not.toContain(folder);
  for (const cwd of [folder, copied]) {
    const checked = spawnSync('haproxy', ['-c', '-f', join(copied, 'haproxy.cfg')], { cwd });
    expect([checked.status, `${checked.stderr}`]).toEqual([0, '']);
  }
  expect(readFileSync(join(copied, 'worlds.map'), 'utf8').split('\n')).toHaveLength(3);
  await Promise.all(shards.map((shard) => shard.stop()));
  rmSync(folder, { recursive: true });
});
