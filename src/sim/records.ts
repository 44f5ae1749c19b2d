/**
 * The records of a world that refer to each other: accounts with their keys, devices and messages.
 * Rules: AUTH-2, SVC-1, SVC-3, ERR-1, RES-1. Assumes: keyFormat, monthlyQuota, pollIntervalSeconds.
 * A message is one flat object: a million of them cost what a table costs.
 */
import { alone, Cohort } from './cohort.ts';
import { DeviceWork } from './device-work.ts';
import { ReplayWindow, type Use } from './idempotency.ts';
import type { EndpointName } from './limits.ts';
import type { Fate } from './outcomes.ts';
import { QuotaCount } from './quota.ts';
import { Rng } from './rng.ts';
import type { Status } from './status.ts';

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
  readonly keyId: string;
  readonly name: string;
  readonly account: Account;
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

export class Account {
  readonly accountId: string;
  name: string;
  monthlyQuota: MonthlyQuota;
  readonly keys: ApiKey[] = [];
  readonly devices: Device[] = [];
  /** In order of acceptance. */
  readonly messages: Message[] = [];
  readonly received: ReceivedMessage[] = [];
  readonly counts: Record<Status, number> = {
    queued: 0,
    sending: 0,
    sent: 0,
    delivered: 0,
    failed: 0,
  };
  /** Messages in no batch of a device: held, or queued for ever. It never moves as a whole. */
  readonly unbatched: Cohort;
  readonly replays: ReplayWindow<ApiKey, Message>;
  readonly quota: QuotaCount;
  /** Streams of its own, so that no other account's calls shift what it draws. */
  readonly ids: Rng;
  readonly fates: Rng;
  readonly paces: Rng;

  /** `stream`: what its chance is named by. */
  constructor(
    seed: number,
    stream: string,
    newId: (ids: Rng) => string,
    name: string,
    monthlyQuota: MonthlyQuota,
    now: () => number,
  ) {
    this.ids = Rng.stream(seed, `${stream}:ids`);
    this.fates = Rng.stream(seed, `${stream}:fates`);
    this.paces = Rng.stream(seed, `${stream}:paces`);
    this.accountId = newId(this.ids);
    this.name = name;
    this.monthlyQuota = monthlyQuota;
    this.replays = new ReplayWindow(now);
    this.quota = new QuotaCount(this.messages);
    this.unbatched = new Cohort(this, undefined);
    // The account counts as one, so a message in it is never taken for the only one.
    this.unbatched.size = 1;
    this.unbatched.created = undefined;
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

/** Where a message came from. */
export type SendEndpoint = Extract<EndpointName, 'send' | 'dashboard_send' | 'external_send'>;

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

/** What became of a message since it was accepted. */
export type MessagePast = Pick<
  Message,
  'status' | 'sendingAtMs' | 'sentAtMs' | 'endedAtMs' | 'failureReason' | 'duePoll'
>;

/** All times are epoch milliseconds; 0 stands for "never", as no simulated time is 0. */
export class Message {
  readonly messageId: string;
  readonly account: Account;
  /** The key that sent it; undefined where a snapshot does not tell. */
  readonly key: ApiKey | undefined;
  /** Its number is the `from_number` of the wire. */
  readonly device: Device;
  readonly endpoint: SendEndpoint;
  readonly requestId: string;
  readonly to: string;
  readonly text: string;
  readonly createdAtMs: number;
  /** The end of the hold, or 0. */
  readonly sendAtMs: number;
  readonly fate: Fate | undefined;
  /** Its place among the account's messages, from 0. */
  readonly ordinal: number;
  /** Its place among all messages of the world, in the order of acceptance. */
  readonly arrival: number;

  /** What it has become since, with the messages that move with it. */
  cohort: Cohort;
  /** The body of its 202, byte for byte; empty where no `request_id` may ask for it again. */
  firstReply = '';
  /**
   * The number that the caller named, where the message goes out through another
   * (`disconnectedSim`); else empty.
   */
  sender = '';

  constructor(
    messageId: string,
    account: Account,
    key: ApiKey | undefined,
    device: Device,
    endpoint: SendEndpoint,
    requestId: string,
    to: string,
    text: string,
    createdAtMs: number,
    sendAtMs: number,
    fate: Fate | undefined,
    ordinal: number,
    arrival: number,
  ) {
    this.messageId = messageId;
    this.account = account;
    this.key = key;
    this.device = device;
    this.endpoint = endpoint;
    this.requestId = requestId;
    this.to = to;
    this.text = text;
    this.createdAtMs = createdAtMs;
    this.sendAtMs = sendAtMs;
    this.fate = fate;
    this.ordinal = ordinal;
    this.arrival = arrival;
    this.cohort = account.unbatched;
    this.cohort.size++;
  }

  get status(): Status {
    return this.cohort.status;
  }

  get sendingAtMs(): number {
    return this.cohort.sendingAtMs;
  }

  get sentAtMs(): number {
    return this.cohort.sentAtMs;
  }

  /** When it became `delivered` or `failed`. */
  get endedAtMs(): number {
    return this.cohort.endedAtMs;
  }

  get failureReason(): string | undefined {
    return this.cohort.failureReason;
  }

  /** The device's poll, by number, from which on the next step may be taken. */
  get duePoll(): number {
    return this.cohort.duePoll;
  }

  /**
   * Repeats, on a message as it was accepted, the steps that it took. Throws where they do not lead
   * to its status.
   */
  restore(past: MessagePast): void {
    const { status, sendingAtMs, sentAtMs, endedAtMs, failureReason } = past;
    const hasPast = sendingAtMs > 0 || sentAtMs > 0 || endedAtMs > 0 || past.duePoll > 0;
    const cohort = hasPast ? alone(this) : this.cohort;
    if (sendingAtMs > 0) cohort.become('sending', sendingAtMs);
    if (sentAtMs > 0) cohort.become('sent', sentAtMs);
    if (endedAtMs > 0) cohort.become(status, endedAtMs, failureReason);
    if (hasPast) cohort.duePoll = past.duePoll;
    const isReached =
      this.status === status && this.sentAtMs === sentAtMs && this.endedAtMs === endedAtMs;
    if (!isReached || this.failureReason !== failureReason) {
      throw new Error(`STATE-3 message ${this.messageId} is ${status}, its history ends otherwise`);
    }
  }

  /** When the status was last written. */
  get changedAtMs(): number {
    return this.cohort.changedAtMs || this.createdAtMs;
  }

  isHeldAt(nowMs: number): boolean {
    return this.status === 'queued' && this.sendAtMs > nowMs;
  }
}

/** The first use of a `request_id` in an account. */
export type FirstUse = Use<ApiKey, Message>;
