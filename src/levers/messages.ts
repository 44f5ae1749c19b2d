/**
 * Messages beyond what the service shows of them.
 */
import { LeverError } from '../sim/lever-error.ts';
import {
  type HistoryEntry,
  isoTime,
  type Message,
  messageBody,
  messageHistory,
  shownStatus,
} from '../sim/message.ts';
import { segmentText } from '../sim/segments.ts';
import type { Live } from './live.ts';

/** The full record: the seven fields of the service, and what the document does not show. */
export interface MessageRecord {
  readonly status: string;
  readonly message_id: string;
  readonly request_id: string;
  readonly device_id: string;
  readonly from_number: string;
  readonly to: string;
  readonly created_at: string;
  readonly account_id: string;
  readonly endpoint: string;
  readonly message: string;
  readonly segments: number;
  readonly encoding: 'GSM-7' | 'UCS-2';
  readonly send_at: string | null;
  readonly history: readonly HistoryEntry[];
  readonly failure_reason: string | null;
}

export class MessageLevers {
  readonly #live: Live;

  constructor(live: Live) {
    this.#live = live;
  }

  get(messageId: string): MessageRecord {
    return this.#record(this.#find(messageId));
  }

  #find(messageId: string): Message {
    const message = this.#live.simulation.world.messages.get(messageId);
    if (message === undefined)
      throw new LeverError('not_found', `no message has the id ${messageId}`);
    return message;
  }

  #record(message: Message): MessageRecord {
    const { world } = this.#live.simulation;
    const status = shownStatus(message, world.now(), world.assumptions.heldStatus);
    return {
      ...(JSON.parse(messageBody(message, status)) as Pick<MessageRecord, WireField>),
      account_id: message.account.accountId,
      endpoint: message.endpoint,
      message: message.text,
      ...segmentText(message.text),
      send_at: message.sendAtMs > 0 ? isoTime(message.sendAtMs) : null,
      history: messageHistory(message),
      failure_reason: message.failureReason ?? null,
    };
  }
}

type WireField =
  | 'status'
  | 'message_id'
  | 'request_id'
  | 'device_id'
  | 'from_number'
  | 'to'
  | 'created_at';
