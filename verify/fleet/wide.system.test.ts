/**
 * A first world over three shards. One seeded script of operations is done in step by one process
 * and by the fleet, on manual clocks: each account's replies must be byte for byte equal. `npm run
 * test:fleet`: 20,000 operations with each of SMSTWIN_SEEDS seeds, from SMSTWIN_SEED on.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Rng } from '#src/sim/random.ts';
import { type Answer, type Call, Caller } from '../long/caller.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { sendPaths } from '../testkit/twin/request.ts';
import { ask, FleetFixture, wideWorld } from './fleet-fixture.ts';

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
  const [own, invariants] = (await pair.control('GET', '/control/invariants')).map((answer) =>
    JSON.parse(answer?.body ?? ''),
  );
  // Each shard has timers of the pool, and buckets that have run full again.
  const several = { timers: expect.any(Number), buckets: expect.any(Number) };
  const checked = { ...own.checked, ...several };
  expect(invariants).toEqual({ sound: true, broken: [], checked });
});

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

test('a list is as long as asked for, and the HAR file has the numbers of the list', async () => {
  await pair.control('POST', '/control/reset');
  for (const { api_key: key } of pair.one.ready.accounts)
    await pair.service({ method: 'GET', path: '/api/v1/account/stats/', key });
  const [, listed] = await pair.control('GET', '/control/requests?limit=5');
  expect(JSON.parse(listed?.body ?? '').requests).toHaveLength(5);
  const [, all] = await pair.control('GET', '/control/requests');
  const [, har] = await pair.control('GET', '/control/har');
  const numbers = JSON.parse(all?.body ?? '').requests.map(
    (each: { number: number }) => each.number,
  );
  const inHar = JSON.parse(har?.body ?? '').log.entries.map(
    (each: { _number: number }) => each._number,
  );
  expect(new Set(numbers).size).toBe(pair.one.ready.accounts.length);
  expect(inHar.sort()).toEqual(numbers.sort());
});

test('the referee shows as many findings of each rule as asked for', async () => {
  await pair.control('POST', '/control/reset');
  const body = JSON.stringify({ to: '+12025550123', message: 'Hi', request_id: '' });
  for (const { api_key: key } of pair.one.ready.accounts)
    for (let times = 0; times < 3; times++)
      await pair.service({ method: 'POST', path: sendPaths.send, key, body });
  const [one, fleet] = (await pair.control('GET', '/control/referee?most=1')).map((answer) =>
    JSON.parse(answer?.body ?? '').rules.map(
      ({ found, findings }: { found: number; findings: readonly unknown[] }) => [
        found,
        findings.length,
      ],
    ),
  );
  expect(Math.max(...one.flat())).toBeGreaterThan(2);
  expect(fleet).toEqual(one);
});

test('a number of the pool that came later shows the queue of all shards, and is changed', async () => {
  await pair.control('POST', '/control/reset');
  for (const { device_id: id } of pair.one.ready.pool)
    await pair.control('DELETE', `/control/pool/${id}`);
  const added = await pair.control('POST', '/control/pool', { number: '+12025550198' });
  for (const { api_key: key } of pair.one.ready.accounts) {
    const body = JSON.stringify({ to: '+12025550123', from: '+12025550198', message: 'Hi' });
    await pair.service({ method: 'POST', path: sendPaths.send, key, body });
  }
  const views = (answers: readonly (Answer | undefined)[]) =>
    answers.map((answer) => {
      const { device_id: _, ...view } = JSON.parse(answer?.body ?? '');
      return view;
    });
  const [own, ofFleet] = added.map((answer) => JSON.parse(answer?.body ?? '').device_id);
  const [one] = await pair.control('GET', `/control/sims/${own}`);
  const [, fleet] = await pair.control('GET', `/control/sims/${ofFleet}`);
  const [view, viewOfFleet] = views([one, fleet]);
  expect(view.queue_length).toBeGreaterThan(2);
  expect(viewOfFleet).toEqual(view);
  const [changed] = await pair.control('PATCH', `/control/sims/${own}`, { connected: false });
  const [, changedByFleet] = await pair.control('PATCH', `/control/sims/${ofFleet}`, {
    connected: false,
  });
  expect(views([changedByFleet])).toEqual(views([changed]));
});

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
});

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
});

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
  for (const change of [{ bearerSpace: 'any' }, { bearerCase: 'any' }]) {
    expect(await refused('PATCH', '/control/assumptions', change)).toEqual([
      409,
      expect.stringContaining('start with it'),
    ]);
  }
  for (const query of ['', '?shard=', '?shard=0x1', '?shard=9'])
    expect(await refused('GET', `/control/journal${query}`)).toEqual([
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
    return { ...view, created_at: typeof view.created_at };
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
});

test('invariants see an account with messages on a shard that does not own it', async () => {
  const own = await FleetFixture.start(['--wide', '--shards', '2']);
  const key = own.served.ready.accounts[0]?.api_key ?? '';
  const [folder = ''] = readdirSync(own.folder).filter((name) => name.startsWith('smstwin-'));
  const config = readFileSync(join(own.folder, folder, 'haproxy.cfg'), 'utf8');
  const addresses = [...config.matchAll(/^ {2}server s\d (\S+)$/gm)].map(([, address]) => address);
  const sent = await Promise.all(
    addresses.map((address) => own.send(key, { request_id: 'r' }, `http://${address}`)),
  );
  const ids = sent.map(({ body }) => (JSON.parse(body) as { message_id: string }).message_id);
  expect([sent.map(({ status }) => status), new Set(ids).size]).toEqual([[202, 202], 1]);
  const found = await own.operate<object>('GET', '/control/invariants');
  await own.stop();
  const broken = [expect.stringMatching(/^account \S+ has messages on shard [01], too$/)];
  expect(found).toMatchObject({ sound: false, broken });
});

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

interface Account {
  readonly account_id: string;
  readonly keys: { key: string; key_id: string }[];
  readonly sims: { number: string; device_id: string }[];
}

interface Comparison {
  readonly operations: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly differences: readonly string[];
}

const longMs = [1_000, 7_000, 20_000, 61_000, 900_000, 90_000_000];
const limits = [{ send: 30 }, { send: 120 }, { received: 5 }, { read: 40 }, { read: null }];
const recipients = [
  '+12025550123',
  '+12025550124',
  '+12025550160',
  '+12025550161',
  '+12025550162',
  '+12025550163',
  '+12025550166',
  'nonsense',
];

class Pair {
  readonly #folder: string;
  readonly one: ServedProcess;
  readonly fleet: ServedProcess;
  readonly #caller = new Caller();

  private constructor(folder: string, one: ServedProcess, fleet: ServedProcess) {
    this.#folder = folder;
    this.one = one;
    this.fleet = fleet;
  }

  static async start(shards = 3): Promise<Pair> {
    const folder = mkdtempSync(join(tmpdir(), 'smstwin-pair-'));
    const world = join(folder, 'world.json');
    writeFileSync(world, JSON.stringify(wideWorld));
    const start = '2026-01-01T00:00:00.000Z';
    const clock = ['--clock', 'manual', '--start-time', start];
    const flags = [...clock, '--world', world, '--assume', 'bearerSpace=one'];
    flags.push('--assume', 'bearerCase=exact');
    const [one, fleet] = await Promise.all([
      ServedProcess.start(folder, flags),
      ServedProcess.startFleet(folder, [...flags, '--wide', '--shards', `${shards}`]),
    ]);
    return new Pair(folder, one, fleet);
  }

  async stop(): Promise<void> {
    this.#caller.leave();
    await Promise.all([this.one.kill(), this.fleet.stop()]);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The two answers of the service. */
  service(call: Call): Promise<readonly [Answer | undefined, Answer | undefined]> {
    return Promise.all([
      this.#caller.call(this.one.baseUrl, call),
      this.#caller.call(this.fleet.baseUrl, call),
    ]);
  }

  control(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<readonly [Answer | undefined, Answer | undefined]> {
    const call = { method, path, ...(body !== undefined && { body: JSON.stringify(body) }) };
    return Promise.all([
      this.#caller.call(this.one.controlUrl, call),
      this.#caller.call(this.fleet.controlUrl, call),
    ]);
  }
}

