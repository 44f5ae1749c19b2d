/**
 * The records of a world that refer to each other: accounts with their keys, devices and messages.
 * Rules: AUTH-2, SVC-1, SVC-3, ERR-1, RES-1. Assumes: keyFormat, monthlyQuota, pollIntervalSeconds.
 * A message is a reference to a row of the store: a million of them cost what a table costs.
 */
import { Cohort } from './cohort.ts';
import { DeviceWork } from './device-work.ts';
import { type AcceptedUses, ReplayWindow, type Use } from './idempotency.ts';
import { QuotaCount, type QuotaState } from './quota.ts';
import type { Rng, RngState } from './rng.ts';
import type { Status } from './status.ts';
import { type SendEndpoint, StoredMessage } from './stored-message.ts';

/** What is known of a key without its full text. */
export interface KeyDigest {
  readonly sha256: string;
  /** What may be shown of it. */
  readonly prefix: string;
}

/**
 * An API key. The full text is in memory alone: it is shown once, at creation, and never leaves
 * again.
 */
export interface ApiKey {
  /** The full text; empty where only its digest is known, as after a restore. */
  key: string;
  /** Stands for the full text where that is not known. */
  digest: KeyDigest | undefined;
  /** The chance that the text was drawn from, where it was: a checkpoint holds this, not the text. */
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

/** A monthly quota; undefined leaves it to the assumption `monthlyQuota`. */
export type MonthlyQuota = number | 'unlimited' | undefined;

/** The messages that an account holds, in the order of acceptance. */
export interface HeldMessages extends Iterable<Message> {
  readonly length: number;
  /** Counts from the end where it is negative. */
  at(index: number): Message | undefined;
}

/** What keeps the messages of an account. */
export interface AccountHome {
  readonly now: () => number;
  messagesOf(account: Account): HeldMessages;
  usesOf(account: Account): AcceptedUses<Message>;
  /** A cohort has become final. */
  ended(cohort: Cohort): void;
}

export class Account {
  readonly accountId: string;
  name: string;
  monthlyQuota: MonthlyQuota;
  readonly keys: ApiKey[] = [];
  readonly devices: Device[] = [];
  readonly messages: HeldMessages;
  readonly received: ReceivedMessage[] = [];
  /** All messages ever accepted, the forgotten ones included. */
  readonly counts: Record<Status, number> = {
    queued: 0,
    sending: 0,
    sent: 0,
    delivered: 0,
    failed: 0,
  };
  readonly forgotten = { delivered: 0, failed: 0 };
  /** Its number in the columns of its messages. */
  slot = 0;
  /** Messages in no batch of a device: held, or queued for ever. It never moves as a whole. */
  readonly unbatched: Cohort;
  readonly replays: ReplayWindow<ApiKey, Message>;
  readonly quota: QuotaCount;
  /** Streams of its own, so that no other account's calls shift what it draws. */
  readonly ids: Rng;
  readonly fates: Rng;
  readonly paces: Rng;
  readonly #home: AccountHome;

  /** `chance`: makes a stream of the account's own. */
  constructor(
    chance: (label: string) => Rng,
    newId: (ids: Rng) => string,
    name: string,
    monthlyQuota: MonthlyQuota,
    home: AccountHome,
  ) {
    this.ids = chance('ids');
    this.fates = chance('fates');
    this.paces = chance('paces');
    this.accountId = newId(this.ids);
    this.name = name;
    this.monthlyQuota = monthlyQuota;
    this.#home = home;
    this.messages = home.messagesOf(this);
    this.replays = new ReplayWindow(home.now, home.usesOf(this));
    this.quota = new QuotaCount(home.now);
    this.unbatched = new Cohort(this, undefined);
    // The account counts as one, so a message in it is never taken for the only one.
    this.unbatched.size = 1;
    this.unbatched.created = undefined;
  }

  /** What a snapshot says about messages that it does not hold. */
  restoreForgotten(
    forgotten: Readonly<Account['forgotten']> & { readonly quota: QuotaState },
  ): void {
    const { delivered, failed, quota } = forgotten;
    this.forgotten.delivered = delivered;
    this.forgotten.failed = failed;
    this.counts.delivered += delivered;
    this.counts.failed += failed;
    this.quota.restore(quota);
  }

  ended(cohort: Cohort): void {
    this.#home.ended(cohort);
  }

  /**
   * Connected SIMs as SVC-1 has them: a deactivated one carries no message, so it does not count.
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

/** What decides whether a device polls by itself. */
export interface DeviceState {
  readonly connected: boolean;
  readonly active: boolean;
  readonly polling: Polling;
}

/**
 * What a user says of a SIM; what is left out stays as it is, or is on, simulated and allowed for a
 * new one.
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
  /** Its polls fall at this time and every poll interval after it. */
  readonly firstPollAtMs: number;
  readonly work = new DeviceWork<Message>();
  connected: boolean;
  active: boolean;
  polling: Polling;
  /** False: the account may not send from this number (AUTH-5). */
  allowed = true;
  /** No SIM of the world any more; its messages, all final, still name it. */
  isRemoved = false;
  /** Messages held that name it. */
  messagesHeld = 0;
  /** Its number in the columns of its messages. */
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
   * The first poll instant at `fromMs` or later; also before the first, where the interval was
   * longer when that was drawn.
   */
  pollAtOrAfter(fromMs: number, intervalMs: number): number {
    const behindMs = fromMs - this.firstPollAtMs;
    return this.firstPollAtMs + Math.ceil(behindMs / intervalMs) * intervalMs;
  }
}

/** What an accepted send says; numbers are E.164, `sendAtMs` is 0 or in the future. */
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
