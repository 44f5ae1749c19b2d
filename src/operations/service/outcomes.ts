/** The operations on the scripted fates of messages, by recipient. Rules: STATE-3, STATE-4. */
import { z } from 'zod';
import { outcomeSchema, type WorldFixture } from '../../config/world-schema.ts';
import { mostOutcomes, scriptedOutcomes } from '../../sim/devices/outcomes.ts';
import { defineOperation } from '../define.ts';
import type { RunningWorld } from '../running-world.ts';

const outcomesSchema = z.strictObject({
  outcomes: z
    .array(outcomeSchema.meta({ id: 'Outcome', title: 'Fate' }))
    .max(mostOutcomes)
    .describe('The first one that matches a recipient applies.'),
});

export const outcomes = {
  get: defineOperation({
    http: 'GET /control/outcomes',
    fleet: { scope: 'local' },
    summary: 'The scripted fates, by recipient.',
    output: outcomesSchema,
    run: inForce,
  }),

  put: defineOperation({
    http: 'PUT /control/outcomes',
    summary:
      'Replaces the scripted fates. The fixed recipients stay; the given fates take precedence.',
    input: outcomesSchema,
    bodyLimitBytes: 4 * 1_048_576,
    output: outcomesSchema,
    // The first journals had no recipients that are refused: a replay compares only the others.
    recordedResult: withoutRefusals,
    fleet: { joined: 'equal' },
    examples: [
      { outcomes: [{ to: '+1202555012*', ends: 'failed', in: 'sent', polls: 2 }] },
      { outcomes: [{ to: '+1202555016*', ends: 'stuck', in: 'sending' }] },
      { outcomes: [{ to: '+*', ends: 'delivered' }] },
    ],
    run: (live, { outcomes }) => {
      const named = new Set(outcomes.map(({ to }) => to));
      const fixed = scriptedOutcomes.filter(({ to }) => !named.has(to));
      live.simulation.world.outcomes.replace([...outcomes, ...fixed]);
      return inForce(live);
    },
  }),

  hits: defineOperation({
    http: 'GET /control/outcomes/hits',
    summary: 'The number of messages to the recipients of each scripted fate.',
    output: z.strictObject({
      hits: z
        .array(z.int().min(0))
        .describe('Messages to its recipients, for each outcome in order.'),
    }),
    fleet: { joined: { hits: 'sum' } },
    run: ({ simulation: { world } }) => {
      const { outcomes, messages } = world;
      const hits = outcomes.list.map(() => 0);
      const indexByRecipient = new Map<string, number>();
      for (const { to } of messages.values()) {
        const index = indexByRecipient.get(to) ?? outcomes.indexFor(to);
        indexByRecipient.set(to, index);
        if (index >= 0) hits[index] = (hits[index] ?? 0) + 1;
      }
      return { hits };
    },
  }),
};

function inForce({ simulation }: RunningWorld) {
  // All of them were parsed by `outcomeSchema`.
  return { outcomes: simulation.world.outcomes.list as WorldFixture['outcomes'] };
}

function withoutRefusals({ outcomes: all }: Pick<WorldFixture, 'outcomes'>) {
  return { outcomes: all.filter(({ ends }) => ends !== 'refused') };
}
