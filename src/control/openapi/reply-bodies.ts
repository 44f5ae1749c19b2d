/**
 * The bodies of successful replies in the service's OpenAPI document: a schema and an example of
 * each. The examples are one sequence in the default world, which `openapi-examples.test.ts`
 * repeats. Rules: SEND-3, READ-1, RES-1 to RES-6. Assumes: heldStatus, receivedShape, tasksShape,
 * requestIdMaxLength.
 */
import { z } from 'zod';
import type { EndpointName } from '#contract/limits.ts';
import { statuses } from '#contract/message-status.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { AccountStats, ReceivedPage, Task } from '../../sim/read.ts';
import { e164 } from '../../sim/sends/phone-number.ts';

interface Reply {
  /** The name of its schema among the components. */
  readonly name: string;
  readonly schema: z.ZodType;
  readonly example: unknown;
}

/** The reply of an endpoint that reports success. */
export function replyOf(endpoint: EndpointName, assumptions: Assumptions): Reply {
  const isReceivedPage = assumptions.receivedShape === 'page';
  const isTasksObject = assumptions.tasksShape === 'tasks';
  const queued = { ...queuedExample, request_id: exampleSendUnder(assumptions).request_id };
  switch (endpoint) {
    case 'send':
    case 'dashboard_send':
    case 'external_send':
      return { name: 'QueuedMessage', schema: messageSchema(queuedStatus), example: queued };
    case 'read':
      return {
        name: 'Message',
        schema: messageSchema(readStatus(assumptions)),
        example: { ...queued, status: 'delivered' },
      };
    case 'received':
      return {
        name: 'ReceivedMessages',
        schema: isReceivedPage ? receivedPageSchema : receivedPageSchema.shape.results,
        example: isReceivedPage ? receivedExample : receivedExample.results,
      };
    case 'tasks':
      return {
        name: 'Tasks',
        schema: isTasksObject ? tasksSchema : tasksSchema.shape.tasks,
        example: isTasksObject ? { tasks: tasksExample } : tasksExample,
      };
    case 'stats':
      return { name: 'AccountStats', schema: accountStatsSchema, example: statsExample };
  }
}

/** The first send of the sequence, with a `request_id` that is not too long. */
export function exampleSendUnder({ requestIdMaxLength }: Assumptions) {
  return { ...exampleSend, request_id: exampleSend.request_id.slice(0, requestIdMaxLength) };
}

/** The schema of a reply that a template words: any body. */
export const anyWording = z.unknown().describe('Worded by the assumption `replyTemplates`.');

const uuid = z.uuid();
const number = z.string().regex(e164);
const count = z.int().min(0);
/** RES-4: UTC with milliseconds and a trailing Z. */
const time = z.iso.datetime({ precision: 3 });

/** RES-1: exactly seven fields. */
function messageSchema(status: z.ZodType) {
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

const queuedStatus = z.literal('queued').describe('Always `queued` here (SEND-3).');

function readStatus({ heldStatus }: Assumptions) {
  const shownStatuses = heldStatus === 'queued' ? statuses : [...statuses, heldStatus];
  return z.enum(shownStatuses).describe('The current status (RES-5).');
}

const receivedPageSchema = z.strictObject({
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

const tasksSchema = z.strictObject({
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

const accountStatsSchema = z.strictObject({
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

export const exampleSend = {
  to: '+12025550123',
  from: '+12025550101',
  message: 'Your code is 4711.',
  request_id: 'order-1001',
} as const;

/** The second send of the sequence. */
export const exampleSendByAlias = {
  to: '+12025550123',
  from_number: '+12025550101',
  message: 'Your parcel is on its way.',
} as const;

const queuedExample = {
  status: 'queued',
  message_id: '5d7bc081-00bd-4af3-bd1d-9d90f7969ece',
  request_id: exampleSend.request_id,
  device_id: '1baa192d-d5a2-4236-8707-282206a81904',
  from_number: exampleSend.from,
  to: exampleSend.to,
  created_at: '2026-01-01T00:00:00.000Z',
} as const;

const receivedExample: ReceivedPage = {
  count: 1,
  next: null,
  previous: null,
  results: [
    {
      message_id: 'f32ea785-3ebf-4bcc-9f10-e95089f5ad04',
      device_id: queuedExample.device_id,
      from_number: exampleSend.to,
      to: exampleSend.from,
      message: 'Thank you!',
      received_at: '2026-01-01T00:05:00.000Z',
    },
  ],
};

const tasksExample: readonly Task[] = [
  {
    message_id: '075d0691-3444-4f89-a758-52cfffde389a',
    to: exampleSendByAlias.to,
    from_number: exampleSendByAlias.from_number,
    message: exampleSendByAlias.message,
  },
];

const statsExample: AccountStats = {
  messages: { queued: 0, sending: 1, sent: 0, delivered: 1, failed: 0 },
  quota: { used: 2, limit: 10_000 },
  sims_connected: 2,
  received: 1,
};