/** `count` operations from the start of the world. */
async function compare(pair: Pair, seed: number, count: number): Promise<Comparison> {
  const script = new Script(pair, seed);
  await script.begin();
  for (let n = 0; n < count && script.differences.length < 5; n++) await script.step(n);
  await script.end();
  return {
    operations: count,
    byStatus: Object.fromEntries([...script.byStatus].sort()),
    differences: script.differences,
  };
}

class Script {
  readonly #pair: Pair;
  readonly #chance: Rng;
  #accounts: Account[] = [];
  #messages: { id: string; key: string }[] = [];
  #created = 0;
  #at = 0;
  readonly byStatus = new Map<string, number>();
  readonly differences: string[] = [];

  constructor(pair: Pair, seed: number) {
    this.#pair = pair;
    this.#chance = Rng.stream(seed, 'fleet');
  }

  async begin(): Promise<void> {
    await this.#control('POST', '/control/reset');
    this.#accounts = this.#pair.one.ready.accounts.map((account) => ({
      account_id: account.account_id,
      keys: [{ key: account.api_key, key_id: '' }],
      sims: [...account.sims],
    }));
    for (const account of this.#accounts) await this.#createKey(account);
  }

  async end(): Promise<void> {
    await this.#control('POST', '/control/clock/advance', { until_idle: true }, 'now');
    for (const { id, key } of this.#messages.slice(-200)) await this.#read(id, key);
    for (const account of this.#accounts)
      await this.#control('GET', `/control/accounts/${account.account_id}`);
  }

  async step(n: number): Promise<void> {
    this.#at = n;
    const dice = this.#chance.below(1_000);
    const account = this.#one(this.#accounts);
    const key = account && this.#one(account.keys)?.key;
    if (account === undefined || key === undefined) return;
    const message = this.#one(this.#messages);
    if (dice < 420) await this.#send(account, key);
    else if (dice < 640)
      await this.#read(
        message?.id ?? 'x',
        this.#chance.below(9) === 0 ? key : (message?.key ?? key),
      );
    else if (dice < 680) {
      const sim = this.#one(account.sims)?.device_id ?? 'x';
      await this.#service({ method: 'GET', path: `/api/devices/${sim}/tasks/`, key });
    } else if (dice < 720)
      await this.#service({ method: 'GET', path: '/api/v1/sms/received/', key });
    else if (dice < 790)
      await this.#service({ method: 'GET', path: '/api/v1/account/stats/', key });
    else if (dice < 840) {
      const wrong = this.#one([undefined, 'wrong', `smst_${this.#chance.below(40)}`]);
      await this.#service({ method: 'GET', path: '/api/v1/account/stats/', key: wrong });
    } else if (dice < 950)
      await this.#advance({
        by: `${this.#one(longMs.slice(0, this.#chance.below(30) === 0 ? 6 : 4))}ms`,
      });
    else await this.#operate(account);
  }

  async #operate(account: Account): Promise<void> {
    const path = `/control/accounts/${account.account_id}`;
    const sim = this.#one(account.sims);
    const message = this.#one(this.#messages);
    switch (this.#chance.below(16)) {
      case 0:
      case 1:
        return void (await this.#createKey(account));
      case 2: {
        const key = account.keys.length > 1 ? account.keys.pop() : undefined;
        if (key?.key_id) await this.#control('DELETE', `/control/keys/${key.key_id}`);
        if (key)
          await this.#service({ method: 'GET', path: '/api/v1/account/stats/', key: key.key });
        return;
      }
      case 3:
      case 4: {
        const when = this.#one([{ nth: [1, 3] }, { every: 2 }, { probability: 0.5 }]);
        const fault = this.#one([
          { kind: 'status', status: 503, body: { code: 'busy' } },
          { kind: 'status', status: 429, headers: { 'retry-after': '7' } },
        ]);
        const match = { account_id: account.account_id };
        return void (await this.#control('POST', '/control/faults', {
          match,
          when,
          fault,
          times: 3,
        }));
      }
      case 5:
        return void (await this.#control('DELETE', '/control/faults'));
      case 6:
        return void (await this.#control('PATCH', '/control/limits', this.#one(limits)));
      case 7: {
        const name = `late-${++this.#created}`;
        const made = await this.#control('POST', '/control/accounts', { name });
        const { account_id: id } = parsed<Account>(made);
        if (id === undefined) return;
        const late: Account = { account_id: id, keys: [], sims: [] };
        await this.#createKey(late);
        this.#accounts.push(late);
        return;
      }
      case 8: {
        const number = `+120255502${String(this.#chance.below(30)).padStart(2, '0')}`;
        const made = await this.#control('POST', `${path}/sims`, { number });
        const { device_id: id } = parsed<{ device_id: string }>(made);
        if (id !== undefined) account.sims.push({ number, device_id: id });
        return;
      }
      case 9:
        if (sim === undefined) return;
        return void (await this.#control('PATCH', `/control/sims/${sim.device_id}`, {
          [this.#one(['connected', 'active', 'allowed']) ?? 'active']: this.#chance.below(3) > 0,
        }));
      case 10:
        if (sim === undefined) return;
        return void (await this.#control('POST', `/control/sims/${sim.device_id}/poll`));
      case 11: {
        const [pooled] = this.#pair.one.ready.pool;
        const connected = this.#chance.below(3) > 0;
        return void (await this.#control(
          'PATCH',
          `/control/sims/${pooled?.device_id}`,
          { connected },
          'connected',
        ));
      }
      case 12:
        if (sim === undefined) return;
        return void (await this.#control('POST', `${path}/received`, {
          from: '+12025550999',
          to: sim.number,
          message: 'inbound',
        }));
      case 13:
        if (message === undefined) return;
        return void (await this.#control(
          'POST',
          `/control/messages/${message.id}/${this.#one(['progress', 'fail'])}`,
        ));
      case 14: {
        const wait = { match: { status: 'delivered' }, count: this.#chance.below(20) + 1 };
        const body = { ...wait, advance: true, timeout_ms: 30_000 };
        return void (await this.#control('POST', '/control/messages/wait', body, 'count'));
      }
      default:
        if (this.#chance.below(4) === 0) await this.#advance({ until_idle: true });
        else if (sim !== undefined && account.sims.length > 1) {
          account.sims.splice(account.sims.indexOf(sim), 1);
          await this.#control('DELETE', `/control/sims/${sim.device_id}`);
        }
    }
  }

  async #send(account: Account, key: string): Promise<void> {
    const own = this.#one(account.sims)?.number;
    const other = this.#one(this.#one(this.#accounts)?.sims ?? [])?.number;
    const from = this.#one([own, own, own, own, '+12025550190', other, '+12025550188']);
    const kind = this.#one(['send', 'send', 'dashboard_send', 'external_send'] as const) ?? 'send';
    const fields = {
      to: this.#one(recipients),
      from: from ?? '+12025550190',
      message: `message ${this.#at} ${'x'.repeat(this.#chance.below(40))}`,
      ...(this.#chance.below(2) === 0 && { request_id: `r${this.#chance.below(60)}` }),
    };
    const path = sendPaths[kind];
    const reply = await this.#service({ method: 'POST', path, key, body: JSON.stringify(fields) });
    const { message_id: id } = reply?.status === 202 ? parsed<{ message_id: string }>(reply) : {};
    if (id !== undefined) this.#messages.push({ id, key });
    if (this.#messages.length > 500) this.#messages.splice(0, 100);
  }

  async #createKey(account: Account): Promise<void> {
    const path = `/control/accounts/${account.account_id}/keys`;
    const made = parsed<{ key: string; key_id: string }>(
      await this.#control('POST', path, { name: `key ${this.#at}` }),
    );
    if (made.key !== undefined && made.key_id !== undefined)
      account.keys.push({ key: made.key, key_id: made.key_id });
  }

  #read(id: string, key: string) {
    return this.#service({ method: 'GET', path: `/api/v1/sms/${id}/`, key });
  }

  #advance(how: object) {
    return this.#control('POST', '/control/clock/advance', how, 'now');
  }

  async #service(call: Call): Promise<Answer | undefined> {
    const [one, fleet] = await this.#pair.service(call);
    this.#compare(call, one, fleet);
    return one;
  }

  /** `field`: the one that must be equal; without it, the whole body. */
  async #control(method: string, path: string, body?: unknown, field?: string) {
    const [one, fleet] = await this.#pair.control(method, path, body);
    const picked = (answer: Answer | undefined): Answer | undefined => {
      if (answer === undefined || field === undefined || answer.status >= 300) return answer;
      const value = (JSON.parse(answer.body) as Record<string, unknown>)[field];
      return { ...answer, body: JSON.stringify(value) };
    };
    this.#compare({ method, path, body: JSON.stringify(body) }, picked(one), picked(fleet));
    return one;
  }

  #compare(call: Call, one: Answer | undefined, fleet: Answer | undefined): void {
    const status = String(one?.status);
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    if (JSON.stringify(one) === JSON.stringify(fleet)) return;
    this.differences.push(
      `${this.#at}: ${JSON.stringify(call)}\n  one:   ${JSON.stringify(one)}\n  fleet: ${JSON.stringify(fleet)}`,
    );
  }

  #one<T>(list: readonly T[]): T | undefined {
    return list[this.#chance.below(list.length)];
  }
}

function parsed<T>(answer: Answer | undefined): Partial<T> {
  if (answer === undefined || answer.status >= 300 || answer.body === '') return {};
  return JSON.parse(answer.body) as Partial<T>;
}
