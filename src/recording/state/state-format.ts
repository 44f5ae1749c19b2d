/**
 * The format of a saved state: a head, then messages and the work of devices in parts. A checkpoint
 * is a head and parts, one after another; a snapshot is the same in one JSON object. Times are
 * epoch milliseconds. Keys are stored as digests, so a snapshot grants no access, and clients that
 * hold the keys can still call. Objects are named by their index in the head's lists.
 */
import { z } from 'zod';
import { endpointNames, sendEndpoints } from '#contract/limits.ts';
import { statuses, unfinishedStatuses } from '#contract/message-status.ts';
import { eachOf } from '#io/grouped.ts';
import { faultInputSchema } from '../../config/fault-schema.ts';
import { assumptionsSchema } from '../../config/given-assumptions.ts';
import { allClockModes, largestRate } from '../../config/settings.ts';
import { numberSchema, outcomeSchema, pollingSchema } from '../../config/world-schema.ts';
import { latestTimeMs } from '../../sim/clock.ts';

export const stateFormat = 2;

const id = z.string().min(1).max(100);
const count = z.int().min(0);
const timeMs = z.int().min(1).max(latestTimeMs);
/** 0 means "never". */
const timeOrNever = z.int().min(0);
const int32 = z
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1);
const rngState = z.tuple([int32, int32, int32, int32]);
const endpoint = z.enum(endpointNames);
const ids = z.array(id);

const keySchema = z.strictObject({
  key_id: id,
  name: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  prefix: z.string(),
  created_at_ms: timeMs,
  revoked_at_ms: timeMs.nullable(),
});

const fateSchema = z.strictObject({
  ends: z.enum(['delivered', 'failed', 'stuck']),
  in: z.enum(unfinishedStatuses).nullable(),
  polls: z.int().min(1),
  unprompted: z.boolean().describe('Drawn by chance, not scripted.'),
});

/** A column of values that few messages have: pairs of a message's index and its value. */
const rare = <Value extends z.ZodType>(value: Value) => z.array(z.tuple([count, value]));

const messagesSchema = z
  .strictObject({
    message_id: z.array(id),
    account: z.array(count),
    device: z.array(count),
    key: z
      .array(count)
      .describe("The key's place among those of its account, from 1; 0: not known."),
    cohort: z.array(count),
    endpoint: z
      .array(count)
      .describe(`${sendEndpoints.map((name, index) => `${index}: ${name}`).join(', ')}.`),
    request_id: z.array(z.string()),
    to: z.array(numberSchema),
    text: z.array(z.string()),
    created_at_ms: z.array(timeMs),
    arrival: z.array(count).describe('The place among all messages that were ever accepted.'),
    send_at_ms: rare(z.int().min(1)),
    fate: rare(fateSchema),
    sender: rare(numberSchema).describe('The number asked for, if another one sends it.'),
  })
  .describe('One column for each field, in the order of acceptance.');
export const messageColumns = Object.keys(messagesSchema.shape);

const cohortSchema = z
  .strictObject({
    account: count,
    unbatched: z.boolean().describe('Holds the messages that wait in no batch.'),
    fate: fateSchema.nullable(),
    status: z.enum(statuses),
    sending_at_ms: timeOrNever,
    sent_at_ms: timeOrNever,
    ended_at_ms: timeOrNever,
    failure_reason: z.string().nullable(),
    /** The number of the device's first poll that may move them on. */
    due_poll: count,
    batch: count.nullable().describe('The batch in which they wait for polls.'),
  })
  .describe('Messages that take every step together.');

const batchSchema = z
  .strictObject({
    device: count,
    row: z.enum(['ready', 'in_flight', 'held']),
    ends_at_ms: timeOrNever.describe('When the hold ends.'),
    cohorts: z.array(count),
  })
  .describe('Messages that the next polls of a device handle together.');

const useSchema = z
  .strictObject({
    request_id: z.string(),
    key_id: id,
    endpoint,
    at_ms: timeMs,
    message_id: id.nullable(),
    refusal: z
      .looseObject({ kind: z.string() })
      .nullable()
      .optional()
      .describe('The refusal, if failedRequestId makes a refused id count.'),
  })
  .refine((use) => (use.message_id === null) !== ((use.refusal ?? null) === null), {
    error: 'a use led to a message or to a refusal',
  });

const receivedSchema = z.strictObject({
  message_id: id,
  device_id: id,
  from: z.string(),
  message: z.string(),
  received_at_ms: timeMs,
});

