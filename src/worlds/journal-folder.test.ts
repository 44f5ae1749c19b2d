import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { checkpointTaken, nextTurn } from '#verify/testkit/journal-files.ts';
import { bearer, postTo, sendPaths } from '#verify/testkit/twin/request.ts';
import { OperationRefused } from '../sim/errors.ts';
import { Simulation } from '../simulation/simulation.ts';
import { Simulator } from '../simulator.ts';

let parent: string;
let folders = 0;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'smstwin-folder-'));
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));
afterEach(() => {
  vi.useRealTimers();
});
const newFolder = () => join(parent, `${++folders}`);
const start = (journalDir: string, more: object = {}) =>
  new Simulator({ clock: 'manual' }, { journalDir, ...more });

type World = ReturnType<Simulator['worlds']['create']>;
const keyOf = ({ accounts: [account] }: World) => account?.api_key ?? '';

/** Finds the world by its key alone. */
function send(server: Simulator, key: string, requestId = '') {
  const content = {
    to: '+12025550123',
    from: '+12025550101',
    message: 'Hi',
    request_id: requestId,
  };
  const request = postTo(sendPaths.send, content, { authorization: bearer(key) });
  return server.hostedWorlds.router.handle(request);
}

test('worlds, forks, their keys, messages and clocks are there again after a restart', async () => {
  const folder = newFolder();
  const server = start(folder);
  const plain = server.worlds.create({});
  const key = 'an-explicit-key-of-one-world';
  const accounts = [{ name: 'a', keys: [{ name: 'k', key }], sims: [{ number: '+12025550101' }] }];
  const named = server.worlds.create({ name: 'named', seed: 9, world: { accounts } });
  const first = send(server, key, 'r1');
  server.hostedWorlds.get(named.world_id)?.simulator.clock.advance('90s');
  const fork = server.worlds.fork(named.world_id, { name: 'copy' });
  const keys = [keyOf(plain), key, keyOf(fork)];
  send(server, keyOf(fork), 'r2');
  // Only the process that made a world knows when, and from which other world.
  const lasting = ({ worlds }: Simulator) =>
    worlds.list().map(({ created_at: _, forked_from: __, ...view }) => view);
  const before = lasting(server);
  const states = server.hostedWorlds.list.map(({ simulator }) => simulator.state());
  await server.close();
  expect(readdirSync(folder).sort()).toEqual(
    ['default', ...before.map(({ world_id: id }) => id)].map((id) => `${id}.ndjson`).sort(),
  );
  for (const name of readdirSync(folder)) {
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    for (const text of keys) expect(readFileSync(join(folder, name), 'utf8')).not.toContain(text);
  }
  const again = start(folder);
  expect(lasting(again)).toEqual(before);
  const comparable = ({ memory: _, ...state }: (typeof states)[number]) => state;
  expect(again.hostedWorlds.list.map(({ simulator }) => comparable(simulator.state()))).toEqual(
    states.map(comparable),
  );
  const replay = send(again, key, 'r1');
  expect([replay.status, replay.body]).toEqual([200, first.body]);
  expect(keys.map((text) => send(again, text).status)).toEqual([202, 202, 202]);
  expect(before.map(({ world_id: id }) => id)).not.toContain(again.worlds.create({}).world_id);
  expect(() => again.worlds.create({ name: 'copy' })).toThrow(
    'the world name copy is in use; choose another',
  );
  await again.close();
  await start(folder).close();
});

test('a lifetime goes on, and the journals of deleted and expired worlds are removed', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
  const folder = newFolder();
  const server = start(folder);
  const [gone, short, long] = ['1h', '10s', '60s'].map((ttl) => server.worlds.create({ ttl }));
  const journals = () => readdirSync(folder).filter((name) => /^w\w+\.ndjson$/.test(name));
  server.worlds.delete(gone?.world_id ?? '');
  expect(journals()).toEqual([short, long].map((each) => `${each?.world_id}.ndjson`).sort());
  vi.advanceTimersByTime(5_000);
  server.hostedWorlds.useAndRenew(long?.world_id ?? '');
  vi.advanceTimersByTime(500);
  const { world_id: id, expires_at: expiresAt } = server.worlds.get(long?.world_id ?? '');
  await server.close();
  vi.advanceTimersByTime(20_000);
  const again = start(folder);
  expect(again.worlds.list().map((world) => [world.world_id, world.expires_at])).toEqual([
    [id, expiresAt],
  ]);
  expect(journals()).toEqual([`${id}.ndjson`]);
  vi.advanceTimersByTime(40_000);
  expect(again.worlds.list()).toEqual([]);
  await again.close();
  expect(journals()).toEqual([]);
});

