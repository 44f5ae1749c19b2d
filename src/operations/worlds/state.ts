/** The state of a world in numbers: its clock, and counts of what it holds. */
import { z } from 'zod';
import { endpointNames } from '#contract/limits.ts';
import { statuses } from '#contract/message-status.ts';
import { eachOf } from '#io/grouped.ts';
import { maxMessagesSchema } from '../../config/settings.ts';
import { defaultMaxMessages } from '../../sim/store/retention.ts';
import { statusCounts } from '../events/activity-events.ts';
import type { RunningWorld } from '../running-world.ts';
import { clockJoin, clockState, clockStateSchema } from '../views.ts';

const countSchema = z.int().min(0);

export const stateSchema = z
  .strictObject({
    base_url: z.string().describe('The URL of the service; empty while it does not listen.'),
    clock: clockStateSchema,
    seed: countSchema,
    accounts: countSchema,
    sims: countSchema.describe('Includes numbers of the shared pool.'),
    messages: z.strictObject({
      total: countSchema.describe('All accepted messages, including forgotten ones.'),
      ...eachOf(statuses, countSchema),
    }),
    actors: z.strictObject({
      running: countSchema,
      awake: countSchema.describe('SIMs that wait for a poll or a timed step.'),
    }),
    timers: countSchema,
    retention: z.strictObject({
      max_messages: maxMessagesSchema.describe(
        'Messages that are held, as `--max-messages` says. The default has room for more that are unfinished.',
      ),
      held: countSchema,
      forgotten_messages: countSchema.describe('All since the start.'),
      forgotten_request_ids: countSchema.describe('Forgotten when younger than 24 h.'),
    }),
    requests: countSchema.describe('All since the start.'),
    throttled: countSchema.describe('Requests answered 429, since the start.'),
    faults: countSchema,
    memory: z.strictObject({ rss_bytes: countSchema, heap_used_bytes: countSchema }),
  })
  .meta({ id: 'State' });
type State = Readonly<z.output<typeof stateSchema>>;

export const stateJoin = {
  base_url: 'computed',
  clock: clockJoin,
  messages: eachOf(['total', ...statuses], 'sum'),
  actors: { running: 'equal', awake: 'sum' },
  retention: eachOf(['max_messages', 'held', 'forgotten_messages', 'forgotten_request_ids'], 'sum'),
  memory: { rss_bytes: 'sum', heap_used_bytes: 'sum' },
  ...eachOf(['seed', 'accounts', 'sims', 'faults'], 'equal'),
  ...eachOf(['timers', 'requests', 'throttled'], 'sum'),
} as const;

export function stateOf(live: RunningWorld): State {
  const clock = clockState(live);
  const { world, deviceActors, faults } = live.simulation;
  const { retention } = world.messages;
  const { requests: requestCounts } = live.counts;
  const { rss, heapUsed } = process.memoryUsage();
  return {
    base_url: live.baseUrl,
    clock,
    seed: world.seed,
    accounts: world.accounts.size,
    sims: world.devices.size,
    messages: statusCounts(world),
    actors: { running: deviceActors.size, awake: deviceActors.awake },
    timers: clock.pending,
    retention: {
      max_messages: retention.maxMessages ?? defaultMaxMessages,
      held: world.messages.size,
      forgotten_messages: retention.forgottenMessages,
      forgotten_request_ids: retention.forgottenRequestIds,
    },
    requests: live.exchangeRecord.total,
    throttled: endpointNames.reduce((sum, each) => sum + requestCounts.count(each, 429), 0),
    faults: faults.list.length,
    memory: { rss_bytes: rss, heap_used_bytes: heapUsed },
  };
}
