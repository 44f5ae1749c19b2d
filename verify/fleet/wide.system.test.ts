/**
 * A first world over three shards: what each account sees is what one process shows.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../long/caller.ts';
import { sendPaths } from '../testkit/request.ts';
import { ServedProcess } from '../testkit/served-process.ts';
import { compare, Pair } from './differential.ts';
import { killInFlood } from './kills.ts';

let pair: Pair;

beforeAll(async () => {
  pair = await Pair.start();
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
  const [, invariants] = await pair.control('GET', '/control/invariants');
  expect(JSON.parse(invariants?.body ?? '')).toMatchObject({ sound: true, broken: [] });
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
  expect(await refused('GET', '/control/journal')).toEqual([
    409,
    expect.stringContaining('?shard=N'),
  ]);
  const [, journal] = await pair.control('GET', '/control/journal?shard=1');
  expect(journal?.body).toContain('"journal":');
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
  await expect.poll(() => existsSync(join(journals, 'intent.json'))).toBe(true);
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

test('shards and HAProxy that are killed in a flood lose and double nothing', async () => {
  const { acknowledged, complaints } = await killInFlood({
    kills: 1,
    seed: 4,
    wide: false,
    stopMs: 0,
  });
  expect(complaints).toEqual([]);
  expect(acknowledged).toBeGreaterThan(100);
}, 240_000);
