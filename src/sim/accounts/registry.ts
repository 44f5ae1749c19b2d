/**
 * Holds what a world has: accounts, keys, SIMs, pool numbers and messages. Only this file adds,
 * changes and removes them, so some methods are short. Messages change status in `src/actors/`.
 * Rules: SVC-1, AUTH-2, AUTH-3, STATE-1, RES-2. Assumes: keyFormat, monthlyQuota,
 * pollIntervalSeconds.
 */
import { secondMs } from '#contract/time.ts';
import type { Assumptions, AssumptionsInForce } from '../assumptions.ts';
import type { Outcomes } from '../devices/outcomes.ts';
import { assert, conflict, refuseMore } from '../errors.ts';
import { drawKey, drawUuid, Rng, type RngState } from '../random.ts';
import type { Cohort } from '../store/cohort.ts';
import { type AcceptedSend, MessageStore, type SavedMessage } from '../store/message-store.ts';
import { type MaxMessages, Retention } from '../store/retention.ts';
import {
  Account,
  AccountNames,
  type ApiKey,
  Device,
  type Dispatch,
  type Message,
  type MonthlyQuota,
  mostAccounts,
  mostDevices,
  mostKeys,
  mostSims,
  type ReceivedMessage,
} from './account.ts';
import type { SimSettings } from './device.ts';
import { KeyRing } from './key-ring.ts';

/** The rest of a registry's state, which its maps do not contain. */
export interface RegistryCounters {
  /** Messages ever accepted. */
  readonly arrivals: number;
  readonly poolIds: RngState;
  /** How often each account name was used. */
  readonly names: readonly (readonly [string, number])[];
}

export class Registry {
  readonly seed: number;
  /** Empty for the first world of a server, unless its settings name it. */
  readonly name: string;
  readonly now: () => number;
  readonly outcomes: Outcomes;
  /** False with `--no-limits`: accounts have no quota. */
  readonly enforcesQuotas: boolean;
  /** By id; so are `keys` and `devices`. */
  readonly accounts = new Map<string, Account>();
  /** Revoked keys included. */
  readonly keys = new Map<string, ApiKey>();
  /** The numbers of the shared platform pool (SVC-1), which are also in `devices`. */
  readonly pool: Device[] = [];
  readonly devices = new Map<string, Device>();
  readonly messages: MessageStore;
  /** Finds keys by their full text or its digest. */
  readonly keyRing = new KeyRing();
  readonly #devicesByNumber = new Map<string, Device>();
  /** The names of the accounts, which differ. */
  readonly #namesInUse = new Set<string>();
  readonly #accountNames = new AccountNames();
  readonly #poolIds: Rng;
  readonly #assumptions: AssumptionsInForce;
  readonly #dispatch: Dispatch;
  #arrivals = 0;

  constructor(parts: {
    readonly seed: number;
    readonly name: string;
    readonly now: () => number;
    readonly assumptions: AssumptionsInForce;
    readonly outcomes: Outcomes;
    readonly dispatch: Dispatch;
    readonly enforcesQuotas: boolean;
    readonly maxMessages: MaxMessages;
  }) {
    this.seed = parts.seed;
    this.name = parts.name;
    this.now = parts.now;
    this.messages = new MessageStore(parts.now, new Retention(parts.maxMessages));
    this.#assumptions = parts.assumptions;
    this.outcomes = parts.outcomes;
    this.enforcesQuotas = parts.enforcesQuotas;
    this.#dispatch = parts.dispatch;
    this.#poolIds = this.chance('pool');
  }

  get assumptions(): Assumptions {
    return this.#assumptions.answers;
  }

  /** A random stream that follows from the seed, the world's name and this label. */
  chance(label: string): Rng {
    return Rng.stream(this.seed, this.name === '' ? label : `world:${this.name}\n${label}`);
  }

  createAccount(name: string, monthlyQuota?: MonthlyQuota): Account {
    this.#refuseUsedName(name);
    refuseMore(this.accounts.size, mostAccounts, 'accounts');
    const label = this.#accountNames.use(name);
    const account = new Account({
      chance: (purpose) => this.chance(`${label}:${purpose}`),
      newId: drawUuid,
      name,
      monthlyQuota,
      allMessages: this.messages,
    });
    this.addAccount(account);
    return account;
  }

