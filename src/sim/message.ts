/**
 * The Message record, its statuses and its seven wire fields.
 * Rules: RES-1 to RES-6. Assumes: heldStatus.
 * One flat object for each message and nothing beside it: a million of them cost what a table costs.
 */
import type { Account, ApiKey } from './account.ts';
import type { Device } from './device.ts';
import { assert } from './errors.ts';
import type { EndpointName } from './limits.ts';
import type { Fate } from './outcomes.ts';

export const statuses = ['queued', 'sending', 'sent', 'delivered', 'failed'] as const;
export type Status = (typeof statuses)[number];

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

  /** Written by `become` alone, as are the times of the history. */
  status: Status = 'queued';
  sendingAtMs = 0;
  sentAtMs = 0;
  /** When it became `delivered` or `failed`. */
  endedAtMs = 0;
  failureReason: string | undefined = undefined;
  /** The device's poll, by number, from which on the next step may be taken. */
  duePoll = 0;
  /** The body of its 202, byte for byte; empty where no `request_id` may ask for it again. */
  firstReply = '';
  /** The number that the caller named, where the message goes out through another (`disconnectedSim`); else empty. */
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
  }

  /**
   * The only writer of `status`. Which steps there are is decided by `actors/message-machine.ts`; a restored message
   * repeats those that it took.
   */
  become(status: Status, atMs: number, failureReason?: string): void {
    assert(this.endedAtMs === 0, 'a message that has ended never changes');
    this.status = status;
    if (status === 'sending') this.sendingAtMs = atMs;
    else if (status === 'sent') this.sentAtMs = atMs;
    else {
      this.endedAtMs = atMs;
      if (status === 'failed') this.failureReason = failureReason;
    }
  }

  /** Repeats, on a message as it was accepted, the steps that it took. Throws where they do not lead to its status. */
  restore(past: MessagePast): void {
    const { status, sendingAtMs, sentAtMs, endedAtMs, failureReason } = past;
    if (sendingAtMs > 0) this.become('sending', sendingAtMs);
    if (sentAtMs > 0) this.become('sent', sentAtMs);
    if (endedAtMs > 0) this.become(status, endedAtMs, failureReason);
    this.duePoll = past.duePoll;
    const isReached =
      this.status === status && this.sentAtMs === sentAtMs && this.endedAtMs === endedAtMs;
    if (!isReached || this.failureReason !== failureReason) {
      throw new Error(`STATE-3 message ${this.messageId} is ${status}, its history ends otherwise`);
    }
  }

  /** When the status was last written. */
  get changedAtMs(): number {
    return this.endedAtMs || this.sentAtMs || this.sendingAtMs || this.createdAtMs;
  }

  isHeldAt(nowMs: number): boolean {
    return this.status === 'queued' && this.sendAtMs > nowMs;
  }
}

/** The Message body (RES-1). Written by hand: it is the hottest string of the product. */
export function messageBody(message: Message, status: string): string {
  return `{"status":"${status}","message_id":"${message.messageId}","request_id":${
    message.requestId === '' ? '""' : JSON.stringify(message.requestId)
  },"device_id":"${message.device.deviceId}","from_number":"${message.device.number}","to":"${
    message.to
  }","created_at":"${isoTime(message.createdAtMs)}"}`;
}

/** The status that a read shows; `heldStatus` names it while `send_at` holds. */
export function shownStatus(message: Message, nowMs: number, heldStatus: string): string {
  return message.isHeldAt(nowMs) ? heldStatus : message.status;
}

export interface HistoryEntry {
  readonly status: Status;
  readonly at: string;
}

/** Every status the message has had, with its time. */
export function messageHistory(message: Message): HistoryEntry[] {
  const history: HistoryEntry[] = [{ status: 'queued', at: isoTime(message.createdAtMs) }];
  if (message.sendingAtMs > 0)
    history.push({ status: 'sending', at: isoTime(message.sendingAtMs) });
  if (message.sentAtMs > 0) history.push({ status: 'sent', at: isoTime(message.sentAtMs) });
  if (message.endedAtMs > 0)
    history.push({ status: message.status, at: isoTime(message.endedAtMs) });
  return history;
}

const msPerMinute = 60_000;
const seconds = Array.from({ length: 60 }, (_, n) => `${String(n).padStart(2, '0')}.`);
const thousandths = Array.from({ length: 1_000 }, (_, n) => `${String(n).padStart(3, '0')}Z`);

let lastIsoMs = Number.NaN;
let lastIso = '';
let lastMinuteMs = Number.NaN;
/** Up to and with the colon before the seconds. */
let lastMinute = '';

/**
 * ISO 8601 UTC with milliseconds and a trailing Z (RES-4). `epochMs`: whole milliseconds. Many calls share a
 * millisecond and nearly all a minute, and `toISOString` is an eighth of a status read.
 */
export function isoTime(epochMs: number): string {
  if (epochMs === lastIsoMs) return lastIso;
  const ofMinute = epochMs - Math.floor(epochMs / msPerMinute) * msPerMinute;
  const minuteMs = epochMs - ofMinute;
  if (minuteMs !== lastMinuteMs) {
    lastMinute = new Date(minuteMs).toISOString().slice(0, -'00.000Z'.length);
    lastMinuteMs = minuteMs;
  }
  lastIsoMs = epochMs;
  lastIso = `${lastMinute}${seconds[Math.floor(ofMinute / 1_000)]}${thousandths[ofMinute % 1_000]}`;
  return lastIso;
}
