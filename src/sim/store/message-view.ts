/**
 * What users see of a message: its body on the wire, the status that a read shows, and its history.
 * Rules: RES-1 to RES-6. Assumes: heldStatus, messageRetention.
 */
import type { Status } from '#contract/message-status.ts';
import { dayMs, isoTime } from '#contract/time.ts';
import type { Assumptions } from '../assumptions.ts';
import type { CohortPast } from './cohort.ts';

/** The wire fields of a message, except its status. */
export interface WireFields {
  readonly messageId: string;
  readonly requestId: string;
  readonly device: { readonly deviceId: string; readonly number: string };
  readonly to: string;
  readonly createdAtMs: number;
}

/**
 * The Message body (RES-1). Concatenated by hand, because no other string is built as often. A
 * caller that has the id as text passes it: making that text costs more than the rest.
 */
export function messageBody(
  message: WireFields,
  status: string,
  messageId = message.messageId,
): string {
  const { requestId, device } = message;
  return `{"status":"${status}","message_id":"${messageId}","request_id":${
    requestId === '' ? '""' : JSON.stringify(requestId)
  },"device_id":"${device.deviceId}","from_number":"${device.number}","to":"${
    message.to
  }","created_at":"${isoTime(message.createdAtMs)}"}`;
}

/** The status that a read shows; `heldStatus` names it during a `send_at` hold. */
export function shownStatus(
  message: { readonly status: Status; isHeldAt(nowMs: number): boolean },
  nowMs: number,
  heldStatus: string,
): string {
  return message.isHeldAt(nowMs) ? heldStatus : message.status;
}

/**
 * True if a read finds the message: until `messageRetention` days after it became final. An
 * unfinished message is always found.
 */
export function isReadable(
  { endedAtMs }: { readonly endedAtMs: number },
  nowMs: number,
  { messageRetention }: Pick<Assumptions, 'messageRetention'>,
): boolean {
  if (messageRetention === 'forever' || endedAtMs === 0) return true;
  return nowMs - endedAtMs <= messageRetention * dayMs;
}

export interface HistoryEntry {
  readonly status: Status;
  /** ISO 8601 UTC. */
  readonly at: string;
}

/** Every status the message has had, with its time. */
export function messageHistory(
  message: CohortPast & Pick<WireFields, 'createdAtMs'>,
): HistoryEntry[] {
  const history: HistoryEntry[] = [{ status: 'queued', at: isoTime(message.createdAtMs) }];
  if (message.sendingAtMs > 0)
    history.push({ status: 'sending', at: isoTime(message.sendingAtMs) });
  if (message.sentAtMs > 0) history.push({ status: 'sent', at: isoTime(message.sentAtMs) });
  if (message.endedAtMs > 0)
    history.push({ status: message.status, at: isoTime(message.endedAtMs) });
  return history;
}