/** A time; the messages and segments sent since then; the failed messages and segments. */
const quotaRow = z.tuple([timeMs, count, count, count, count]);
const quotaSchema = z.strictObject({ month: quotaRow, days: z.array(quotaRow) });

const accountSchema = z.strictObject({
  account_id: id,
  name: z.string(),
  monthly_quota: z.union([count, z.literal('unlimited')]).nullable(),
  chance: z.strictObject({ ids: rngState, fates: rngState, paces: rngState }),
  keys: z.array(keySchema),
  received: z.array(receivedSchema),
  replays: z
    .array(useSchema)
    .describe('Uses in the replay window that no message shows by itself, oldest first.'),
  forgotten: z
    .strictObject({ delivered: count, failed: count })
    .describe('Messages forgotten to make room.'),
  quota: quotaSchema,
});

const deviceSchema = z.strictObject({
  device_id: id,
  number: numberSchema,
  account_id: id.nullable().describe('Null: a number of the shared pool.'),
  first_poll_at_ms: timeMs,
  connected: z.boolean(),
  active: z.boolean(),
  polling: pollingSchema,
  allowed: z.boolean(),
  removed: z.literal(true).optional().describe('Only its messages are left of it.'),
  poll_count: count,
});

/** Times, tokens or fractions of tokens; negative if refused requests count. */
const bucketNumber = z.int().min(-latestTimeMs).max(latestTimeMs);
const bucketsSchema = z.array(z.tuple([z.string(), z.array(bucketNumber)]));

const endpointLimiterSchema = z.strictObject({
  limit: z.int().min(1).nullable(),
  turned_at_ms: timeMs,
  recent: bucketsSchema,
  older: bucketsSchema,
});

// Not a record: some readers of OpenAPI want each required property to be listed.
const limiterSchema = z.strictObject(eachOf(endpointNames, endpointLimiterSchema));

const headSchema = z.strictObject({
  snapshot: z.literal(stateFormat),
  smstwin: z.string().describe('The version that made it.'),
  seed: count,
  clock: z.strictObject({
    now_ms: timeMs,
    mode: z.enum(allClockModes),
    rate: z.number().positive().max(largestRate),
  }),
  enforces_quotas: z.boolean(),
  assumptions: assumptionsSchema,
  outcomes: z.array(outcomeSchema),
  scripted_waits: z
    .array(z.tuple([z.string(), timeMs]))
    .default(() => [])
    .describe('Sends that wait after a scripted 429, each with the time of its first attempt.'),
  limiter: limiterSchema,
  faults: z.strictObject({
    created: count,
    list: z.array(
      z.strictObject({
        ordinal: count,
        spec: faultInputSchema,
        seen: count,
        hits: count,
        rng: rngState,
        paused: z.literal(true).exactOptional(),
      }),
    ),
  }),
  counters: z.strictObject({
    arrivals: count,
    pool_ids: rngState,
    names: z.array(z.tuple([z.string(), count])).describe('How often each account name was used.'),
  }),
  retention: z.strictObject({ forgotten_messages: count, forgotten_request_ids: count }),
  accounts: z.array(accountSchema),
  devices: z.array(deviceSchema).describe('In the order of their creation; then those removed.'),
  awake: ids.describe('Devices that wait for a timer, in the order in which ties fire.'),
  cohorts: z.array(cohortSchema),
  batches: z.array(batchSchema),
});

const arrivals = z.array(count);
/** What follows the head: each part of a checkpoint holds some of one of these lists. */
const partsSchema = z.strictObject({
  messages: messagesSchema,
  members: z
    .array(z.strictObject({ batch: count, arrivals }))
    .describe('The messages of batches, in order.'),
  held: z
    .array(z.strictObject({ device: count, arrivals }))
    .describe('Messages whose hold ends at a time of their own.'),
  paced: z
    .array(
      z.strictObject({ device: count, arrival: count, from: z.enum(statuses), due_at_ms: timeMs }),
    )
    .describe('Messages that take their next step at a time of their own.'),
});

export const snapshotSchema = headSchema.extend(partsSchema.shape);

export type StateHead = z.output<typeof headSchema>;
export type StatePart = Partial<z.output<typeof partsSchema>>;
export type Snapshot = z.output<typeof snapshotSchema>;
export type SavedMessages = z.output<typeof messagesSchema>;
export type SavedAccount = z.output<typeof accountSchema>;
export type SavedDevice = z.output<typeof deviceSchema>;
export type SavedCohort = z.output<typeof cohortSchema>;
export type SavedUse = z.output<typeof useSchema>;
export type SavedFate = z.output<typeof fateSchema>;
