/** Worlds: which one a request belongs to, what they share (nothing), and when they end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { replayJournal } from '#cli/replay/replay-journal.ts';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { postTo } from '#verify/testkit/twin/request.ts';
import { plainRequest, Twin } from '#verify/testkit/twin/twin.ts';
import { Simulator } from '../simulator.ts';
import { Worlds } from './worlds.ts';

type World = Pick<ReturnType<Simulator['worlds']['create']>, 'accounts'>;

const sendPath = '/api/v1/sms/send/';

/** A send to `server`, with the key of `world`, addressed by `at`. */
function sendIn(server: Simulator, world: World, at: Partial<ApiRequest> = {}) {
  const [account] = world.accounts;
  const from = account?.sims[0]?.number;
  const body = JSON.stringify({ to: '+12025550123', from, message: 'Hello', request_id: 'r-1' });
  const authorization = `Bearer ${account?.api_key}`;
  const contentType = 'application/json';
  const own = { method: 'POST', path: sendPath, authorization, contentType, body };
  return server.hostedWorlds.router.handle({ ...plainRequest, ...own, ...at });
}

test('a request reaches its world by path, by host, or by its key alone', () => {
  const server = new Simulator({ clock: 'manual' });
  const world = server.worlds.create({ name: 'checkout' });
  const first = sendIn(server, world);
  expect(first.status).toBe(202);
  const byPath = sendIn(server, world, { path: `/w/${world.world_id}${sendPath}` });
  const byHost = sendIn(server, world, { host: `${world.world_id}.localhost:8080` });
  expect([byPath, byHost].map(({ status, body }) => [status, body])).toEqual([
    [200, first.body],
    [200, first.body],
  ]);
  expect(server.state().messages.total).toBe(0);
});

test('AUTH-3 a key is unknown in every world but its own', () => {
  const server = new Simulator({ clock: 'manual' });
  const [one, other] = [server.worlds.create({}), server.worlds.create({})];
  const own = server.readyFile();
  for (const path of [`/w/${other.world_id}${sendPath}`, `/w/default${sendPath}`])
    expect(sendIn(server, one, { path }).status).toBe(401);
  expect(sendIn(server, own, { path: `/w/${one.world_id}${sendPath}` }).status).toBe(401);
  expect(sendIn(server, own).status).toBe(202);
});

test('an unknown world is a 404 that says so, with any key', () => {
  const server = new Simulator();
  const own = server.readyFile();
  for (const at of [{ path: `/w/nowhere${sendPath}` }, { host: 'nowhere.localhost' }]) {
    const { status, body } = sendIn(server, own, at);
    expect([status, JSON.parse(body).code]).toEqual([404, 'world_not_found']);
    expect(body).toContain('There is no world nowhere');
  }
});

test('AUTH-2 a world shows the keys of its start again, and no key that was created later', async () => {
  const server = new Simulator({ clock: 'manual' });
  const world = server.worlds.create({ name: 'checkout' });
  expect(server.worlds.get(world.world_id)).toEqual(world);
  expect(server.worlds.get('default').accounts).toEqual(server.readyFile().accounts);
  const [acme] = server.accounts.list();
  for (const { key_id: id } of server.accounts.keys(acme?.account_id ?? ''))
    server.accounts.revokeKey(id);
  const { account_id: id } = server.accounts.create({ name: 'later' });
  server.accounts.createKey(id, { name: 'later' });
  const fork = server.worlds.fork('default', { name: 'retry' });
  const accounts = server.worlds.get('default').accounts;
  expect(accounts.map(({ api_key: key }) => key !== '')).toEqual([false, true, true, false]);
  const again = server.worlds.get(fork.world_id).accounts;
  expect(again.slice(1)).toEqual(fork.accounts.slice(1));
});

