/**
 * The format of a snapshot: a simulator's whole state as JSON. Times are epoch milliseconds. Keys
 * are stored as digests, so a snapshot grants no access, and clients that hold the keys can still
 * call.
 */
import { z } from 'zod';
import { faultInputSchema } from '../config/fault-schema.ts';
import { largestRate, shownClockModes } from '../config/settings.ts';
import {
  assumptionsSchema,
  numberSchema,
  outcomeSchema,
  pollingSchema,
} from '../config/world-schema.ts';
import { unfinishedStatuses } from '../sim/assumptions.ts';
import { latestTimeMs } from '../sim/clock.ts';
import { endpointNames } from '../sim/limits.ts';
import { statuses } from '../sim/status.ts';

export const snapshotFormat = 1;

const id = z.string().min(1).max(100);
const count = z.int().min(0);
const timeMs = z.int().min(1).max(latestTimeMs);
/** 0 means "never". */
const timeOrNever = z.int().min(0);
const word = z
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1);
const rngState = z.tuple([word, word, word, word]);
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

const messageSchema = z.strictObject({
  message_id: id,
  account_id: id,
  device_id: id,
  endpoint,
  request_id: z.string(),
  to: numberSchema,
  text: z.string(),
  created_at_ms: timeMs,
  send_at_ms: timeOrNever,
  fate: fateSchema.nullable(),
  arrival: count,
  status: z.enum(statuses),
  sending_at_ms: timeOrNever,
  sent_at_ms: timeOrNever,
  ended_at_ms: timeOrNever,
  failure_reason: z.string().nullable(),
  due_poll: count,
  sender: z
    .string()
    .default('')
    .describe('The number asked for, where it goes out through another.'),
});

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
      .describe('Where failedRequestId burns the id.'),
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

const quotaRow = z.tuple([timeMs, count, count, count, count]);
const quotaSchema = z.strictObject({ month: quotaRow, days: z.array(quotaRow) });

const accountSchema = z.strictObject({
  account_id: id,
  name: z.string(),
  monthly_quota: z.union([count, z.literal('unlimited')]).nullable(),
  chance: z.strictObject({ ids: rngState, fates: rngState, paces: rngState }),
  keys: z.array(keySchema),
  received: z.array(receivedSchema),
  replays: z.array(useSchema).describe('The replay window, oldest first.'),
  forgotten: z
    .strictObject({ delivered: count, failed: count, quota: quotaSchema })
    .exactOptional()
    .describe('Messages forgotten to make room, and the quota that they count for.'),
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
  held: ids,
  ready: ids,
  in_flight: ids,
  paced: z.array(z.strictObject({ message_id: id, from: z.enum(statuses), due_at_ms: timeMs })),
});

/** Times, tokens or fractions of tokens; negative if refused requests count. */
const bucketNumber = z.int().min(-latestTimeMs).max(latestTimeMs);
const bucketsSchema = z.array(z.tuple([z.string(), z.array(bucketNumber)]));

const limiterSchema = z.strictObject(
  Object.fromEntries(
    endpointNames.map((name) => [
      name,
      z.strictObject({
        limit: z.int().min(1).nullable(),
        turned_at_ms: timeMs,
        recent: bucketsSchema,
        older: bucketsSchema,
      }),
    ]),
  ),
) as unknown as z.ZodType<Readonly<Record<(typeof endpointNames)[number], EndpointBuckets>>>;

export interface EndpointBuckets {
  readonly limit: number | null;
  readonly turned_at_ms: number;
  readonly recent: readonly (readonly [string, readonly number[]])[];
  readonly older: readonly (readonly [string, readonly number[]])[];
}

export const snapshotSchema = z.strictObject({
  snapshot: z.literal(snapshotFormat),
  smstwin: z.string().describe('The version that made it.'),
  seed: count,
  clock: z.strictObject({
    now_ms: timeMs,
    mode: z.enum(shownClockModes),
    rate: z.number().positive().max(largestRate),
  }),
  enforces_quotas: z.boolean(),
  assumptions: assumptionsSchema,
  outcomes: z.array(outcomeSchema),
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
      }),
    ),
  }),
  counters: z.strictObject({
    arrivals: count,
    pool_ids: rngState,
    names: z.array(z.tuple([z.string(), count])).describe('How often each account name was used.'),
  }),
  retention: z
    .strictObject({ forgotten_messages: count, forgotten_request_ids: count })
    .exactOptional(),
  accounts: z.array(accountSchema),
  devices: z.array(deviceSchema).describe('In the order of their creation; then those removed.'),
  awake: ids.describe('Devices that wait for a timer, in the order in which ties fire.'),
  messages: z.array(messageSchema).describe('In the order of their acceptance.'),
});

export type Snapshot = z.output<typeof snapshotSchema>;
export type SnapshotMessage = z.output<typeof messageSchema>;
export type SnapshotAccount = z.output<typeof accountSchema>;
export type SnapshotDevice = z.output<typeof deviceSchema>;
export type SnapshotUse = z.output<typeof useSchema>;
