/**
 * The bodies of successful replies, as schemas for the OpenAPI document.
 * Rules: RES-1 to RES-5, SEND-3, READ-1. Assumes: heldStatus, receivedShape, tasksShape,
 * replyTemplates.
 */
import { z } from 'zod';
import type { Assumptions } from '../sim/assumptions.ts';
import { e164 } from '../sim/phone-number.ts';
import type { AccountStats } from '../sim/read.ts';
import type { ReceivedPage } from '../sim/received.ts';
import { statuses } from '../sim/status.ts';
import type { Task } from '../sim/tasks.ts';

/** The schema of a reply whose wording is a template: any body. */
export const anyWording = z.unknown().describe('Worded by the assumption `replyTemplates`.');

const uuid = z.uuid();
const number = z.string().regex(e164);
const count = z.int().min(0);
/** RES-4: UTC with milliseconds and a trailing Z. */
const time = z.iso.datetime({ precision: 3 });

/** RES-1: exactly seven fields. */
function message(status: z.ZodType) {
  return z.strictObject({
    status,
    message_id: uuid.describe('Identifier used in the status path.'),
    request_id: z
      .string()
      .describe("The caller's idempotency key; empty when none was supplied (RES-3)."),
    device_id: uuid.describe('The SIM that the message is assigned to (RES-6).'),
    from_number: number.describe('Sender number, E.164.'),
    to: number.describe('Recipient number, E.164.'),
    created_at: time.describe('Creation time, ISO 8601 UTC with milliseconds (RES-4).'),
  });
}

const queuedMessage = message(z.literal('queued').describe('Always `queued` here (SEND-3).'));

function readMessage({ heldStatus }: Assumptions) {
  const shown = heldStatus === 'queued' ? statuses : [...statuses, heldStatus];
  return message(z.enum(shown).describe('The current status (RES-5).'));
}

const receivedPage = z.strictObject({
  count: count.describe('Messages on all pages.'),
  next: z.string().nullable().describe('Path and query of the next page; null on the last.'),
  previous: z
    .string()
    .nullable()
    .describe('Path and query of the previous page; null on the first.'),
  results: z
    .array(
      z.strictObject({
        message_id: uuid,
        device_id: uuid.describe('The SIM that received it.'),
        from_number: number,
        to: number,
        message: z.string(),
        received_at: time,
      }),
    )
    .describe('Newest first.'),
}) satisfies z.ZodType<ReceivedPage>;

const tasks = z.strictObject({
  tasks: z
    .array(
      z.strictObject({
        message_id: uuid,
        to: number,
        from_number: number,
        message: z.string(),
      }) satisfies z.ZodType<Task>,
    )
    .describe('Handing out a task is its pickup, so no task is handed out twice (STATE-2).'),
});

const accountStats = z.strictObject({
  messages: z.strictObject({
    queued: count,
    sending: count,
    sent: count,
    delivered: count,
    failed: count,
  }),
  quota: z.strictObject({
    used: count.describe('Messages counted in the current period.'),
    limit: count.nullable().describe('Null if unlimited.'),
  }),
  sims_connected: count,
  received: count.describe('Inbound messages.'),
}) satisfies z.ZodType<AccountStats>;

/** The schemas by their name in the document. */
export function replySchemas(assumptions: Assumptions) {
  const { receivedShape, tasksShape, replyTemplates } = assumptions;
  const page = receivedShape === 'page' ? receivedPage : receivedPage.shape.results;
  const work = tasksShape === 'tasks' ? tasks : tasks.shape.tasks;
  return {
    QueuedMessage: queuedMessage,
    Message: readMessage(assumptions),
    ReceivedMessages: replyTemplates.received === undefined ? page : anyWording,
    Tasks: replyTemplates.tasks === undefined ? work : anyWording,
    AccountStats: replyTemplates.stats === undefined ? accountStats : anyWording,
  } as const satisfies Record<string, z.ZodType>;
}

export type ReplyName = keyof ReturnType<typeof replySchemas>;