test('worlds share no time, limit, fault, assumption or event', async () => {
  const server = new Simulator({ clock: 'manual' });
  const [one, other] = [server.worlds.create({}), server.worlds.create({})];
  const simulatorOf = ({ world_id: id }: { readonly world_id: string }) =>
    server.hostedWorlds.get(id)?.simulator as Simulator;
  const events: unknown[] = [];
  simulatorOf(other).activity.listen('message', (event) => events.push(event));
  simulatorOf(one).clock.advance('24h');
  simulatorOf(one).limits.patch({ send: 1 });
  simulatorOf(one).faults.add({ when: { every: 1 }, fault: { kind: 'status', status: 418 } });
  simulatorOf(one).assumptions.patch({ heldStatus: 'scheduled' });
  expect(sendIn(server, one).status).toBe(418);
  expect(events).toEqual([]);
  expect(simulatorOf(other).clock.state().now).toBe('2026-01-01T00:00:00.000Z');
  expect(simulatorOf(other).limits.get().send).toBe(120);
  expect(simulatorOf(other).assumptions.get().heldStatus).toBe('queued');
  expect([sendIn(server, other).status, sendIn(server, server.readyFile()).status]).toEqual([
    202, 202,
  ]);
  expect(events).toHaveLength(1);
});

test('the same name, seed and inputs give the same bytes; another name gives other keys', () => {
  const run = (others: number, name: string) => {
    const server = new Simulator({ clock: 'manual' });
    for (let n = 0; n < others; n++) sendIn(server, server.worlds.create({ seed: n }));
    const world = server.worlds.create({ name, seed: 7 });
    const replies = [sendIn(server, world), sendIn(server, world, { path: '/api/v1/sms/none/' })];
    return { keys: world.accounts, replies: replies.map(({ body }) => body) };
  };
  expect(run(5, 'a')).toEqual(run(0, 'a'));
  expect(run(0, 'a').keys).not.toEqual(run(0, 'b').keys);
});

test('a fork goes on from the same instant, by its own keys, and the two do not meet again', () => {
  const server = new Simulator({ clock: 'manual' });
  const world = server.worlds.create({});
  const { body } = sendIn(server, world);
  const simulator = server.hostedWorlds.get(world.world_id)?.simulator as Simulator;
  simulator.clock.advance('30s');
  const fork = server.worlds.fork(world.world_id, { name: 'retry' });
  const copy = server.hostedWorlds.get(fork.world_id)?.simulator as Simulator;
  expect(fork.accounts[0]?.api_key).not.toBe(world.accounts[0]?.api_key);
  expect(copy.clock.state()).toEqual(simulator.clock.state());
  expect(copy.messages.list()).toEqual(simulator.messages.list());
  expect(sendIn(server, fork).body).toBe(body);
  copy.clock.advance('25h');
  const { message_id: fresh } = JSON.parse(sendIn(server, fork).body);
  const { message_id: later } = JSON.parse(sendIn(server, world).body);
  expect(fresh).not.toBe(later);
  expect(() => simulator.messages.get(fresh)).toThrow('no message has the id');
  expect(copy.invariants().broken).toEqual([]);
});

test('a fork and the metrics show the present time of a fast world that nothing has moved', async () => {
  const server = new Simulator();
  const rate = 1_000;
  const world = server.worlds.create({ clock: 'scaled', rate });
  const source = server.hostedWorlds.get(world.world_id)?.simulator as Simulator;
  const pauseMs = 20;
  const pauseFrom = () => {
    const startedMs = source.wallClock.now();
    // Without a turn of the event loop, in which a timer might move the clock.
    for (const endMs = Date.now() + pauseMs; Date.now() < endMs; );
    return startedMs + pauseMs * rate;
  };
  const leastMs = pauseFrom();
  const { forked_from: origin } = server.worlds.fork(world.world_id);
  expect(Date.parse(origin?.at ?? '')).toBeGreaterThanOrEqual(leastMs - rate);
  const leastSeconds = (pauseFrom() - rate) / 1_000;
  const metrics = await server.metrics({ world: world.world_id });
  const time = metrics.find(({ name }) => name === 'smstwin_simulated_time_seconds');
  expect(time?.values[0]?.value).toBeGreaterThanOrEqual(leastSeconds);
  await server.close();
});

