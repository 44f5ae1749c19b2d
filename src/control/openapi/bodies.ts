/**
 * The bodies in the service's OpenAPI document: the schema of a send, and the schema and an example
 * of each successful reply. The fields of a send come from what validates it, which reads more
 * assumptions (`src/sim/sends/send-request.ts`). The examples are one sequence in the default
 * world, which `openapi-examples.test.ts` repeats. Rules: SEND-1 to SEND-4, SEND-6, SEND-7, READ-1,
 * RES-1 to RES-6. Assumes: bothSenderFields, unknownFields, nullFields, typeCoercion, emptySendAt,
 * heldStatus, receivedShape, tasksShape, requestIdMaxLength.
 */
import { z } from 'zod';
import { type EndpointName, messageMaxCharacters, replayWindowMs } from '#contract/limits.ts';
import { statuses } from '#contract/message-status.ts';
import { hourMs } from '#contract/time.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { AccountStats, ReceivedPage, Task } from '../../sim/read.ts';
import { e164 } from '../../sim/sends/phone-number.ts';
import { sendFields } from '../../sim/sends/send-request.ts';

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

/**
 * The schema of a send's body. The sender is `from` or its alias `from_number`: one schema for
 * each. It permits all valid bodies, and a few invalid ones: JSON Schema cannot express that two
 * fields are equal, which numbers exist, or that a time is in the future.
 */
export function sendBodySchema(assumptions: Assumptions): z.ZodType {
  const { bothSenderFields, unknownFields } = assumptions;
  const { to, sender } = sendFields(assumptions);
  const recipient = to.meta({ description: 'Recipient, E.164 (`numberCheck`).' });
  const from = sender.meta({
    description: 'Sender number, E.164 (`numberCheck`), of a SIM that the account can send from.',
  });
  // What one name of the sender may hold while the other one is given.
  const ignored = (by: string) => z.unknown().optional().describe(`Ignored if \`${by}\` is given.`);
  const aliasWithFrom = {
    from_wins: ignored('from'),
    alias_wins: absent(assumptions),
    reject: absent(assumptions),
    reject_if_different: orNull(from.optional(), assumptions).meta({
      description: 'The same as `from`.',
    }),
  }[bothSenderFields];
  const fromWithAlias =
    bothSenderFields === 'alias_wins' ? ignored('from_number') : absent(assumptions);

  const otherFields = fieldsBesidesNumbers(assumptions);
  const bodySchema = (title: string, senders: { from: z.ZodType; from_number: z.ZodType }) => {
    const fields = z.object({ to: recipient, ...senders, ...otherFields });
    return (unknownFields === 'reject' ? fields.strict() : fields).meta({ title });
  };
  return z.union([
    bodySchema('With from', { from, from_number: aliasWithFrom }),
    bodySchema('With its alias from_number', { from: fromWithAlias, from_number: from }),
  ]);
}

function fieldsBesidesNumbers(assumptions: Assumptions) {
  const { message, request_id, send_at } = sendFields(assumptions);
  const coerced = withCoercion(assumptions);
  return {
    message: coerced(message).meta({
      description: `Body text, at most ${messageMaxCharacters} characters (SEND-6, \`characterUnit\`, \`blankMessage\`).`,
    }),
    request_id: orNull(coerced(request_id), assumptions).meta({
      description:
        `The caller's idempotency key: a repeat within ${replayWindowMs / hourMs} hours returns ` +
        'the original message (SEND-4, `emptyRequestId`).',
    }),
    send_at: orNull(sendAtOrEmpty(send_at, assumptions), assumptions).meta({
      description:
        'Hold the message until this time, which must be in the future (`sendAtFormats`, ' +
        '`sendAtMaxAheadDays`). Default: send immediately (SEND-7).',
    }),
  };
}

/** Adds `null` if `nullFields` treats it as absent, also for the sender fields. */
function orNull(schema: z.ZodType, { nullFields }: Assumptions): z.ZodType {
  return nullFields === 'absent' ? schema.nullable() : schema;
}

/** Permits only that the field is absent, or null if that means the same. */
function absent({ nullFields }: Assumptions): z.ZodType {
  return nullFields === 'absent' ? z.null().optional() : z.never().optional();
}

function sendAtOrEmpty(schema: z.ZodType, { emptySendAt }: Assumptions): z.ZodType {
  return emptySendAt === 'reject' ? schema : z.union([schema, z.literal('')]).optional();
}

/**
 * Permits numbers and booleans in place of a text if they are converted. Not needed for `to`,
 * `from` and `send_at`, for which the converted text is invalid.
 */
function withCoercion({ typeCoercion }: Assumptions) {
  return (schema: z.ZodType): z.ZodType => {
    if (typeCoercion === 'reject') return schema;
    const converted = typeCoercion === 'coerce' ? [z.number(), z.boolean()] : [z.number()];
    return z.union([schema, ...converted]);
  };
}
