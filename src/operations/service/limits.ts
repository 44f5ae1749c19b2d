/** The operations on rate limits, which can be changed at run time. Rules: LIMIT-1 to LIMIT-6. */
import { z } from 'zod';
import { endpointNames } from '#contract/limits.ts';
import { isoTime } from '#contract/time.ts';
import { eachOf } from '#io/grouped.ts';
import { limitOverridesSchema } from '../../config/world-schema.ts';
import { defineOperation } from '../define.ts';
import { timeSchema } from '../input-fields.ts';

const limitSchema = z.int().min(1).nullable();
const limitsSchema = z.strictObject(eachOf(endpointNames, limitSchema)).meta({ id: 'Limits' });

export const limits = {
  get: defineOperation({
    http: 'GET /control/limits',
    fleet: { scope: 'local' },
    summary: 'Requests per minute and endpoint; null for no limit.',
    output: limitsSchema,
    run: ({ simulation }) => simulation.limiter.limits,
  }),

  patch: defineOperation({
    http: 'PATCH /control/limits',
    summary: 'Changes limits; a changed one starts with full buckets.',
    input: limitOverridesSchema,
    output: limitsSchema,
    fleet: { joined: 'equal' },
    examples: [{ read: 60, send: null }, { send: 1 }, { send: 120 }],
    run: ({ simulation: { limiter } }, limits) => {
      for (const endpoint of endpointNames) {
        const limit = limits[endpoint];
        if (limit !== undefined) limiter.setLimit(endpoint, limit);
      }
      return limiter.limits;
    },
  }),

  reset: defineOperation({
    http: 'POST /control/limits/reset',
    summary: 'Fills every bucket.',
    output: z.strictObject({ status: z.literal('ok') }),
    fleet: { joined: 'equal' },
    run: ({ simulation }) => simulation.limiter.reset(),
    reply: () => ({ status: 'ok' }),
  }),

  buckets: defineOperation({
    http: 'GET /control/limits/buckets',
    summary: 'How many requests each account could still make now, for each limited endpoint.',
    output: z.strictObject({
      buckets: z.array(
        z
          .strictObject({
            account_id: z.uuid(),
            endpoint: z.enum(endpointNames),
            limit: z.int().min(1),
            available: z.int().min(0).describe('Requests that would pass now.'),
            next_at: timeSchema.nullable().describe('When the next one passes; null: now.'),
          })
          .meta({ id: 'Bucket' }),
      ),
    }),
    fleet: { joined: { buckets: { by: 'account_id' } } },
    run: ({ simulation: { clock, limiter, world } }) =>
      [...world.accounts.keys()].flatMap((account_id) =>
        endpointNames.flatMap((endpoint) => {
          const limit = limiter.limits[endpoint];
          const available = limiter.available(endpoint, account_id);
          if (limit === null || available === null) return [];
          const waitMs = limiter.waitMs(endpoint, account_id);
          const next_at = waitMs === 0 ? null : isoTime(clock.now() + waitMs);
          return [{ account_id, endpoint, limit, available, next_at }];
        }),
      ),
    reply: (buckets) => ({ buckets }),
  }),
};
