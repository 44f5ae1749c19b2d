/**
 * A seeded script of requests and operations, done in step by one process and by a fleet. Compares
 * every answer of the two.
 */
import { Rng } from '../../src/sim/random.ts';
import type { Answer, Call } from '../long/caller.ts';
import { sendPaths } from '../testkit/request.ts';
import type { FleetPair } from './fleet-pair.ts';

interface Account {
  readonly account_id: string;
  readonly keys: { key: string; key_id: string }[];
  readonly sims: { number: string; device_id: string }[];
}

interface Comparison {
  readonly byStatus: Readonly<Record<string, number>>;
  readonly differences: readonly string[];
}

/** The last two are long, and so rare. */
const advancesMs = [1_000, 7_000, 20_000, 61_000, 900_000, 90_000_000];
const limits = [{ send: 30 }, { send: 120 }, { received: 5 }, { read: 40 }, { read: null }];
const recipients = [
  ...['+12025550123', '+12025550124', '+12025550160', '+12025550161', '+12025550162'],
  ...['+12025550163', '+12025550166', 'nonsense'],
];

/** The script ends after so many differences. */
const mostDifferences = 5;
/** Messages that the script can still read; beyond that it forgets the oldest. */
const mostMessages = 500;
const forgottenAtOnce = 100;
const readAtEnd = 200;

/** Things to choose from, each with its weight. */
type Weighted<T> = readonly (readonly [weight: number, item: T])[];
type Step = (account: Account, key: string) => Promise<unknown>;
type Operation = (account: Account) => Promise<unknown>;

/** Does `count` steps from the start of the world. */
export async function compare(pair: FleetPair, seed: number, count: number): Promise<Comparison> {
  const script = new Script(pair, seed);
  await script.begin();
  for (let n = 0; n < count && script.differences.length < mostDifferences; n++) {
    await script.step(n);
  }
  await script.end();
  return {
    byStatus: Object.fromEntries([...script.byStatus].sort()),
    differences: script.differences,
  };
}

class Script {
  readonly #pair: FleetPair;
  readonly #chance: Rng;
  #accounts: Account[] = [];
  #messages: { id: string; key: string }[] = [];
  #created = 0;
  #at = 0;
  readonly byStatus = new Map<string, number>();
  readonly differences: string[] = [];