test('the journal of a fork, and of a named world, play again without a difference', () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-worlds-'));
  const server = new Simulator({ clock: 'manual' }, { journalDir: folder });
  const world = server.worlds.create({ name: 'named' });
  sendIn(server, world);
  const fork = server.worlds.fork(world.world_id, {});
  const copy = server.hostedWorlds.get(fork.world_id)?.simulator as Simulator;
  sendIn(server, fork);
  copy.clock.advance('60s');
  const journalOf = ({ world_id: id }: { readonly world_id: string }) =>
    join(folder, `${id}.ndjson`);
  expect(replayJournal(journalOf(world))).toMatchObject({ inputs: 1, differing: 0 });
  expect(replayJournal(journalOf(fork))).toMatchObject({ inputs: 3, differing: 0 });
  rmSync(folder, { recursive: true });
});

test('a name or an explicit key in use is refused, and free again once its world is deleted', () => {
  const server = new Simulator({ clock: 'manual' });
  const keyed = { world: { accounts: [{ name: 'a', keys: [{ name: 'k', key: 'own-key' }] }] } };
  const world = server.worlds.create({ name: 'one', ...keyed });
  expect(() => server.worlds.create({ name: 'one' })).toThrow(
    'the world name one is in use; choose another',
  );
  expect(() => server.worlds.create(keyed)).toThrow('another world has this key');
  server.worlds.delete(world.world_id);
  expect(server.worlds.create({ name: 'one', ...keyed }).accounts[0]?.api_key).toBe('own-key');
  expect(() => server.worlds.delete('default')).toThrow('cannot be deleted');
});

test('a created, a rotated and a restored key lead to their world, a deleted account to none', () => {
  const server = new Simulator({ clock: 'manual' });
  const world = server.worlds.create({});
  const { simulator } = server.hostedWorlds.get(world.world_id) ?? {};
  const { key } = (simulator as Simulator).accounts.createKey('acme', { name: 'second' });
  const authorization = `bearer  ${key}`;
  expect(sendIn(server, world, { authorization }).status).toBe(202);
  (simulator as Simulator).reset();
  expect(sendIn(server, world).status).toBe(202);
  (simulator as Simulator).accounts.delete('acme');
  const total = server.exchangeRecord.total;
  expect(sendIn(server, world).status).toBe(401);
  expect(server.exchangeRecord.total).toBe(total + 1);
});

test('the links of inbound messages and redirects keep the prefix of the world', () => {
  const server = new Simulator({ clock: 'manual', assumptions: { trailingSlash: 'redirect' } });
  const world = server.worlds.create({});
  const { simulator } = server.hostedWorlds.get(world.world_id) ?? {};
  const to = world.accounts[0]?.sims[0]?.number ?? '';
  for (const message of ['"next":"/', 'two'])
    (simulator as Simulator).sims.receive('acme', { from: '+12025550199', to, message });
  const path = `/w/${world.world_id}/api/v1/sms/received/`;
  const page = sendIn(server, world, { method: 'GET', path, query: 'page_size=1', body: '' });
  expect(JSON.parse(page.body).next).toBe(`${path}?page=2&page_size=1`);
  const last = sendIn(server, world, {
    method: 'GET',
    path,
    query: 'page=2&page_size=1',
    body: '',
  });
  expect(JSON.parse(last.body)).toMatchObject({ next: null, results: [{ message: '"next":"/' }] });
  const moved = sendIn(server, world, { method: 'GET', path: path.slice(0, -1), body: '' });
  expect(moved).toMatchObject({ status: 301, headers: { location: path } });
});

