/**
 * An account, and what it owns: keys, devices, messages. All of them refer to each other, so their
 * types are in one file. Rules: AUTH-2, SVC-1, ERR-1, RES-1. Assumes: monthlyQuota.
 * A message is a reference to a row of the store, so a million messages cost only their rows.
 */
import type { Status } from '#contract/message-status.ts';
import { refuseMore } from '../errors.ts';
import type { Rng, RngState } from '../random.ts';
import { QuotaCount, type QuotaState } from '../sends/quota.ts';
import { type AcceptedUses, ReplayWindow, type Use } from '../sends/replay-window.ts';
import { Cohort } from '../store/cohort.ts';
import { StoredMessage } from '../store/message.ts';
import { SimDevice } from './device.ts';

// Bounds for world files and operations. `src/sim/store/retention.ts` has the bound on messages.
export const mostAccounts = 10_000;
/** Account names ever used in a world. The name of a deleted account still counts. */
export const mostAccountNames = 100_000;
/** Keys of one account, revoked ones included. */
export const mostKeys = 1_000;
export const mostSims = 10_000;
/** SIMs of all accounts plus the numbers of the pool. */
export const mostDevices = 100_000;

/** Identifies a key without its full text. */
export interface KeyDigest {
  readonly sha256: string;
  /** The part of the key that may be shown. */
  readonly prefix: string;
}

/**
 * An API key. The full text stays in memory: it is shown at creation, and for the keys of a world's
 * start also in its ready file and its description, and never elsewhere.
 */
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

/** The most characters of a key that may be shown after its creation (AUTH-2). */
const shownKeyCharacters = 9;

export function keyPrefix({ key: text, digest }: ApiKey): string {
  return digest === undefined ? shownPrefix(text) : digest.prefix;
}

/** The start of a key that may be shown: never more than half of it. */
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

export interface NewAccount {
  /** Creates a random stream of the account's own. */
  readonly chance: (label: string) => Rng;
  readonly newId: (ids: Rng) => string;
  readonly name: string;
  readonly monthlyQuota: MonthlyQuota;
  readonly allMessages: AccountMessages;
}

export class Account {
  readonly accountId: string;
  name: string;
  monthlyQuota: MonthlyQuota;
  readonly keys: ApiKey[] = [];
  readonly devices: Device[] = [];
  readonly received: ReceivedMessage[] = [];
  /** The number of messages ever accepted, by status; includes forgotten ones. */
  readonly counts: Record<Status, number> = {
    queued: 0,
    sending: 0,
    sent: 0,
    delivered: 0,
    failed: 0,
  };
  readonly forgotten = { delivered: 0, failed: 0 };
  /** The number that stands for this account in message columns (0: none). */
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

  constructor({ chance, newId, name, monthlyQuota, allMessages }: NewAccount) {
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
    // Starts at 1: otherwise `moveOut` would move the whole cohort when one message is left.
    this.unbatched.size = 1;
    this.unbatched.createdPairs = undefined;
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

export class Device extends SimDevice<Account, Message> {}

export class Message extends StoredMessage<ApiKey, Account, Device, Message> {}

/** How `src/sim/` announces work. `src/actors/device-actors.ts` implements it. */
export interface Dispatch {
  deviceAdded(device: Device): void;
  /** A patch was applied to the device, or messages of a deleted account left its work. */
  deviceChanged(device: Device): void;
  deviceRemoved(device: Device): void;
  /** A message was accepted and waits for its device. */
  queued(message: Message): void;
  /**
   * A real device asks for its tasks: one poll, if permitted. Returns the messages that it picked
   * up, in order.
   */
  polled(device: Device): readonly Message[];
}

export type FirstUse = Use<ApiKey, Message>;

/**
 * How often each account name was used since the last reset. An account draws its ids from a random
 * stream named after it. A name that is used again gets a new stream; otherwise the keys of a
 * deleted account would become valid again.
 */
export class AccountNames {
  readonly #uses = new Map<string, number>();

  /** Counts one more use of the name, and returns the name of its stream. */
  use(name: string): string {
    const earlier = this.#uses.get(name);
    if (earlier === undefined)
      refuseMore(this.#uses.size, mostAccountNames, 'account names since the last reset');
    this.#uses.set(name, (earlier ?? 0) + 1);
    // The count precedes the name, which may hold any text, so two accounts never share a stream.
    return earlier === undefined ? `account:${name}` : `account again:${earlier}:${name}`;
  }

  get uses(): readonly (readonly [string, number])[] {
    return [...this.#uses];
  }

  restore(uses: readonly (readonly [string, number])[]): void {
    this.#uses.clear();
    for (const [name, count] of uses) this.#uses.set(name, count);
  }
}
