/**
 * What the harness does on a simulator through its control port: accounts, keys, SIMs, time,
 * scripted fates. This prepares a case; only replies of the service port are judged.
 */
import { isObject } from '#contract/request-and-reply.ts';
import { minuteMs } from '#contract/time.ts';
import { Lacking } from '#judging/service/expectations.ts';
import type { Clock } from './client.ts';
import { ControlFailed, ControlPort, type ControlPortSettings } from './control-port.ts';
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

/** Simulated time after which every bucket is full again, under any refill. */
const refillMs = 2 * minuteMs;

/** Area codes whose numbers 555-0100 to 555-0199 are reserved for fiction, but well-formed. */
const areaCodes = [205, 206, 207, 208, 209, 210, 213, 214, 215, 216, 217, 218, 219, 224, 225, 228];
const numbersPerArea = 100;
const numberCount = areaCodes.length * numbersPerArea;

export class Control {
  readonly port: ControlPort;
  readonly #masks: Masks;
  readonly #facts: RunFacts;
  /** The ids of the accounts that the harness created. */
  readonly #createdAccounts: string[] = [];
  /** Part of the names of accounts, so that they differ even between simultaneous runs. */
  readonly #runName = Date.now().toString(36) + Math.floor(Math.random() * 36 ** 3).toString(36);
  #accounts = 0;
  #nextNumber: number;
  /** The numbers of the world's own SIMs, as far as the simulator lists them. */
  #usedNumbers: ReadonlySet<string> = new Set();
  #now = Date.now();
  #isTimeHeld = false;
  /** The assumptions that the simulator states, by name. */
  assumptions: Readonly<Record<string, unknown>> = {};
  /** The clock before the run, to be restored. */
  #clockBefore: { readonly mode?: unknown; readonly rate?: unknown } = {};
  /** The scripted fates before the run, to be restored. */
  #outcomesBefore: unknown;

  constructor(settings: ControlPortSettings & { readonly seed: number; readonly facts: RunFacts }) {
    this.port = new ControlPort(settings);
    this.#masks = settings.masks;
    this.#facts = settings.facts;
    // Runs with different seeds start at different numbers: 97 is prime to the 100 of an area code.
    this.#nextNumber = settings.seed * 97;
  }

