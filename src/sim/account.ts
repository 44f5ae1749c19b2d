/**
 * An account: its plan, its API keys, its SIMs and all that happened on it.
 * Rules: AUTH-2, SVC-1, ERR-1. Assumes: keyFormat, monthlyQuota.
 */
import type { Device } from './device.ts';
import { ReplayWindow } from './idempotency.ts';
import type { Message, Status } from './message.ts';
import { QuotaCount } from './quota.ts';
import { Rng } from './rng.ts';

/** What is known of a key without its full text. */
export interface KeyDigest {
  readonly sha256: string;
  /** What may be shown of it. */
  readonly prefix: string;
}

/** An API key. The full text is in memory alone: it is shown once, at creation, and never leaves again. */
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

const shownKeyCharacters = 9;

/** What may be shown of a key after its creation. */
export function keyPrefix({ key: text, digest }: ApiKey): string {
  return digest === undefined ? shownPrefix(text) : digest.prefix;
}

export function shownPrefix(text: string): string {
  return text.slice(0, Math.min(shownKeyCharacters, Math.floor(text.length / 2)));
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
  readonly replays: ReplayWindow;
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
  }

  /** Connected SIMs as SVC-1 has them: a deactivated one carries no message, so it does not count. */
  get connectedSims(): readonly Device[] {
    return this.devices.filter((device) => device.connected && device.active);
  }
}
