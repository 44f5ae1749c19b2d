/**
 * One seeded script of operations, done in step by one process and by three shards with `--wide`, on
 * manual clocks: each account's replies must be byte for byte equal.
 * `npm run test:fleet -- --operations 20000 --seeds 20`
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Rng } from '../../src/sim/rng.ts';
import { type Answer, type Call, Caller } from '../long/caller.ts';
import { readFlags, runProgram, whole } from '../testkit/program-flags.ts';
import { sendPaths } from '../testkit/request.ts';
import { ServedProcess } from '../testkit/served-process.ts';

interface Account {
  readonly account_id: string;
  readonly keys: { key: string; key_id: string }[];
  readonly sims: { number: string; device_id: string }[];
}

export interface Comparison {
  readonly operations: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly differences: readonly string[];
}

const accountCount = 12;
const longMs = [1_000, 7_000, 20_000, 61_000, 900_000, 90_000_000];
const limits = [{ send: 30 }, { send: 120 }, { received: 5 }, { read: 40 }, { read: null }];
const recipients = [
  ...['+12025550123', '+12025550124', '+12025550160', '+12025550161', '+12025550162'],
  ...['+12025550163', '+12025550166', 'nonsense'],
];

export const wideWorld = {
  accounts: Array.from({ length: accountCount }, (_, at) => ({
    name: `account-${at}`,
    keys: [{ name: 'one' }, { name: 'two' }],
    sims: at % 3 === 2 ? [] : [{ number: numberOf(at) }],
  })),
  pool: [{ number: '+12025550190' }],
};

function numberOf(at: number): string {
  return `+1202555010${at % 10}`.slice(0, 10) + String(10 + at).padStart(2, '0');
}

export class Pair {
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
    const flags = ['--clock', 'manual', '--start-time', start, '--world', world];
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
export async function compare(pair: Pair, seed: number, count: number): Promise<Comparison> {
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
    for (const account of this.#accounts) {
      await this.#control('GET', `/control/accounts/${account.account_id}`);
    }
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
    if (made.key !== undefined && made.key_id !== undefined) {
      account.keys.push({ key: made.key, key_id: made.key_id });
    }
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

async function main(argv: string[]): Promise<number> {
  const { operations, seeds, seed } = readFlags(argv, {
    operations: whole(1, 1_000_000, 20_000),
    seeds: whole(1, 1_000, 20),
    seed: whole(0, 2 ** 31, 1),
  });
  const pair = await Pair.start();
  let code = 0;
  try {
    for (let each = seed; each < seed + seeds; each++) {
      const startedMs = performance.now();
      const { byStatus, differences } = await compare(pair, each, operations);
      const seconds = Math.round((performance.now() - startedMs) / 1_000);
      const line = { seed: each, operations, seconds, byStatus, differences: differences.length };
      process.stdout.write(`${JSON.stringify(line)}\n`);
      for (const difference of differences) process.stdout.write(`${difference}\n`);
      if (differences.length > 0) code = 1;
    }
  } finally {
    await pair.stop();
  }
  return code;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runProgram('test:fleet', main);
