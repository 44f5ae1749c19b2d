/**
 * The full record of a message: the service's seven fields, and fields that the document does not
 * show. Assumes: heldStatus.
 */
import { z } from 'zod';
import { endpointNames } from '#contract/limits.ts';
import { statuses } from '#contract/message-status.ts';
import { isoTime } from '#contract/time.ts';
import type { Message } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import { segmentText } from '../../sim/sends/segments.ts';
import { messageBody, messageHistory, shownStatus } from '../../sim/store/message-view.ts';
import { timeSchema } from '../query.ts';

/** RES-1: the fields that the service shows. */
const serviceFields = z.strictObject({
  status: z.string(),
  message_id: z.uuid(),
  request_id: z.string(),
  device_id: z.uuid(),
  from_number: z.string(),
  to: z.string(),
  created_at: timeSchema,
});

export const messageRecordSchema = serviceFields
  .extend({
    account_id: z.uuid(),
    endpoint: z.enum(endpointNames),
    message: z.string(),
    segments: z.int().min(1),
    encoding: z.enum(['GSM-7', 'UCS-2']),
    send_at: timeSchema.nullable(),
    history: z.array(z.strictObject({ status: z.enum(statuses), at: timeSchema })),
    failure_reason: z.string().nullable(),
  })
  .meta({ id: 'Message' });
export type MessageRecord = Readonly<z.output<typeof messageRecordSchema>>;

export function messageRecord(world: Registry, message: Message): MessageRecord {
  const status = shownStatus(message, world.now(), world.assumptions.heldStatus);
  return {
    ...(JSON.parse(messageBody(message, status)) as z.output<typeof serviceFields>),
    account_id: message.account.accountId,
    endpoint: message.endpoint,
    message: message.text,
    ...segmentText(message.text),
    send_at: message.sendAtMs > 0 ? isoTime(message.sendAtMs) : null,
    history: messageHistory(message),
    failure_reason: message.failureReason ?? null,
  };
}
