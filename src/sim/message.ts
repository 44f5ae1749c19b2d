/**
 * The seven wire fields of a message and its history.
 * Rules: RES-1 to RES-6. Assumes: heldStatus.
 */
import { isoTime } from './iso-time.ts';
import type { Message } from './records.ts';
import type { Status } from './status.ts';

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
