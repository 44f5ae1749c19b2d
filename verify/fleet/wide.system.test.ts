/**
 * A first world over three shards. One seeded script of operations is done in step by one process and
 * by the fleet, on manual clocks: each account's replies must be byte for byte equal.
 * `npm run test:fleet`: 20,000 operations with each of SMSTWIN_SEEDS seeds, from SMSTWIN_SEED on.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../long/caller.ts';
import { sendPaths } from '../testkit/request.ts';
import { ServedProcess } from '../testkit/served-process.ts';
import { ask } from './fleet-fixture.ts';
import { FleetPair } from './fleet-pair.ts';
import { compare } from './wide-script.ts';

let pair: FleetPair;

beforeAll(async () => {
  pair = await FleetPair.start();
});
afterAll(() => pair.stop());

test('each account gets the bytes of one process, and lists and counts are joined', async () => {
  const { differences, byStatus } = await compare(pair, 1, 400);
  expect(differences).toEqual([]);
  expect(byStatus['202']).toBeGreaterThan(50);
  for (const path of [
    'accounts',
    'sims',
    'limits/buckets',
    'faults',
    'received',
    'outcomes/hits',
  ]) {
    const [one, fleet] = await pair.control('GET', `/control/${path}`);
    expect(JSON.parse(fleet?.body ?? ''), path).toEqual(JSON.parse(one?.body ?? ''));
  }
  const [one, fleet] = (await pair.control('GET', '/control/state')).map((answer) => {
    const { messages, requests, throttled, accounts, sims, clock } = JSON.parse(answer?.body ?? '');
    return { messages, requests, throttled, accounts, sims, now: clock.now };
  });
  expect(fleet).toEqual(one);
  const [ids, idsOfFleet] = await Promise.all([idsOf(pair.one), idsOf(pair.fleet)]);
  expect([...idsOfFleet].sort()).toEqual([...ids].sort());
  const [, requests] = await pair.control('GET', '/control/requests?limit=1');
  const [request] = JSON.parse(requests?.body ?? '').requests;
  const [, detail] = await pair.control('GET', `/control/requests/${request.number}`);
  expect(JSON.parse(detail?.body ?? '')).toMatchObject(request);
  const [own, invariants] = (await pair.control('GET', '/control/invariants')).map((answer) =>
    JSON.parse(answer?.body ?? ''),
  );
  // Each shard has timers of the pool, and buckets that have run full again.
  const several = { timers: expect.any(Number), buckets: expect.any(Number) };
  const checked = { ...own.checked, ...several };
  expect(invariants).toEqual({ sound: true, broken: [], checked });
}, 240_000);

/** The ids of all messages, by pages. */
async function idsOf({ controlUrl }: ServedProcess): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const reply = await fetch(`${controlUrl}/control/messages?limit=7${query}`);
    const page = (await reply.json()) as {
      messages: { message_id: string }[];
      next_cursor: string | null;
    };
    ids.push(...page.messages.map(({ message_id: id }) => id));
    cursor = page.next_cursor;
  }
  return ids;
}

test('120 of 150 sends at once pass for each of twelve accounts, whatever the connection', async () => {
  await pair.control('POST', '/control/reset');
  const { accounts, pool } = pair.fleet.ready;
  const second = await Promise.all(
    accounts.map(async ({ account_id: id }) => {
      const path = `/control/accounts/${id}/keys`;
      const [, made] = await pair.control('POST', path, { name: 'third' });
      return (JSON.parse(made?.body ?? '') as { key: string }).key;
    }),
  );
  const caller = new Caller();
  const passed = await Promise.all(
    accounts.map(async ({ api_key: first, sims }, at) => {
      const from = sims[0]?.number ?? pool[0]?.number;
      const body = JSON.stringify({ to: '+12025550123', from, message: 'Hi' });
      const answers = await Promise.all(
        Array.from({ length: 150 }, (_, n) => {
          const key = n % 2 === 0 ? first : second[at];
          return caller.call(pair.fleet.baseUrl, {
            method: 'POST',
            path: sendPaths.send,
            key,
            body,
          });
        }),
      );
      return answers.filter((answer) => answer?.status === 202).length;
    }),
  );
  expect(passed).toEqual(accounts.map(() => 120));
  const wrong = [undefined, 'wrong', `${accounts[0]?.api_key.slice(0, -1)}x`];
  const statuses: (number | undefined)[] = [];
  for (let n = 0; n < 130; n++) {
    const call = { method: 'POST', path: sendPaths.send, key: wrong[n % 3], body: '{}' };
    statuses.push((await caller.call(pair.fleet.baseUrl, call))?.status);
  }
  caller.leave();
  const [before] = statuses;
  expect(before).toBe(401);
  expect(statuses.indexOf(429)).toBe(120);
  expect(statuses.slice(120).every((status) => status === 429)).toBe(true);
  // What is no key counts for its address, even with the text of a key in it.
  for (const { api_key: key } of accounts.slice(0, 3)) {
    for (const authorization of [key, `Bearer  ${key}`]) {
      const init = { method: 'POST', headers: { authorization }, body: '{}' };
      expect((await ask(`${pair.fleet.baseUrl}${sendPaths.send}`, init)).status).toBe(429);
    }
  }
}, 240_000);

