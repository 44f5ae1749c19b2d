/**
 * The levers of a simulator, as far as the harness uses them: accounts, keys, SIMs, time, scripted fates.
 * They make what a case needs. What the target answers is judged on its own port alone.
 */
import { Client, type Reply } from './client.ts';
import type { Masks } from './exchange.ts';
import { describe, isObject } from './verify.ts';

export interface Sim {
  readonly number: string;
  readonly deviceId: string;
}

export interface ApiKey {
  readonly keyId: string;
  readonly key: string;
}

/** A lever did not do its work; not the target's fault as far as rules go. */
export class LeverFailed extends Error {}

/** Area codes whose numbers 555-0100 to 555-0199 are reserved for fiction, yet well-formed. */
const areaCodes = [205, 206, 207, 208, 209, 210, 213, 214, 215, 216, 217, 218, 219, 224, 225, 228];

export class Control {
  readonly #client: Client;
  readonly #masks: Masks;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #made: string[] = [];
  /** Names are never used twice, even by two runs at once. */
  readonly #run = Date.now().toString(36) + Math.floor(Math.random() * 46_656).toString(36);
  #accounts = 0;
  #nextNumber: number;
  assumptions: Readonly<Record<string, unknown>> = {};
  #clockBefore: { readonly mode?: unknown; readonly rate?: unknown } = {};
  #outcomesBefore: unknown;

  constructor(settings: {
    readonly url: string;
    readonly token?: string;
    readonly timeoutMs: number;
    readonly masks: Masks;
    readonly seed: number;
  }) {
    const { url, token, timeoutMs, masks, seed } = settings;
    this.#client = new Client({
      baseUrl: url,
      timeoutMs: Math.max(timeoutMs, 30_000),
      masks,
      retries: false,
    });
    this.#masks = masks;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#nextNumber = seed * 97;
  }

  /** Takes the clock into the hand, lets what other runs spent come back, scripts the harness's own fates. */
  async begin(fates: readonly unknown[]): Promise<void> {
    const clock = await this.call('GET', '/control/clock');
    if (isObject(clock.json)) this.#clockBefore = clock.json;
    if (this.#clockBefore.mode !== 'manual')
      await this.call('PUT', '/control/clock', { mode: 'manual' });
    await this.advance(120_000);
    const assumptions = await this.call('GET', '/control/assumptions');
    if (isObject(assumptions.json))
      this.assumptions = isObject(assumptions.json['assumptions'])
        ? assumptions.json['assumptions']
        : assumptions.json;
    const outcomes = await this.call('GET', '/control/outcomes');
    if (outcomes.status === 200) {
      this.#outcomesBefore = outcomes.json;
      const list = isObject(outcomes.json) ? outcomes.json['outcomes'] : outcomes.json;
      if (Array.isArray(list))
        await this.call('PUT', '/control/outcomes', wrapLike(outcomes.json, [...fates, ...list]));
    }
  }

  /** Leaves the simulator as it was found, but for the time that has passed. */
  async end(): Promise<void> {
    for (const accountId of this.#made) await this.call('DELETE', `/control/accounts/${accountId}`);
    if (this.#outcomesBefore !== undefined)
      await this.call('PUT', '/control/outcomes', this.#outcomesBefore);
    const { mode, rate } = this.#clockBefore;
    if (typeof mode === 'string' && mode !== 'manual')
      await this.call('PUT', '/control/clock', {
        mode,
        ...(mode === 'scaled' && rate !== undefined ? { rate } : {}),
      });
    this.#client.close();
  }

  call(method: string, path: string, body?: unknown): Promise<Reply> {
    return this.#client.request({
      method,
      path,
      headers:
        body === undefined
          ? this.#headers
          : { ...this.#headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async must(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const reply = await this.call(method, path, body);
    if (reply.status < 200 || reply.status > 299)
      throw new LeverFailed(`${method} ${path}: ${this.#masks.clean(describe(reply))}`);
    return isObject(reply.json) ? reply.json : {};
  }

  async createAccount(monthlyQuota: number | undefined): Promise<string> {
    this.#accounts += 1;
    const made = await this.must('POST', '/control/accounts', {
      name: `conformance-${this.#run}-${this.#accounts}`,
      ...(monthlyQuota === undefined ? {} : { monthly_quota: monthlyQuota }),
    });
    const accountId = String(made['account_id']);
    this.#made.push(accountId);
    return accountId;
  }

  async createKey(accountId: string, name: string): Promise<ApiKey> {
    const made = await this.must('POST', `/control/accounts/${accountId}/keys`, { name });
    const key = String(made['key']);
    this.#masks.hide(key);
    return { keyId: String(made['key_id']), key };
  }

  async createSim(accountId: string, settings: Record<string, unknown> = {}): Promise<Sim> {
    for (let attempt = 0; ; attempt += 1) {
      const number = this.unusedNumber();
      const path = `/control/accounts/${accountId}/sims`;
      const reply = await this.call('POST', path, { number, ...settings });
      if (reply.status === 201 && isObject(reply.json))
        return { number, deviceId: String(reply.json['device_id']) };
      // A number that an earlier run has left behind is passed over.
      if (attempt > 1_600 || ![400, 409, 422].includes(reply.status))
        throw new LeverFailed(`POST ${path}: ${this.#masks.clean(describe(reply))}`);
    }
  }

  /** A well-formed number that this harness has given to no SIM. */
  unusedNumber(): string {
    const n = this.#nextNumber;
    this.#nextNumber += 1;
    const area = areaCodes[Math.floor(n / 100) % areaCodes.length] ?? 205;
    return `+1${area}55501${String(n % 100).padStart(2, '0')}`;
  }

  async now(): Promise<number> {
    return instant((await this.must('GET', '/control/clock'))['now']) ?? Date.now();
  }

  async advance(ms: number): Promise<void> {
    if (ms > 0)
      await this.must('POST', '/control/clock/advance', { by: `${Math.max(1, Math.round(ms))}ms` });
  }

  async advanceTo(epochMs: number): Promise<void> {
    const ahead = epochMs - (await this.now());
    await this.advance(ahead);
  }

  /** When the next thing falls due, where the simulator says so. */
  async nextAt(): Promise<number | undefined> {
    return instant((await this.must('GET', '/control/clock'))['next_at']);
  }

  /** How many messages an account has, where the simulator tells. */
  async messageCount(accountId: string): Promise<number | undefined> {
    const reply = await this.call('GET', `/control/messages?account_id=${accountId}&limit=200`);
    const list = isObject(reply.json) ? reply.json['messages'] : undefined;
    return Array.isArray(list) ? list.length : undefined;
  }
}

function instant(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const parsed = Date.parse(value);
  return Number.isNaN(parsed) ? undefined : parsed;
}

function wrapLike(shape: unknown, list: readonly unknown[]): unknown {
  return isObject(shape) ? { outcomes: list } : list;
}
