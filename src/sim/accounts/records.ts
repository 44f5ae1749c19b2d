/**
 * The records of a world that refer to each other: accounts with their keys, devices and messages.
 * Rules: AUTH-2, SVC-1, SVC-3, ERR-1, RES-1. Assumes: keyFormat, monthlyQuota, pollIntervalSeconds.
 * A message is a reference to a row of the store, so a million messages cost only their rows.
 */

import type { Status } from '#contract/message-status.ts';
import { DeviceWork } from '../devices/device-work.ts';
import type { Rng, RngState } from '../random.ts';
import { QuotaCount, type QuotaState } from '../sends/quota.ts';
import { type AcceptedUses, ReplayWindow, type Use } from '../sends/replay-window.ts';
import { Cohort } from '../store/cohort.ts';
import { type SendEndpoint, StoredMessage } from '../store/message.ts';

/** Identifies a key without its full text. */
export interface KeyDigest {
  readonly sha256: string;
  /** The part of the key that may be shown. */
  readonly prefix: string;
}

/** An API key. The full text stays in memory: it is shown once, at creation, and never again. */
export interface ApiKey {
  /** The full text; empty if only its digest is known, as after a restore. */
  key: string;
  /** Set if the full text is not known. */
  digest: KeyDigest | undefined;
  /**
   * The state of the random stream that the text was drawn from, if it was drawn. A checkpoint
   * stores this instead of the text.
   */
  drawnFrom: RngState | undefined;
  readonly keyId: string;
  readonly name: string;
  readonly account: Account;
  /** Its place among the account's keys, from 0. */
  readonly ordinal: number;
  readonly createdAtMs: number;
  revokedAtMs: number | undefined;
}

/** An inbound message, as `received` lists it. */
export interface ReceivedMessage {
  readonly messageId: string;
  readonly device: Device;
  readonly from: string;
  readonly message: string;
  readonly receivedAtMs: number;
}

/** A monthly quota; undefined means the quota of the assumption `monthlyQuota`. */
export type MonthlyQuota = number | 'unlimited' | undefined;

/** The store of all messages, as accounts use it. */
export interface AccountMessages {
  readonly now: () => number;
  newestFirst(account: Account): Iterable<Message>;
  usesOf(account: Account): AcceptedUses<Message>;
  /** Call this when a cohort has become final. */
  noteEnded(cohort: Cohort): void;
}

export class Account {
  readonly accountId: string;
  name: string;
  monthlyQuota: MonthlyQuota;
  readonly keys: ApiKey[] = [];
  readonly devices: Device[] = [];
  readonly received: ReceivedMessage[] = [];
  /** All messages ever accepted, including forgotten ones. */
  readonly counts: Record<Status, number> = {
    queued: 0,
    sending: 0,
    sent: 0,
    delivered: 0,
    failed: 0,
  };
  readonly forgotten = { delivered: 0, failed: 0 };
  /** Stands for it in the columns of its messages; see `Slots`. */
  slot = 0;
  /**
   * Messages outside every batch of a device: held, or queued for ever. This cohort never moves as
   * a whole.
   */
  readonly unbatched: Cohort;
  readonly replays: ReplayWindow<ApiKey, Message>;
  readonly quota: QuotaCount;
  // The account's own random streams: calls of other accounts do not change its draws.
  readonly ids: Rng;
  readonly fates: Rng;
  readonly paces: Rng;
  readonly #allMessages: AccountMessages;

  /** `chance`: creates a random stream of the account's own. */
  constructor(
    chance: (label: string) => Rng,
    newId: (ids: Rng) => string,
    name: string,
    monthlyQuota: MonthlyQuota,
    allMessages: AccountMessages,
  ) {
    this.ids = chance('ids');
    this.fates = chance('fates');
    this.paces = chance('paces');
    this.accountId = newId(this.ids);
    this.name = name;
    this.monthlyQuota = monthlyQuota;
    this.#allMessages = allMessages;
    this.replays = new ReplayWindow(allMessages.now, allMessages.usesOf(this));
    this.quota = new QuotaCount(allMessages.now);
    this.unbatched = new Cohort(this, undefined);
    // One too many, so that `moveOut` does not take a single message for the whole cohort.
    this.unbatched.size = 1;
    this.unbatched.created = undefined;
  }