test('a revoked key is unknown on every shard, whatever was drawn since', async () => {
  const { baseUrl, ready } = pair.fleet;
  const caller = new Caller();
  for (const { account_id: id, api_key: key, sims } of ready.accounts.slice(0, 3)) {
    await pair.control('POST', '/control/reset');
    const body = JSON.stringify({ to: '+12025550123', from: sims[0]?.number, message: 'Hi' });
    const send = { method: 'POST', path: sendPaths.send, key, body };
    // They draw as many random numbers as a key does.
    for (let n = 0; n < 11; n++) await caller.call(baseUrl, send);
    const create = () => pair.control('POST', `/control/accounts/${id}/keys`, { name: 'k' });
    const revoked = JSON.parse((await create())[1]?.body ?? '') as { key: string; key_id: string };
    await pair.control('DELETE', `/control/keys/${revoked.key_id}`);
    await create();
    expect((await caller.call(baseUrl, { ...send, key: revoked.key }))?.status).toBe(401);
  }
  caller.leave();
}, 240_000);

test('what a wide world cannot offer exactly is 409 with the reason', async () => {
  const refused = async (method: string, path: string, body?: object) => {
    const [, answer] = await pair.control(method, path, body);
    return [answer?.status, JSON.parse(answer?.body ?? '').error?.message];
  };
  const fault = { kind: 'status', status: 503 };
  expect(await refused('POST', '/control/faults', { when: { every: 2 }, fault })).toEqual([
    409,
    expect.stringContaining('needs match.account_id'),
  ]);
  expect(await refused('PATCH', '/control/assumptions', { sendsPerPoll: 2 })).toEqual([
    409,
    expect.stringContaining('start with it'),
  ]);
  expect(await refused('PATCH', '/control/assumptions', { bearerSpace: 'any' })).toEqual([
    409,
    expect.stringContaining('start with it'),
  ]);
  expect(await refused('GET', '/control/journal')).toEqual([
    409,
    expect.stringContaining('?shard=N'),
  ]);
  const [, journal] = await pair.control('GET', '/control/journal?shard=1');
  expect(journal?.body).toContain('"journal":');
});

test('the wide world as one of the worlds: its view is joined, and it is not copied', async () => {
  await pair.control('POST', '/control/reset');
  const world = '/control/worlds/default';
  for (const body of [{}, { name: 'copy', from: { entry: 1 } }]) {
    const [, fork] = await pair.control('POST', `${world}/fork`, body);
    expect([fork?.status, fork?.body]).toEqual([409, expect.stringContaining('spans all shards')]);
  }
  for (const path of ['requests/1234567', 'requests/x', 'messages?limit=x']) {
    const [one, fleet] = await pair.control('GET', `/control/${path}`);
    expect([fleet?.status, fleet?.body]).toEqual([one?.status, one?.body]);
  }
  const [ended, refused] = await pair.control('DELETE', world);
  expect([refused?.status, refused?.body]).toEqual([409, ended?.body]);
  for (const { api_key: key, sims } of pair.one.ready.accounts.slice(0, 5)) {
    const body = JSON.stringify({ to: '+12025550123', from: sims[0]?.number, message: 'Hi' });
    await pair.service({ method: 'POST', path: sendPaths.send, key, body });
  }
  const views = (await pair.control('GET', world)).map((answer) => {
    const { base_url: _, host_url: __, control_url: ___, ...view } = JSON.parse(answer?.body ?? '');
    return view;
  });
  expect(views[0].messages).toBeGreaterThan(2);
  expect(views[1]).toEqual(views[0]);
  const [, past] = await pair.control('GET', '/control/at?entry=1');
  const [, restored] = await pair.control('PUT', '/control/snapshot', {});
  expect([past?.status, restored?.status]).toEqual([409, 409]);
});

test('a fleet that is killed as it moves time moves all shards when it starts again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-intent-'));
  const journals = join(folder, 'journals');
  const flags = ['--wide', '--shards', '2', '--clock', 'manual', '--journal-dir', journals];
  const start = () => ServedProcess.startFleet(folder, flags);
  let served = await start();
  const health = await (await fetch(`${served.controlUrl}/control/health`)).json();
  const { shards } = health as { shards: { pid: number }[] };
  process.kill(shards[1]?.pid ?? 0, 'SIGSTOP');
  const body = '{"by":"24h"}';
  const clock = '/control/clock';
  fetch(`${served.controlUrl}${clock}/advance`, { method: 'POST', body }).catch(() => undefined);
  await expect.poll(() => existsSync(join(journals, 'changes.json'))).toBe(true);
  await served.kill();
  served = await start();
  const { now } = (await (await fetch(`${served.controlUrl}${clock}`)).json()) as { now: string };
  const metrics = await (await fetch(`${served.controlUrl}/control/metrics`)).text();
  await served.stop();
  rmSync(folder, { recursive: true });
  expect(now).toBe('2026-01-02T00:00:00.000Z');
  const seconds = [...metrics.matchAll(/^smstwin_simulated_time_seconds\{shard="\d"\} (.*)$/gm)];
  expect(seconds.map(([, text]) => Number(text))).toEqual([1767312000, 1767312000]);
}, 240_000);

const seeds = Number(process.env['SMSTWIN_SEEDS'] ?? 0);
const firstSeed = Number(process.env['SMSTWIN_SEED'] ?? 1);
test.skipIf(seeds === 0).each(Array.from({ length: seeds }, (_, n) => firstSeed + n))(
  'seed %i: 20,000 operations give each account the bytes of one process',
  async (seed) => {
    const { differences, byStatus } = await compare(pair, seed, 20_000);
    process.stdout.write(
      `${JSON.stringify({ seed, byStatus, differences: differences.length })}\n`,
    );
    expect(differences).toEqual([]);
  },
  3_600_000,
);