  /** Stops the clock, lets the tokens that other runs spent return, and scripts `fates`. */
  async begin(fates: readonly unknown[]): Promise<void> {
    await this.port.discover();
    const clock = await this.port.call('clock.state');
    if (isObject(clock.json)) this.#clockBefore = clock.json;
    if (this.#clockBefore.mode !== 'manual')
      await this.port.call('clock.setMode', { input: { mode: 'manual' } });
    await this.advance(refillMs);
    const listed = await this.port.call('sims.all');
    this.#usedNumbers = new Set(numbersIn(Object(listed.json).sims));
    this.assumptions = await this.port.must('assumptions.get');
    const { outcomes } = await this.port.must('outcomes.get');
    this.#outcomesBefore = outcomes;
    // The first fate that matches a recipient applies.
    const all = [...fates, ...(Array.isArray(outcomes) ? outcomes : [])];
    await this.port.must('outcomes.put', { input: { outcomes: all } });
  }

  /** Restores the simulator, except for the simulated time that has passed. */
  async end(): Promise<void> {
    for (const accountId of this.#createdAccounts)
      await this.port.call('accounts.delete', { id: accountId });
    if (this.#outcomesBefore !== undefined)
      await this.port.call('outcomes.put', { input: { outcomes: this.#outcomesBefore } });
    const { mode, rate } = this.#clockBefore;
    if (typeof mode === 'string' && mode !== 'manual') {
      await this.port.call('clock.setMode', {
        input: { mode, ...(mode === 'scaled' && rate !== undefined ? { rate } : {}) },
      });
    }
    this.port.close();
  }

  /** Without a quota, the account has that of the target's own plan. */
  async createAccount(monthlyQuota: number | undefined): Promise<string> {
    // Counted before the reply: cases create accounts at the same time.
    this.#accounts += 1;
    const name = `conformance-${this.#runName}-${this.#accounts}`;
    const hasQuota = monthlyQuota !== undefined;
    const input = { name, ...(hasQuota && { monthly_quota: monthlyQuota }) };
    const created = await this.port.must('accounts.create', { input });
    const accountId = String(created['account_id']);
    this.#createdAccounts.push(accountId);
    this.#facts.addAccount(accountId, { isNew: true, ...(hasQuota && { quota: monthlyQuota }) });
    return accountId;
  }

  async createKey(accountId: string, name: string): Promise<ApiKey & { created: unknown }> {
    const created = await this.port.must('accounts.createKey', { id: accountId, input: { name } });
    const key = String(created['key']);
    const keyId = String(created['key_id']);
    this.#masks.hide(key);
    this.#facts.addKey(key, accountId, { keyId });
    return { keyId, key, created };
  }

  async revokeKey(keyId: string): Promise<void> {
    await this.port.must('accounts.revokeKey', { id: keyId });
    this.#facts.revoke(keyId);
  }

  async createSim(accountId: string, settings: Record<string, unknown> = {}): Promise<Sim> {
    for (let attempt = 1; ; attempt += 1) {
      const number = this.unusedNumber();
      const input = { number, ...settings };
      const reply = await this.port.call('sims.create', { id: accountId, input });
      if (reply.status === 201 && isObject(reply.json)) {
        const deviceId = String(reply.json['device_id']);
        this.#facts.addNumber(number, { account: accountId, is: 'own', deviceId });
        return { number, deviceId };
      }
      // Skips numbers that SIMs of a simultaneous run have.
      if (attempt > numberCount || ![400, 409, 422].includes(reply.status))
        throw this.port.failed('sims.create', reply);
    }
  }

  async patchSim(deviceId: string, input: Readonly<Record<string, unknown>>): Promise<void> {
    await this.port.must('sims.patch', { id: deviceId, input });
    this.#facts.changeSim(deviceId, input);
  }

  /** The first number of the pool. Throws a Lacking if the pool is empty. */
  async poolNumber(): Promise<string> {
    const { sims } = await this.port.must('sims.pool');
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

  /** The number of an account's messages, at most 200, if the simulator lists them. */
  async messageCount(accountId: string): Promise<number | undefined> {
    let count = 0;
    let cursor: unknown;
    do {
      const input = { account_id: accountId, limit: 200, ...(cursor !== undefined && { cursor }) };
      const { json } = await this.port.call('messages.page', { input });
      const list = isObject(json) ? json['messages'] : undefined;
      if (!Array.isArray(list)) return undefined;
      count += list.length;
      cursor = isObject(json) ? json['next_cursor'] : undefined;
    } while (typeof cursor === 'string');
    return count;
  }

  /** Simulated time; only the harness moves it during the run. */
  get now(): number {
    return this.#now;
  }

  /** Does work during which no case may move time, because others would see it move. */
  async holdTime(work: () => Promise<void>): Promise<void> {
    this.#isTimeHeld = true;
    try {
      await work();
    } finally {
      this.#isTimeHeld = false;
    }
  }

  async advance(ms: number): Promise<void> {
    if (ms > 0) await this.#move({ by: `${Math.max(1, Math.round(ms))}ms` });
  }

  async advanceTo(epochMs: number): Promise<void> {
    await this.advance(epochMs - this.#now);
  }

  /** Advances until nothing is left to happen. */
  async advanceToTheEnd(): Promise<void> {
    await this.#move({ until_idle: true });
  }

  /** When the next timer is due, if the simulator says so. */
  async nextAt(): Promise<number | undefined> {
    return epochMsOf((await this.port.must('clock.state'))['next_at']);
  }

  async #move(input: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.#isTimeHeld)
      throw new Error('a case beside others moves time: it must say `mustRunAlone`');
    const state = await this.port.must('clock.advance', { input });
    this.#now = epochMsOf(state['now']) ?? this.#now;
  }
}

/** The clock of a run with a control port: to wait means to move simulated time. */
export function controlledClock(control: Control): Clock {
  return { now: () => control.now, sleep: (ms) => control.advance(ms) };
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
