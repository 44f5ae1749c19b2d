/**
 * The parts of a simulator's control port that the harness uses: accounts, keys, SIMs, time,
 * scripted fates. They prepare a case; only replies of the service port are judged. The harness
 * knows operations by name and reads their paths from the control port's OpenAPI document.
 */
import { minuteMs } from '#contract/time.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { describe, isObject, Lacking } from '#judging/service/expectations.ts';
import { bearerHeader, Client, type Clock } from './client.ts';
import type { Masks } from './masks.ts';
import type { RunFacts } from './run-facts.ts';

export interface Sim {
  readonly number: string;
  readonly deviceId: string;
}

export interface ApiKey {
  readonly keyId: string;
  readonly key: string;
}

/** An operation of the control port failed. This says nothing about the rules. */
export class ControlFailed extends Error {}

interface Route {
  readonly method: string;
  readonly path: string;
}

interface OperationArguments {
  /** The id in the operation's path. */
  readonly id?: string | undefined;
  readonly input?: unknown;
}

/** The only path of a control port that is fixed here. */
const documentPath = '/control/openapi.json';

/** Simulated time after which every bucket is full again, under any refill. */
const refillMs = 2 * minuteMs;

/** A jump of the clock may take longer than any reply of the service. */
const leastTimeoutMs = 30_000;

/** Room for the largest list of a control port. */
const maxBodyBytes = 16_777_216;

/** Area codes whose numbers 555-0100 to 555-0199 are reserved for fiction, but well-formed. */
const areaCodes = [205, 206, 207, 208, 209, 210, 213, 214, 215, 216, 217, 218, 219, 224, 225, 228];
const numbersPerArea = 100;
const numberCount = areaCodes.length * numbersPerArea;

export class Control {
  readonly #client: Client;
  readonly #masks: Masks;
  readonly #facts: RunFacts;
  readonly #headers: Readonly<Record<string, string>>;
  /** The ids of the accounts that the harness created. */
  readonly #createdAccounts: string[] = [];
  /** Part of the names of accounts, so that they differ even between simultaneous runs. */
  readonly #runName = Date.now().toString(36) + Math.floor(Math.random() * 36 ** 3).toString(36);
  #accounts = 0;
  #operations: ReadonlyMap<string, Route> = new Map();
  #nextNumber: number;
  /** The numbers of the world's own SIMs, as far as the simulator lists them. */
  #usedNumbers: ReadonlySet<string> = new Set();
  #now = Date.now();
  /** The assumptions that the simulator states, by name. */
  assumptions: Readonly<Record<string, unknown>> = {};
  /** The clock before the run, to be restored. */
  #clockBefore: { readonly mode?: unknown; readonly rate?: unknown } = {};
  /** The scripted fates before the run, to be restored. */
  #outcomesBefore: unknown;