  /** Restores the counts of forgotten messages, and the quota that all messages use. */
  restoreCounts({ delivered, failed }: Account['forgotten'], quota: QuotaState): void {
    this.forgotten.delivered = delivered;
    this.forgotten.failed = failed;
    this.counts.delivered += delivered;
    this.counts.failed += failed;
    this.quota.restore(quota);
  }

  /** Its messages in the order of acceptance. Walks all messages, because few callers need them. */
  get messages(): readonly Message[] {
    return [...this.#allMessages.newestFirst(this)].reverse();
  }

  noteEnded(cohort: Cohort): void {
    this.#allMessages.noteEnded(cohort);
  }

  /**
   * Connected SIMs in the sense of SVC-1. A deactivated SIM carries no message, so it does not
   * count.
   */
  get connectedSims(): readonly Device[] {
    return this.devices.filter((device) => device.connected && device.active);
  }
}

/**
 * `simulated`: polls by itself on the virtual clock; `external`: a real device polls its tasks
 * endpoint.
 */
export type Polling = 'simulated' | 'external';

/** The fields that decide whether a device polls by itself. */
export interface DeviceState {
  readonly connected: boolean;
  readonly active: boolean;
  readonly polling: Polling;
}

/**
 * The settings of a SIM. An absent field stays unchanged; a new SIM is active, connected, simulated
 * and allowed.
 */
export interface SimState {
  readonly connected?: boolean | undefined;
  readonly active?: boolean | undefined;
  readonly polling?: Polling | undefined;
  readonly allowed?: boolean | undefined;
}

export class Device {
  readonly deviceId: string;
  readonly number: string;
  /** Undefined: a number of the shared pool. */
  readonly account: Account | undefined;
  /** The first time at which it polls; the others follow at whole poll intervals. */
  readonly firstPollAtMs: number;
  readonly work = new DeviceWork<Message>();
  connected: boolean;
  active: boolean;
  polling: Polling;
  /** False: the account may not send from this number (AUTH-5). */
  allowed = true;
  /** True: the SIM was removed from the world; its messages, all final, still refer to it. */
  isRemoved = false;
  /** The number of messages in the store that refer to it. */
  messagesHeld = 0;
  /** Stands for it in the columns of its messages; see `Slots`. */
  slot = 0;

  constructor(
    deviceId: string,
    number: string,
    account: Account | undefined,
    firstPollAtMs: number,
    state: DeviceState,
  ) {
    this.deviceId = deviceId;
    this.number = number;
    this.account = account;
    this.firstPollAtMs = firstPollAtMs;
    this.connected = state.connected;
    this.active = state.active;
    this.polling = state.polling;
  }

  /**
   * The first poll time at or after `fromMs`. May lie before `firstPollAtMs`, if that was drawn
   * with a longer interval.
   */
  pollAtOrAfter(fromMs: number, intervalMs: number): number {
    const intervals = Math.ceil((fromMs - this.firstPollAtMs) / intervalMs);
    return this.firstPollAtMs + intervals * intervalMs;
  }
}

/** The fields of an accepted send; numbers are E.164, `sendAtMs` is 0 or in the future. */
export interface AcceptedSend {
  readonly account: Account;
  readonly key: ApiKey | undefined;
  readonly device: Device;
  readonly endpoint: SendEndpoint;
  readonly to: string;
  readonly text: string;
  readonly requestId: string;
  readonly sendAtMs: number;
}

export class Message extends StoredMessage<ApiKey, Account, Device, Message> {}

/** The first use of a `request_id` in an account. */
export type FirstUse = Use<ApiKey, Message>;