test('under its control URL every operation works on that world, behind the same guard', async () => {
  const { call, control: request, simulator } = new Twin();
  const { json: world } = await call('POST', '/control/worlds', { name: 'x', clock: 'manual' });
  const under = `/w/${world.world_id}/control`;
  expect((await call('POST', `${under}/clock/advance`, { by: '1h' })).status).toBe(200);
  expect((await call('GET', `${under}/clock`)).json.now).toBe('2026-01-01T01:00:00.000Z');
  expect(simulator.clock.state().now).toBe('2026-01-01T00:00:00.000Z');
  expect((await call('GET', '/w/none/control/clock')).json.error.code).toBe('not_found');
  const foreign = { method: 'GET', path: `${under}/clock`, headers: { host: 'evil.example' } };
  expect((await request(foreign)).status).toBe(403);
});

test('mistakes in a world are named with their paths, all at once', async () => {
  const { call } = new Twin();
  const wrong = { clok: 1, world: { accounts: [{ name: '' }] }, ttl: '0s' };
  const { status, json } = await call('POST', '/control/worlds', wrong);
  expect([status, json.error.code]).toEqual([400, 'invalid']);
  expect(json.error.message).toMatch(/world\.accounts\[0\]\.name: .*clok: /);
  const ttl = await call('POST', '/control/worlds', { ttl: '0s' });
  expect(ttl.json.error).toMatchObject({ path: 'ttl', message: 'expected a duration above 0' });
  const start = await call('POST', '/control/worlds', { clock: 'real', start_time: 86_400_000 });
  expect(start.json.error.path).toBe('start_time');
});

test('a world without a request for its time to live is gone; each request gives it as long again', () => {
  vi.useFakeTimers();
  try {
    const server = new Simulator({ clock: 'manual' });
    const world = server.worlds.create({ ttl: '10s' });
    const { expires_at: at } = server.worlds.get(world.world_id);
    expect(Date.parse(at ?? '') - Date.now()).toBe(10_000);
    vi.advanceTimersByTime(9_000);
    expect(sendIn(server, world).status).toBe(202);
    vi.advanceTimersByTime(9_000);
    expect(server.worlds.list()).toHaveLength(1);
    vi.advanceTimersByTime(2_000);
    expect(server.worlds.list()).toEqual([]);
    expect(sendIn(server, world, { path: `/w/${world.world_id}${sendPath}` }).status).toBe(404);
  } finally {
    vi.useRealTimers();
  }
});