  /** Lists an account that exists, new or restored: draws and refuses nothing. */
  addAccount(account: Account): void {
    assert(!this.accounts.has(account.accountId), 'no two accounts have one id');
    this.accounts.set(account.accountId, account);
    this.#namesInUse.add(account.name);
  }

  renameAccount(account: Account, name: string): void {
    if (account.name === name) return;
    this.#refuseUsedName(name);
    this.#namesInUse.delete(account.name);
    this.#namesInUse.add(name);
    account.name = name;
  }

  /** Sets an account's own quota; undefined: that of `monthlyQuota`. */
  setQuota(account: Account, monthlyQuota: MonthlyQuota): void {
    account.monthlyQuota = monthlyQuota;
  }

  /** Removes the account with its keys, SIMs and messages. */
  deleteAccount(account: Account): void {
    for (const key of account.keys) {
      this.keys.delete(key.keyId);
      this.keyRing.delete(key);
    }
    for (const device of [...account.devices]) this.removeDevice(device);
    for (const device of this.pool) device.work.forget(account);
    this.messages.forgetAccount(account);
    // After the messages are gone: the SIMs of the pool may now wake later.
    for (const device of this.pool) this.#dispatch.deviceChanged(device);
    this.accounts.delete(account.accountId);
    this.#namesInUse.delete(account.name);
  }

  /** `text`: the full key, if a world file states it. Otherwise the key is drawn. */
  createKey(account: Account, name: string, text?: string): ApiKey {
    refuseMore(account.keys.length, mostKeys, 'keys of this account');
    if (text !== undefined && this.keyRing.hasText(text))
      throw conflict('this key is in use; choose another', 'key');
    const keyId = drawUuid(account.ids);
    const drawnFrom = text === undefined ? account.ids.state : undefined;
    const key: ApiKey = {
      keyId,
      name,
      account,
      ordinal: account.keys.length,
      key: text ?? drawKey(account.ids, this.assumptions.keyFormat),
      digest: undefined,
      drawnFrom,
      createdAtMs: this.now(),
      revokedAtMs: undefined,
    };
    this.addKey(key);
    return key;
  }

  /** Lists a key that exists, new or restored: draws and refuses nothing. */
  addKey(key: ApiKey): void {
    assert(!this.keys.has(key.keyId), 'no two keys have one id');
    key.account.keys.push(key);
    this.keys.set(key.keyId, key);
    this.keyRing.add(key);
  }

  revokeKey(key: ApiKey): void {
    key.revokedAtMs ??= this.now();
  }

  /** The key with this full text, unless it was revoked (AUTH-3). */
  validKey(text: string): ApiKey | undefined {
    return unlessRevoked(this.keyRing.find(text));
  }

  /** The valid key of an Authorization header in its usual spelling. */
  validKeyOfHeader(header: string): ApiKey | undefined {
    return unlessRevoked(this.keyRing.findHeader(header));
  }

  createSim(account: Account, number: string, state: SimSettings): Device {
    refuseMore(account.devices.length, mostSims, 'SIMs of this account');
    return this.#createDevice(number, account, account.ids, state);
  }

  /** A number of the shared platform pool (SVC-1). */
  createPoolNumber(number: string): Device {
    return this.#createDevice(number, undefined, this.#poolIds, {});
  }