test('an expired world whose journal cannot be removed ends nothing, and is gone once it can be', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
  const folder = newFolder();
  const server = start(folder);
  const { world_id: id } = server.worlds.create({ ttl: '10s' });
  const journal = join(folder, `${id}.ndjson`);
  renameSync(journal, join(folder, 'kept'));
  symlinkSync('kept', journal);
  vi.advanceTimersByTime(15_000);
  expect(existsSync(join(folder, 'kept'))).toBe(true);
  rmSync(journal);
  vi.advanceTimersByTime(1_000);
  expect(server.worlds.list()).toEqual([]);
  await server.close();
});

test('a world continues from its checkpoint, and its files go with it', async () => {
  const folder = newFolder();
  const server = start(folder, { journalMaxBytes: 4_096 });
  const world = server.worlds.create({});
  const journal = join(folder, `${world.world_id}.ndjson`);
  for (let n = 0; n < 20; n++) send(server, keyOf(world), `${n}`);
  await checkpointTaken(journal, 1);
  await server.close();
  const again = start(folder, { journalMaxBytes: 4_096 });
  expect(send(again, keyOf(world), '0').status).toBe(200);
  again.worlds.delete(world.world_id);
  await again.close();
  expect(readdirSync(folder)).toEqual(['default.ndjson']);
});

test('what a killed process left of a creation or a deletion is removed, other files stay', async () => {
  const folder = newFolder();
  const server = start(folder);
  const world = server.worlds.create({});
  const fork = server.worlds.fork(world.world_id, {});
  await server.close();
  const forked = join(folder, `${fork.world_id}.ndjson`);
  writeFileSync(forked, `${readFileSync(forked, 'utf8').split('\n', 1)}\n{"at":"20`);
  writeFileSync(join(folder, 'w1111111.ndjson'), '{"journal":2,"sm');
  writeFileSync(join(folder, 'w2222222.ndjson.checkpoint-3'), 'smstwin checkpoint\n...');
  writeFileSync(join(folder, 'w2222222.ndjson.lock'), '{"pid":1');
  writeFileSync(join(folder, 'notes.txt'), 'mine');
  const again = start(folder);
  expect(again.worlds.list().map(({ world_id: id }) => id)).toEqual([world.world_id]);
  await again.close();
  const left = ['default.ndjson', 'notes.txt', `${world.world_id}.ndjson`];
  expect(readdirSync(folder).sort()).toEqual(left.sort());
});

test('a journal behind a link is refused by name, and what the link leads to stays', async () => {
  const folder = newFolder();
  const server = start(folder);
  const { world_id: id } = server.worlds.create({});
  const journal = join(folder, `${id}.ndjson`);
  const other = join(parent, 'other.ndjson');
  renameSync(journal, other);
  symlinkSync(other, journal);
  expect(() => server.worlds.delete(id)).toThrow(`${journal}: it is a symbolic link`);
  await server.close();
  expect(() => start(folder)).toThrow(`${journal}: it is a symbolic link; move it away`);
  expect(readFileSync(other, 'utf8')).toContain('"journal"');
});

test('a journal that cannot be played is named, nothing starts, and every journal is unlocked', async () => {
  const folder = newFolder();
  const server = start(folder);
  const worlds = [server.worlds.create({}), server.worlds.create({})];
  await server.close();
  const damaged = join(folder, `${worlds[1]?.world_id}.ndjson`);
  appendFileSync(damaged, 'x\n');
  expect(() => start(folder)).toThrow(`${damaged}: line 2 is damaged`);
  await nextTurn();
  expect(readdirSync(folder).filter((name) => name.endsWith('.lock'))).toEqual([]);
});

test('a start that fails has one error, although its worlds cannot stop either', async () => {
  const folder = newFolder();
  const server = start(folder);
  const world = server.worlds.create({});
  await server.close();
  appendFileSync(join(folder, `${world.world_id}.ndjson`), 'x\n');
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  class Unstoppable extends Simulation {
    override stop(): void {
      throw new Error('cannot stop');
    }
  }
  const simulation = (...how: ConstructorParameters<typeof Simulation>) => new Unstoppable(...how);
  expect(() => start(folder, { simulation })).toThrow('line 2 is damaged');
  await nextTurn();
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

test('one process at a time has the folder; a file is not a folder', async () => {
  const folder = newFolder();
  const server = start(folder);
  expect(() => start(folder)).toThrow('writes this journal');
  await server.close();
  const file = join(folder, 'default.ndjson');
  expect(() => start(file)).toThrow(`${file}: cannot be a folder of journals (EEXIST)`);
});

test('a world whose journal cannot be created is a conflict with the reason, and leaves nothing', async () => {
  const folder = newFolder();
  const server = start(folder);
  rmSync(folder, { recursive: true });
  const create = () => server.worlds.create({ name: 'x' });
  expect(create).toThrow(OperationRefused);
  expect(create).toThrow(/cannot open the journal \(ENOENT\); check its folder$/);
  expect(server.worlds.list()).toEqual([]);
  await server.close();
  expect(existsSync(folder)).toBe(false);
});
