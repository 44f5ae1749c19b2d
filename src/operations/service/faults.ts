/** The operations on faults, which are failures that a user injects: list, add, pause, remove. */
import { z } from 'zod';
import type { FaultSpec } from '#contract/fault-kinds.ts';
import { eachOf } from '#io/grouped.ts';
import { faultInputSchema, mostFaults } from '../../config/fault-schema.ts';
import type { Fault } from '../../http/service/fault.ts';
import { refuseMore } from '../../sim/errors.ts';
import { defineOperation } from '../define.ts';
import { accountIdOf } from '../running-world.ts';

const faultViewSchema = faultInputSchema
  .extend({
    fault_id: z.string(),
    seen: z.int().min(0).describe('Requests that it matched.'),
    hits: z.int().min(0).describe('Requests that it acted on.'),
    paused: z.boolean().describe('True: it neither counts requests nor acts on them.'),
  })
  .meta({ id: 'Fault' });
type FaultView = FaultSpec & Readonly<Omit<z.output<typeof faultViewSchema>, keyof FaultSpec>>;
const faultJoin = {
  ...eachOf(['fault_id', 'match', 'when', 'times', 'fault', 'paused'], 'equal'),
  seen: 'sum',
  hits: 'sum',
} as const;

export const faults = {
  list: defineOperation({
    http: 'GET /control/faults',
    summary: 'The faults in force, and how often each has acted.',
    output: z.strictObject({ faults: z.array(faultViewSchema) }),
    fleet: { joined: { faults: { by: 'fault_id', fields: faultJoin } } },
    run: ({ simulation }) => simulation.faults.list.map(faultView),
    reply: (faults) => ({ faults }),
  }),

  add: defineOperation({
    http: 'POST /control/faults',
    summary: 'Adds a fault.',
    status: 201,
    input: faultInputSchema,
    bodyLimitBytes: 1_048_576,
    output: faultViewSchema,
    fleet: { joined: faultJoin },
    // The first journals had no paused faults, and a new one is not paused.
    recordedResult: withoutPaused,
    refusals: [409],
    examples: [
      { when: { every: 2 }, fault: { kind: 'status', status: 503, body: { a: 1 } } },
      { when: { nth: [1] }, fault: { kind: 'delay', ms: 0 } },
    ],
    run: ({ simulation: { faults, world } }, { match, ...spec }) => {
      refuseMore(faults.list.length, mostFaults, 'faults');
      const { account_id: idOrName } = match;
      if (idOrName === undefined) return faultView(faults.add({ match, ...spec }));
      const account_id = accountIdOf(world, idOrName, 'match.account_id');
      return faultView(faults.add({ match: { ...match, account_id }, ...spec }));
    },
  }),

  patch: defineOperation({
    http: 'PATCH /control/faults/{fault_id}',
    fleet: { scope: 'all', joined: faultJoin },
    summary: 'Pauses a fault, or lets it go on.',
    input: z.strictObject({ paused: z.boolean() }),
    output: faultViewSchema,
    examples: [{ paused: true }],
    run: (_, fault, { paused }) => faultView(Object.assign(fault, { isPaused: paused })),
  }),

  clear: defineOperation({
    http: 'DELETE /control/faults',
    summary: 'Removes all faults.',
    run: ({ simulation }) => simulation.faults.clear(),
  }),

  remove: defineOperation({
    http: 'DELETE /control/faults/{fault_id}',
    fleet: { scope: 'all' },
    summary: 'Removes one fault.',
    run: ({ simulation }, { faultId }) => void simulation.faults.remove(faultId),
  }),
};

function withoutPaused({ paused: _, ...view }: FaultView) {
  return view;
}

function faultView({ faultId, spec, seen, hits, isPaused }: Fault): FaultView {
  return { fault_id: faultId, ...spec, seen, hits, paused: isPaused };
}
