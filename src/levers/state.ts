/**
 * What there is, in numbers.
 */
import { z } from 'zod';
import { type Status, statuses } from '../sim/message.ts';
import { clockStateSchema } from './clock.ts';

const countSchema = z.int().min(0);

export const stateSchema = z.strictObject({
  base_url: z.string().describe("The service's; empty while it listens nowhere."),
  clock: clockStateSchema,
  seed: countSchema,
  accounts: countSchema,
  sims: countSchema.describe('Those of the shared pool included.'),
  messages: z.strictObject({
    total: countSchema,
    ...(Object.fromEntries(statuses.map((status) => [status, countSchema])) as Record<
      Status,
      typeof countSchema
    >),
  }),
  actors: z.strictObject({
    running: countSchema,
    awake: countSchema.describe('SIMs that wait for a poll or a step of their own.'),
  }),
  timers: countSchema,
  requests: countSchema.describe('All since the start.'),
  faults: countSchema,
  memory: z.strictObject({ rss_bytes: countSchema, heap_used_bytes: countSchema }),
});
export type State = Readonly<z.output<typeof stateSchema>>;