  /** Lists a device that exists and has no actor yet: draws and refuses nothing. */
  addDevice(device: Device): void {
    assert(!this.devices.has(device.deviceId), 'no two SIMs have one id');
    assert(!this.#devicesByNumber.has(device.number), 'no two SIMs have one number');
    this.#siblingsOf(device).push(device);
    this.devices.set(device.deviceId, device);
    this.#devicesByNumber.set(device.number, device);
  }

  patchDevice(device: Device, state: SimSettings): void {
    const { allowed = device.allowed, connected = device.connected } = state;
    const { active = device.active, polling = device.polling } = state;
    Object.assign(device, { allowed, connected, active, polling });
    this.#dispatch.deviceChanged(device);
  }

  /**
   * Removes a SIM or a pool number. The caller must first make its messages final, unless it removes
   * them, too.
   */
  removeDevice(device: Device): void {
    const siblings = this.#siblingsOf(device);
    siblings.splice(siblings.indexOf(device), 1);
    this.#dispatch.deviceRemoved(device);
    this.devices.delete(device.deviceId);
    this.#devicesByNumber.delete(device.number);
    device.isRemoved = true;
    this.messages.forgetIfUnused(device);
  }

  deviceByNumber(number: string): Device | undefined {
    return this.#devicesByNumber.get(number);
  }

  /**
   * STATE-1: an accepted send creates the message in `queued`. Returns undefined if there is no
   * room, because all messages are unfinished.
   */
  acceptMessage(send: AcceptedSend): Message | undefined {
    if (!this.messages.makeRoom()) return undefined;
    const { account } = send;
    const nowMs = this.now();
    const fate = this.outcomes.fateOf(send.to, this.assumptions, account.fates);
    const message = this.messages.add(send, this.#arrivals++, nowMs, fate);
    account.counts.queued++;
    account.quota.count(nowMs, send.text);
    this.#dispatch.queued(message);
    return message;
  }

  /** Polls for a real device: see `Dispatch.polled`. */
  polled(device: Device): readonly Message[] {
    return this.#dispatch.polled(device);
  }

  receiveMessage(device: Device, account: Account, from: string, text: string): ReceivedMessage {
    const messageId = drawUuid(account.ids);
    const received = { messageId, device, from, message: text, receivedAtMs: this.now() };
    this.addReceived(account, received);
    return received;
  }

  /** Lists a received message that exists, new or restored. */
  addReceived(account: Account, received: ReceivedMessage): void {
    account.received.push(received);
  }

  /** The quota in force for an account, or `unlimited`. */
  quotaOf(account: Account): number | 'unlimited' {
    if (!this.enforcesQuotas) return 'unlimited';
    return account.monthlyQuota ?? this.assumptions.monthlyQuota;
  }

  get counters(): RegistryCounters {
    return {
      arrivals: this.#arrivals,
      poolIds: this.#poolIds.state,
      names: this.#accountNames.uses,
    };
  }

  /** Call this for messages in the order of acceptance, after their accounts and devices. */
  restoreMessage(saved: SavedMessage, cohort: Cohort): void {
    assert(this.messages.get(saved.messageId) === undefined, 'message ids are unique');
    this.messages.restore(saved, cohort);
    saved.account.counts[cohort.status]++;
  }

  restoreCounters({ arrivals, poolIds, names }: RegistryCounters): void {
    this.#arrivals = arrivals;
    this.#poolIds.restore(poolIds);
    this.#accountNames.restore(names);
  }

  /** The list that a device is in: the SIMs of its account, or the pool. */
  #siblingsOf(device: Device): Device[] {
    return device.account?.devices ?? this.pool;
  }

  #refuseUsedName(name: string): void {
    if (this.#namesInUse.has(name))
      throw conflict(`the account name ${name} is in use; choose another`, 'name');
  }

  #createDevice(
    number: string,
    account: Account | undefined,
    ids: Rng,
    state: SimSettings,
  ): Device {
    if (this.#devicesByNumber.has(number))
      throw conflict(`the number ${number} belongs to a SIM already; remove it first`, 'number');
    refuseMore(this.devices.size, mostDevices, 'SIMs');
    const intervalMs = this.assumptions.pollIntervalSeconds * secondMs;
    const deviceId = drawUuid(ids);
    // Later than now, so that a new SIM does not poll in the millisecond of its creation.
    const firstPollAtMs = this.now() + 1 + ids.below(intervalMs);
    const { connected = true, active = true, allowed = true, polling = 'simulated' } = state;
    const settings = { connected, active, allowed, polling };
    const device = new Device({ deviceId, number, account, firstPollAtMs, ...settings });
    this.addDevice(device);
    this.#dispatch.deviceAdded(device);
    return device;
  }
}

function unlessRevoked(key: ApiKey | undefined): ApiKey | undefined {
  return key === undefined || key.revokedAtMs !== undefined ? undefined : key;
}