  readonly #steps: Weighted<Step> = [
    [420, (account, key) => this.#send(account, key)],
    [220, (_, key) => this.#readSome(key)],
    [40, (account, key) => this.#get(`/api/devices/${this.#simOf(account)}/tasks/`, key)],
    [40, (_, key) => this.#get('/api/v1/sms/received/', key)],
    [70, (_, key) => this.#get('/api/v1/account/stats/', key)],
    [50, () => this.#get('/api/v1/account/stats/', this.#wrongKey())],
    [110, () => this.#advance({ by: `${this.#advanceMs()}ms` })],
    [50, (account) => this.#weighted(this.#operations)(account)],
  ];

  readonly #operations: Weighted<Operation> = [
    [2, (account) => this.#createKey(account)],
    [1, (account) => this.#revokeKey(account)],
    [2, (account) => this.#addFault(account)],
    [1, () => this.#control('DELETE', '/control/faults')],
    [1, () => this.#control('PATCH', '/control/limits', this.#one(limits))],
    [1, () => this.#createAccount()],
    [1, (account) => this.#createSim(account)],
    [1, (account) => this.#patchSim(account)],
    [1, (account) => this.#control('POST', `/control/sims/${this.#simOf(account)}/poll`)],
    [1, () => this.#patchPool()],
    [1, (account) => this.#receive(account)],
    [1, () => this.#moveMessage()],
    [1, () => this.#waitForDelivered()],
    [1, (account) => this.#removeSim(account)],
    [1, () => this.#advance({ until_idle: true })],
  ];

  constructor(pair: FleetPair, seed: number) {
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
    await this.#advance({ until_idle: true });
    for (const { id, key } of this.#messages.slice(-readAtEnd)) await this.#read(id, key);
    for (const account of this.#accounts) {
      await this.#control('GET', `/control/accounts/${account.account_id}`);
    }
  }

  async step(n: number): Promise<void> {
    this.#at = n;
    const account = this.#one(this.#accounts);
    const key = account && this.#one(account.keys)?.key;
    if (account === undefined || key === undefined) return;
    await this.#weighted(this.#steps)(account, key);
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
    if (this.#messages.length > mostMessages) this.#messages.splice(0, forgottenAtOnce);
  }

  /** Reads a message, mostly with its own key. */
  #readSome(otherKey: string) {
    const message = this.#one(this.#messages);
    const isForeign = this.#chance.below(9) === 0;
    return this.#read(message?.id ?? 'x', isForeign ? otherKey : (message?.key ?? otherKey));
  }

  #read(id: string, key: string) {
    return this.#get(`/api/v1/sms/${id}/`, key);
  }

  #get(path: string, key: string | undefined) {
    return this.#service({ method: 'GET', path, key });
  }

  #wrongKey(): string | undefined {
    return this.#one([undefined, 'wrong', `smst_${this.#chance.below(40)}`]);
  }

  /** The id of one of the account's SIMs, or one that does not exist. */
  #simOf(account: Account): string {
    return this.#one(account.sims)?.device_id ?? 'x';
  }

  /** Rarely one of the two long times, which move many messages at once. */
  #advanceMs(): number | undefined {
    const isAny = this.#chance.below(30) === 0;
    return this.#one(isAny ? advancesMs : advancesMs.slice(0, -2));
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

  /** Revokes a key that the script created, and uses it once more. */
  async #revokeKey(account: Account): Promise<void> {
    const revoked = account.keys.length > 1 ? account.keys.pop() : undefined;
    if (revoked === undefined) return;
    const { key, key_id: keyId } = revoked;
    if (keyId !== '') await this.#control('DELETE', `/control/keys/${keyId}`);
    await this.#get('/api/v1/account/stats/', key);
  }

  #addFault({ account_id }: Account) {
    const when = this.#one([{ nth: [1, 3] }, { every: 2 }, { probability: 0.5 }]);
    const fault = this.#one([
      { kind: 'status', status: 503, body: { code: 'busy' } },
      { kind: 'status', status: 429, headers: { 'retry-after': '7' } },
    ]);
    return this.#control('POST', '/control/faults', {
      match: { account_id },
      when,
      fault,
      times: 3,
    });
  }

  async #createAccount(): Promise<void> {
    const name = `late-${++this.#created}`;
    const made = await this.#control('POST', '/control/accounts', { name });
    const { account_id: id } = parsed<Account>(made);
    if (id === undefined) return;
    const late: Account = { account_id: id, keys: [], sims: [] };
    await this.#createKey(late);
    this.#accounts.push(late);
  }

  async #createSim(account: Account): Promise<void> {
    const number = `+120255502${String(this.#chance.below(30)).padStart(2, '0')}`;
    const path = `/control/accounts/${account.account_id}/sims`;
    const made = await this.#control('POST', path, { number });
    const { device_id: id } = parsed<{ device_id: string }>(made);
    if (id !== undefined) account.sims.push({ number, device_id: id });
  }

  #patchSim(account: Account) {
    const field = this.#one(['connected', 'active', 'allowed']) ?? 'active';
    const change = { [field]: this.#chance.below(3) > 0 };
    return this.#control('PATCH', `/control/sims/${this.#simOf(account)}`, change);
  }

  #patchPool() {
    const path = `/control/sims/${this.#pair.one.ready.pool[0]?.device_id}`;
    const connected = this.#chance.below(3) > 0;
    return this.#control('PATCH', path, { connected }, 'connected');
  }

  async #receive(account: Account): Promise<void> {
    const to = this.#one(account.sims)?.number;
    if (to === undefined) return;
    const inbound = { from: '+12025550999', to, message: 'inbound' };
    await this.#control('POST', `/control/accounts/${account.account_id}/received`, inbound);
  }

  async #moveMessage(): Promise<void> {
    const message = this.#one(this.#messages);
    if (message === undefined) return;
    const change = this.#one(['progress', 'fail']);
    await this.#control('POST', `/control/messages/${message.id}/${change}`);
  }

  #waitForDelivered() {
    const wait = { match: { status: 'delivered' }, count: this.#chance.below(20) + 1 };
    const body = { ...wait, advance: true, timeout_ms: 30_000 };
    return this.#control('POST', '/control/messages/wait', body, 'count');
  }

  async #removeSim(account: Account): Promise<void> {
    const sim = this.#one(account.sims);
    if (sim === undefined || account.sims.length < 2) return;
    account.sims.splice(account.sims.indexOf(sim), 1);
    await this.#control('DELETE', `/control/sims/${sim.device_id}`);
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

  #weighted<T>(choices: Weighted<T>): T {
    let left = this.#chance.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, item] of choices) {
      if (left < weight) return item;
      left -= weight;
    }
    throw new Error('nothing to choose from');
  }
}

function parsed<T>(answer: Answer | undefined): Partial<T> {
  if (answer === undefined || answer.status >= 300 || answer.body === '') return {};
  return JSON.parse(answer.body) as Partial<T>;
}