test('a request without a key of the world does not renew its lifetime', () => {
  vi.useFakeTimers();
  try {
    const server = new Simulator({ clock: 'manual' });
    const world = server.worlds.create({ ttl: '10s' });
    const path = `/w/${world.world_id}${sendPath}`;
    vi.advanceTimersByTime(9_000);
    expect(server.hostedWorlds.router.handle(postTo(path, {})).status).toBe(401);
    vi.advanceTimersByTime(2_000);
    expect(server.worlds.list()).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test('without the token no reply tells whether a world exists, and none renews its lifetime', async () => {
  vi.useFakeTimers();
  try {
    const { control: request, simulator } = new Twin({}, { token: 'T' });
    const world = simulator.worlds.create({ ttl: '10s' });
    const replies = [];
    for (const id of [world.world_id, 'wnothere']) {
      vi.advanceTimersByTime(5_000);
      for (const path of ['control/state', 'control/none'])
        replies.push(await request({ path: `/w/${id}/${path}` }));
    }
    expect(replies.slice(2)).toEqual(replies.slice(0, 2));
    expect(replies.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    vi.advanceTimersByTime(2_000);
    expect(simulator.worlds.list()).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test('a world does not stop the server, and goes on', async () => {
  const { call, simulator } = new Twin();
  const { json: world } = await call('POST', '/control/worlds', {});
  const { status, json } = await call('POST', `/w/${world.world_id}/control/shutdown`);
  expect([status, json.error.code]).toEqual([409, 'conflict']);
  expect(sendIn(simulator, world).status).toBe(202);
});

test('the control port names no file: a body with a journal is refused', async () => {
  const { call } = new Twin();
  const { status, json } = await call('POST', '/control/worlds', { journal: '/etc/passwd' });
  expect([status, json.error.path]).toEqual([400, 'journal']);
  expect(json.error.message).toContain('serve --journal-dir');
});

test('a world that ends closes its event streams and its waits', async () => {
  const { call, simulator } = new Twin();
  const { json: world } = await call('POST', '/control/worlds', { clock: 'real' });
  const own = simulator.hostedWorlds.get(world.world_id)?.simulator as Simulator;
  let isEnded = false;
  own.activity.openStream(() => {}, { onEnd: () => (isEnded = true) });
  const wait = own.messages.wait({ match: {}, timeout_ms: 60_000 });
  expect((await call('DELETE', `/control/worlds/${world.world_id}`)).status).toBe(204);
  expect(isEnded).toBe(true);
  await expect(wait).rejects.toThrow('the simulator is closing');
});

test('worlds are bounded', () => {
  const server = new Simulator({ clock: 'manual' });
  const worlds = new Worlds(server, (settings, own) => new Simulator(settings, own), {
    maxWorlds: 2,
  });
  const [first] = [worlds.create({}, {}), worlds.create({}, {})];
  expect(() => worlds.create({}, {})).toThrow('there are 2 worlds already');
  worlds.delete(first);
  expect(worlds.create({}, {}).worldId).not.toBe(first.worldId);
});

test('metrics of the server carry a label for each world; those of a world are its own', () => {
  const server = new Simulator({ clock: 'manual' });
  const world = server.worlds.create({});
  sendIn(server, world);
  const accepted = (simulator: Simulator | undefined) =>
    simulator?.metrics().find(({ name }) => name === 'smstwin_messages_accepted_total')?.values;
  expect(accepted(server)).toEqual([
    { labels: { world: 'default' }, value: 0 },
    { labels: { world: world.world_id }, value: 1 },
  ]);
  expect(accepted(server.hostedWorlds.get(world.world_id)?.simulator)).toEqual([
    { labels: {}, value: 1 },
  ]);
});

test('CLIENT-16 a key of another world is found in each world, and does not leave', () => {
  const server = new Simulator({ clock: 'manual' });
  const [one, other] = [server.worlds.create({}), server.worlds.create({})];
  const keyOf = ({ accounts: [account] }: World) => account?.api_key ?? '';
  const withKey = { query: `?api_key=${keyOf(one)}`, path: '/api/v1/sms/received/', method: 'GET' };
  const bare = { ...plainRequest, ...withKey };
  expect(server.hostedWorlds.router.handle(bare).status).toBe(401);
  sendIn(server, other, withKey);
  const body = JSON.stringify({ message: `${keyOf(other)} and ${keyOf(server.readyFile())}` });
  sendIn(server, one, { body });
  const simulators = server.hostedWorlds.list.map(({ simulator }) => simulator);
  for (const simulator of [server, ...simulators]) {
    const rule = simulator.referee().rules.find(({ id }) => id === 'CLIENT-16');
    expect(rule?.verdict).toBe('failed');
    const { texts } = simulator.simulation.world.keyRing;
    for (const world of [one, other, server.readyFile()])
      expect(texts.hidden(simulator.journalText())).not.toContain(keyOf(world));
  }
});

test('CLIENT-16 a key of a deleted account is found, as a reset brings it back', () => {
  const server = new Simulator({ clock: 'manual' });
  const { accounts } = server.readyFile();
  const [, globex] = accounts;
  server.accounts.delete('globex');
  sendIn(server, { accounts }, { query: `?api_key=${globex?.api_key}` });
  expect(server.referee().rules.find(({ id }) => id === 'CLIENT-16')?.verdict).toBe('failed');
});