  constructor(settings: {
    readonly url: string;
    readonly token: string | undefined;
    readonly timeoutMs: number;
    readonly masks: Masks;
    readonly seed: number;
    readonly facts: RunFacts;
  }) {
    const { url, token, timeoutMs, masks, seed, facts } = settings;
    this.#client = new Client({
      baseUrl: url,
      timeoutMs: Math.max(timeoutMs, leastTimeoutMs),
      masks,
      retries: false,
      maxBodyBytes,
    });
    this.#masks = masks;
    this.#facts = facts;
    this.#headers = bearerHeader(token);
    // Runs with different seeds start at different numbers: 97 is prime to the 100 of an area code.
    this.#nextNumber = seed * 97;
  }

  /** Stops the clock, lets the tokens that other runs spent return, and scripts `fates`. */
  async begin(fates: readonly unknown[]): Promise<void> {
    await this.#discover();
    const clock = await this.call('clock.state');
    if (isObject(clock.json)) this.#clockBefore = clock.json;
    if (this.#clockBefore.mode !== 'manual')
      await this.call('clock.setMode', { input: { mode: 'manual' } });
    await this.advance(refillMs);
    const listed = await this.call('sims.all');
    this.#usedNumbers = new Set(numbersIn(Object(listed.json).sims));
    this.assumptions = await this.must('assumptions.get');
    const { outcomes } = await this.must('outcomes.get');
    this.#outcomesBefore = outcomes;
    // The first fate that matches a recipient applies.
    const all = [...fates, ...(Array.isArray(outcomes) ? outcomes : [])];
    await this.must('outcomes.put', { input: { outcomes: all } });
  }

  /** Restores the simulator, except for the simulated time that has passed. */
  async end(): Promise<void> {
    for (const accountId of this.#createdAccounts)
      await this.call('accounts.delete', { id: accountId });
    if (this.#outcomesBefore !== undefined)
      await this.call('outcomes.put', { input: { outcomes: this.#outcomesBefore } });
    const { mode, rate } = this.#clockBefore;
    if (typeof mode === 'string' && mode !== 'manual') {
      await this.call('clock.setMode', {
        input: { mode, ...(mode === 'scaled' && rate !== undefined ? { rate } : {}) },
      });
    }
    this.#client.close();
  }

  /** Calls an operation. `input`: the query of a GET or DELETE, otherwise the body. */
  call(operation: string, { id = '', input }: OperationArguments = {}): Promise<Reply> {
    const route = this.#operations.get(operation);
    if (route === undefined)
      throw new ControlFailed(`no operation ${operation}; is it a simulator of this version?`);
    const { method } = route;
    const path = route.path.replace(/\{\w+\}/, encodeURIComponent(id));
    const isQuery = method === 'GET' || method === 'DELETE';
    const query = isQuery && isObject(input) ? queryOf(input) : '';
    const hasBody = !isQuery && input !== undefined;
    return this.#client.request({
      method,
      path: `${path}${query}`,
      headers: hasBody ? { ...this.#headers, 'content-type': 'application/json' } : this.#headers,
      ...(hasBody ? { body: JSON.stringify(input) } : {}),
    });
  }

  /** Calls an operation that must succeed, otherwise throws a ControlFailed. Returns its JSON. */
  async must(operation: string, args: OperationArguments = {}): Promise<Record<string, unknown>> {
    const reply = await this.call(operation, args);
    if (reply.status < 200 || reply.status > 299)
      throw new ControlFailed(`${operation}: ${this.#masks.clean(describe(reply))}`);
    return isObject(reply.json) ? reply.json : {};
  }

  async createAccount(monthlyQuota: number | undefined): Promise<string> {
    this.#accounts += 1;
    const created = await this.must('accounts.create', {
      input: {
        name: `conformance-${this.#runName}-${this.#accounts}`,
        ...(monthlyQuota === undefined ? {} : { monthly_quota: monthlyQuota }),
      },
    });
    const accountId = String(created['account_id']);
    this.#createdAccounts.push(accountId);
    const quota = monthlyQuota === undefined ? {} : { quota: monthlyQuota };
    this.#facts.addAccount(accountId, { isNew: true, ...quota });
    return accountId;
  }

  async createKey(accountId: string, name: string): Promise<ApiKey & { created: unknown }> {
    const created = await this.must('accounts.createKey', { id: accountId, input: { name } });
    const key = String(created['key']);
    const keyId = String(created['key_id']);
    this.#masks.hide(key);
    this.#facts.addKey(key, accountId, { keyId });
    return { keyId, key, created };
  }

  async revokeKey(keyId: string): Promise<void> {
    await this.must('accounts.revokeKey', { id: keyId });
    this.#facts.revoke(keyId);
  }

  async createSim(accountId: string, settings: Record<string, unknown> = {}): Promise<Sim> {
    for (let attempt = 1; ; attempt += 1) {
      const number = this.unusedNumber();
      const input = { number, ...settings };
      const reply = await this.call('sims.create', { id: accountId, input });
      if (reply.status === 201 && isObject(reply.json)) {
        const deviceId = String(reply.json['device_id']);
        this.#facts.addNumber(number, { account: accountId, is: 'own', deviceId });
        return { number, deviceId };
      }
      // Skips numbers that SIMs of a simultaneous run have.
      if (attempt > numberCount || ![400, 409, 422].includes(reply.status))
        throw new ControlFailed(`sims.create: ${this.#masks.clean(describe(reply))}`);
    }
  }

  async patchSim(deviceId: string, input: Readonly<Record<string, unknown>>): Promise<void> {
    await this.must('sims.patch', { id: deviceId, input });
    this.#facts.changeSim(deviceId, input);
  }

  /** The first number of the pool. Throws a Lacking if the pool is empty. */
  async poolNumber(): Promise<string> {
    const { sims } = await this.must('sims.pool');
    const [number] = numbersIn(sims);
    if (number === undefined) throw new Lacking('a number in the shared pool');
    this.#facts.addNumber(number, { is: 'pool' });
    return number;
  }

  /** A well-formed number of no SIM. Throws a ControlFailed if SIMs have all such numbers. */
  unusedNumber(): string {
    for (let tries = 0; tries < numberCount; tries += 1) {
      const number = fictionalNumber(this.#nextNumber);
      this.#nextNumber += 1;
      if (this.#usedNumbers.has(number)) continue;
      this.#facts.addNumber(number, { is: 'unknown' });
      return number;
    }
    throw new ControlFailed(
      `SIMs have all ${numberCount} numbers that are reserved for fiction; delete some of them`,
    );
  }

  /** Simulated time; only the harness moves it during the run. */
  get now(): number {
    return this.#now;
  }

  async advance(ms: number): Promise<void> {
    if (ms <= 0) return;
    const input = { by: `${Math.max(1, Math.round(ms))}ms` };
    this.#noteTime(await this.must('clock.advance', { input }));
  }

  async advanceTo(epochMs: number): Promise<void> {
    await this.advance(epochMs - this.#now);
  }

  /** Advances until nothing is left to happen. */
  async advanceToTheEnd(): Promise<void> {
    this.#noteTime(await this.must('clock.advance', { input: { until_idle: true } }));
  }

  #noteTime(state: Readonly<Record<string, unknown>>): void {
    this.#now = epochMsOf(state['now']) ?? this.#now;
  }

  /** When the next timer is due, if the simulator says so. */
  async nextAt(): Promise<number | undefined> {
    return epochMsOf((await this.must('clock.state'))['next_at']);
  }

  /** The number of an account's messages, at most 200, if the simulator lists them. */
  async messageCount(accountId: string): Promise<number | undefined> {
    const reply = await this.call('messages.page', {
      input: { account_id: accountId, limit: 200 },
    });
    const list = isObject(reply.json) ? reply.json['messages'] : undefined;
    return Array.isArray(list) ? list.length : undefined;
  }

  /** Reads the paths of operations from the control port's own document. */
  async #discover(): Promise<void> {
    const reply = await this.#client.request({
      method: 'GET',
      path: documentPath,
      headers: this.#headers,
    });
    const paths = isObject(reply.json) ? reply.json['paths'] : undefined;
    if (!isObject(paths))
      throw new ControlFailed(`GET ${documentPath}: ${this.#masks.clean(describe(reply))}`);
    const found = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(isObject(item) ? item : {}).flatMap(([method, operation]) => {
        const id = isObject(operation) ? operation['operationId'] : undefined;
        return typeof id === 'string'
          ? [[id, { method: method.toUpperCase(), path }] as const]
          : [];
      }),
    );
    this.#operations = new Map(found);
  }
}

function queryOf(input: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) query.set(name, String(value));
  return `?${query}`;
}

/** One of the numbers reserved for fiction. After the last one, they begin again. */
function fictionalNumber(index: number): string {
  const area = areaCodes[Math.floor(index / numbersPerArea) % areaCodes.length];
  return `+1${area}55501${String(index % numbersPerArea).padStart(2, '0')}`;
}

/** The numbers of a list of SIMs. */
function numbersIn(sims: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(sims) ? sims : [];
  return list.map((sim) => Object(sim).number).filter((number) => typeof number === 'string');
}

/** A time as milliseconds since the epoch; undefined if the value is not a time. */
function epochMsOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const parsed = Date.parse(value);
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** The clock of a run with a control port: to wait means to move simulated time. */
export function controlledClock(control: Control): Clock {
  return { now: () => control.now, sleep: (ms) => control.advance(ms) };
}
