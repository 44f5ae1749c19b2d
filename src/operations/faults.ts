/**
 * Faults, set and taken away.
 */
import { z } from 'zod';
import { recipientSchema } from '../config/world-schema.ts';
import type { Fault, FaultSpec } from '../http/service/fault.ts';
import { LeverError } from '../sim/lever-error.ts';
import { endpointNames } from '../sim/limits.ts';
import { defineOperation } from './define.ts';
import { accountIdOf } from './query.ts';

/** Characters of the body that a fault answers, as JSON. */
export const longestFaultBody = 65_536;
/** Levels of objects and arrays in it: journals, snapshots and replies walk it by recursion. */
export const deepestFaultBody = 100;

const ordinalSchema = z.int().min(1).max(1_000_000_000);

const whenSchema = z.union(
  [
    z.strictObject({
      nth: z.array(ordinalSchema).min(1).max(10_000).describe('Counted from 1.'),
    }),
    z.strictObject({ every: ordinalSchema }),
    z.strictObject({
      probability: z.number().min(0).max(1).describe('Drawn from the seed; 0 never, 1 always.'),
    }),
  ],
  { error: 'expected one of {"nth":[1]}, {"every":2} and {"probability":0.5}' },
);

export const mostFaultHeaders = 20;
export const longestFaultHeader = 1_000;
/** What the transport writes itself: it frames the reply and keeps or ends the connection. */
const transportHeaders = [
  ...['connection', 'content-length', 'date', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
];

const headersSchema = z
  .record(
    z.string().regex(/^[A-Za-z][A-Za-z0-9-]{0,99}$/),
    // Printable ASCII without spaces at either end: nothing that could end the line.
    z
      .string()
      .max(longestFaultHeader)
      .regex(/^([!-~]([ -~]*[!-~])?)?$/, {
        error: 'expected a header value: printable ASCII without spaces around it',
      }),
    {
      error: ({ code }) =>
        code === 'invalid_key'
          ? 'expected a header name: at most 100 letters, digits and hyphens'
          : undefined,
    },
  )
  .superRefine((headers, context) => {
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    const own = names.find((name) => transportHeaders.includes(name));
    const twice = names.find((name, at) => names.indexOf(name) !== at);
    const message =
      own !== undefined
        ? `the transport writes ${own} itself`
        : twice !== undefined
          ? `${twice} is given twice`
          : names.length > mostFaultHeaders
            ? `expected at most ${mostFaultHeaders} headers`
            : undefined;
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

const kindSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('delay'),
    ms: z.int().min(0).max(600_000).describe('Real milliseconds before the reply is written.'),
  }),
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(200).max(599),
    body: z
      .unknown()
      .optional()
      .refine(isFaultBody, {
        error: `expected JSON of at most ${longestFaultBody} characters and ${deepestFaultBody} levels`,
      })
      .describe('JSON, or a string that is sent as it is.'),
    headers: headersSchema
      .exactOptional()
      .describe('Sent as they are. A 429 without body and headers gets those of a real one.'),
  }),
  z.strictObject({ kind: z.literal('refuse') }),
  z.strictObject({ kind: z.literal('lost_response') }),
  z.strictObject({ kind: z.literal('truncate') }),
  z.strictObject({ kind: z.literal('malformed') }),
]);

export const faultInputSchema = z.strictObject({
  match: z
    .strictObject({
      endpoint: z.enum(endpointNames).exactOptional(),
      account_id: z.string().min(1).max(100).exactOptional().describe('Its id or its name.'),
      to: recipientSchema.exactOptional(),
    })
    .default({}),
  when: whenSchema,
  times: ordinalSchema.exactOptional().describe('How often it acts at most.'),
  fault: kindSchema,
});
export type FaultInput = Readonly<z.input<typeof faultInputSchema>>;

export const faultViewSchema = faultInputSchema
  .extend({
    fault_id: z.string(),
    seen: z.int().min(0).describe('Requests that it matched.'),
    hits: z.int().min(0).describe('Requests that it acted on.'),
  })
  .meta({ id: 'Fault' });
export type FaultView = FaultSpec & {
  readonly fault_id: string;
  readonly seen: number;
  readonly hits: number;
};

export const mostFaults = 1_000;

export const faults = {
  list: defineOperation({
    name: 'faults.list',
    http: 'GET /control/faults',
    summary: 'The faults that are set, and how often each has acted.',
    output: z.strictObject({ faults: z.array(faultViewSchema) }),
    run: ({ simulation }) => simulation.faults.list.map(faultView),
    reply: (faults) => ({ faults }),
  }),

  add: defineOperation({
    name: 'faults.add',
    http: 'POST /control/faults',
    summary: 'Sets a fault.',
    status: 201,
    input: faultInputSchema,
    bodyLimitBytes: 1_048_576,
    output: faultViewSchema,
    refusals: [409],
    recorded: true,
    examples: [
      { when: { every: 2 }, fault: { kind: 'status', status: 503, body: { a: 1 } } },
      { when: { nth: [1] }, fault: { kind: 'delay', ms: 0 } },
    ],
    run: ({ simulation: { faults, world } }, { match, ...spec }) => {
      if (faults.list.length >= mostFaults) {
        throw new LeverError('conflict', `there are ${mostFaults} faults already`);
      }
      const { account_id: called } = match;
      if (called === undefined) return faultView(faults.add({ match, ...spec }));
      const account_id = accountIdOf(world, called, 'match.account_id');
      return faultView(faults.add({ match: { ...match, account_id }, ...spec }));
    },
  }),

  clear: defineOperation({
    name: 'faults.clear',
    http: 'DELETE /control/faults',
    summary: 'Removes all faults.',
    recorded: true,
    run: ({ simulation }) => simulation.faults.clear(),
  }),

  remove: defineOperation({
    name: 'faults.remove',
    http: 'DELETE /control/faults/{fault_id}',
    summary: 'Removes one fault.',
    recorded: true,
    run: ({ simulation }, { faultId }) => void simulation.faults.remove(faultId),
  }),
};

function faultView({ faultId, spec, seen, hits }: Fault): FaultView {
  return { fault_id: faultId, ...spec, seen, hits };
}

function isFaultBody(body: unknown): boolean {
  try {
    if ((JSON.stringify(body) ?? '').length > longestFaultBody) return false;
  } catch {
    // It holds itself, or is deeper than the stack.
    return false;
  }
  let level = [body].filter(isNested);
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > deepestFaultBody) return false;
    level = level.flatMap((value) => Object.values(value)).filter(isNested);
  }
  return true;
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
