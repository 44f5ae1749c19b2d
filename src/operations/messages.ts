/**
 * Messages beyond what the service shows of them: found, stepped and failed by hand.
 * Rules: STATE-1 to STATE-5. Assumes: failsFrom, heldStatus.
 */
import { z } from 'zod';
import { LeverError } from '../sim/lever-error.ts';
import { endpointNames } from '../sim/limits.ts';
import {
  isoTime,
  type Message,
  messageBody,
  messageHistory,
  shownStatus,
  statuses,
} from '../sim/message.ts';
import { segmentText } from '../sim/segments.ts';
import { timeSchema } from './duration.ts';
import { readInput } from './input.ts';
import type { Live } from './live.ts';
import { findMessages, type MessageQuery, querySchema } from './message-query.ts';
import type { Waited, WaitInput, Waits } from './wait.ts';

/** The full record: the seven fields of the service, and what the document does not show. */
export const messageRecordSchema = z.strictObject({
  status: z.string(),
  message_id: z.uuid(),
  request_id: z.string(),
  device_id: z.uuid(),
  from_number: z.string(),
  to: z.string(),
  created_at: timeSchema,
  account_id: z.uuid(),
  endpoint: z.enum(endpointNames),
  message: z.string(),
  segments: z.int().min(1),
  encoding: z.enum(['GSM-7', 'UCS-2']),
  send_at: timeSchema.nullable(),
  history: z.array(z.strictObject({ status: z.enum(statuses), at: timeSchema })),
  failure_reason: z.string().nullable(),
});
export const messagePageSchema = z.strictObject({
  messages: z.array(messageRecordSchema).describe('Newest first.'),
  next_cursor: z.string().nullable().describe('Null: there are no more.'),
});
export const failInputSchema = z.strictObject({
  reason: z.string().min(1).max(200).default('forced'),
});

export type MessageRecord = Readonly<z.output<typeof messageRecordSchema>>;
export type MessagePage = Readonly<z.output<typeof messagePageSchema>>;
export type FailInput = Readonly<z.input<typeof failInputSchema>>;

export class MessageLevers {
  readonly #live: Live;
  readonly #waits: Waits;

  constructor(live: Live, waits: Waits) {
    this.#live = live;
    this.#waits = waits;
  }

  get(messageId: string): MessageRecord {
    return messageRecord(this.#live, this.#find(messageId));
  }

  /** One page, newest first. */
  list(query: MessageQuery = {}): MessagePage {
    const { limit, cursor, search, ...match } = readInput(querySchema, query);
    const { world } = this.#live.simulation;
    const before = cursor === undefined ? undefined : Number(cursor);
    const { messages, hasMore } = findMessages(world, match, limit, before, search);
    const last = messages.at(-1);
    return {
      messages: messages.map((message) => messageRecord(this.#live, message)),
      next_cursor: hasMore && last !== undefined ? String(last.arrival) : null,
    };
  }

  /** Resolves when so many messages match, without polling; rejects with `timeout` otherwise. */
  wait(input: WaitInput = {}): Promise<Waited> {
    return this.#waits.wait(input);
  }

  /** As `wait` with `advance`, at once: moves simulated time until so many messages match. */
  advanceUntil(input: WaitInput = {}): Waited {
    return this.#waits.advance(input);
  }

  /** One legal step: queued, sending, sent, delivered. */
  progress(messageId: string): MessageRecord {
    return this.#live.change('messages.progress', [messageId], () => {
      const message = this.#find(messageId);
      const from = message.status;
      if (!this.#live.simulation.fleet.progress(message)) {
        throw new LeverError('conflict', `a message that is ${from} has no next step`);
      }
      return messageRecord(this.#live, message);
    });
  }

  fail(messageId: string, input: FailInput = {}): MessageRecord {
    return this.#live.change('messages.fail', [messageId, input], () => {
      const message = this.#find(messageId);
      const { reason } = readInput(failInputSchema, input);
      const from = message.status;
      if (!this.#live.simulation.fleet.fail(message, reason)) {
        throw new LeverError('conflict', `a message that is ${from} cannot fail`);
      }
      return messageRecord(this.#live, message);
    });
  }

  #find(messageId: string): Message {
    const message = this.#live.simulation.world.messages.get(messageId);
    if (message === undefined)
      throw new LeverError('not_found', `no message has the id ${messageId}`);
    return message;
  }
}

export function messageRecord({ simulation }: Live, message: Message): MessageRecord {
  const { world } = simulation;
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

type WireField =
  | 'status'
  | 'message_id'
  | 'request_id'
  | 'device_id'
  | 'from_number'
  | 'to'
  | 'created_at';
