/**
 * The operations on assumptions: show the answers in force where the document is silent, and switch
 * them at run time. Assumes: any, by override.
 */
import { z } from 'zod';
import { assumptionNames, declarationOf } from '#contract/assumptions.ts';
import { assumptionsSchema, permittedAnswers } from '../../config/given-assumptions.ts';
import { type Assumptions, assumptionLedger } from '../../sim/assumptions.ts';
import { defineOperation } from '../define.ts';

/** The schema of a reply, which has every assumption. */
const inForceSchema = (assumptionsSchema as unknown as z.ZodType<Assumptions>).meta({
  id: 'Assumptions',
});

const ledgerEntrySchema = z
  .strictObject({
    name: z.string(),
    open: z.string().describe('What the document leaves open.'),
    default: z.union([z.string(), z.number(), z.array(z.string()), z.strictObject({})]),
    answers: z.array(z.string()).describe('The named answers, default first.'),
    permitted: z.string().describe('Every permitted answer, in words.'),
    meanings: z.record(z.string(), z.string()).describe('What each named answer does.'),
    why: z.string().describe('Why the default is the default.'),
    rules: z.array(z.string()).describe('The rules that leave it open.'),
  })
  .meta({ id: 'LedgerEntry' });
type LedgerEntry = Readonly<z.output<typeof ledgerEntrySchema>>;

export const assumptions = {
  get: defineOperation({
    http: 'GET /control/assumptions',
    fleet: { scope: 'local' },
    summary: 'The answers in force where the document is silent, by name.',
    output: inForceSchema,
    run: ({ simulation }) => simulation.world.assumptions,
  }),

  patch: defineOperation({
    http: 'PATCH /control/assumptions',
    summary: 'Switches assumptions for everything that happens from now on.',
    input: assumptionsSchema,
    output: inForceSchema,
    fleet: { joined: 'equal' },
    recordedResult: asFirstRecorded,
    examples: [{ errorBody: 'nested' }],
    run: ({ simulation }, overrides) => {
      simulation.assume(overrides);
      return simulation.world.assumptions;
    },
  }),

  ledger: defineOperation({
    http: 'GET /control/assumptions/ledger',
    fleet: { scope: 'local' },
    summary: 'Every gap of the document with its answers.',
    output: z.strictObject({ assumptions: z.array(ledgerEntrySchema) }),
    run: () =>
      assumptionNames.map((name) => {
        const { open, answers, default: answer } = assumptionLedger[name];
        const { answers: meanings, why, rules } = declarationOf(name);
        return {
          name,
          open,
          default: Array.isArray(answer) ? [...answer] : answer,
          answers: [...answers],
          permitted: permittedAnswers(name),
          meanings,
          why,
          rules: [...rules],
        } as LedgerEntry;
      }),
    reply: (ledger) => ({ assumptions: ledger }),
  }),
};

/** Assumptions that the first journals did not record. Add each new assumption here. */
export const laterAssumptions: readonly string[] = [
  'typeCoercion',
  'validationScope',
  'sendAtFormats',
  'pathIdForm',
  'replyTemplates',
  'messageRetention',
  'emptyBody',
  'pathCase',
  'headMethod',
  'keyCheck',
  'emptySendAt',
  'receivedQuery',
  'bearerSpace',
  'bearerCase',
  'taskPickup',
];

/**
 * Assumptions of the first journals that no longer exist, each with the answer that is now fixed. A
 * journal lists them right after the assumption that is their key here.
 */
const formerAssumptionsAfter: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  keyFormat: [
    ['dashboardSendShape', 'same_as_v1'],
    ['externalSendShape', 'same_as_v1'],
  ],
  tasksShape: [
    ['tasksAccess', 'owner'],
    ['statsShape', 'counts'],
  ],
};

/** The answers that the first journals recorded. A replay compares only these. */
function asFirstRecorded(answers: Assumptions): unknown {
  return Object.fromEntries(
    Object.entries(answers)
      .filter(([name]) => !laterAssumptions.includes(name))
      .flatMap((entry) => [entry, ...(formerAssumptionsAfter[entry[0]] ?? [])]),
  );
}
