/**
 * The schema of a fault, a failure that a user injects: which requests it affects, when, and how.
 * The control port, snapshots and the files of `record --faults` use it.
 */
import { z } from 'zod';
import {
  type FaultFields,
  type FaultKind,
  faultKindNames,
  faultKinds,
} from '#contract/fault-kinds.ts';
import { endpointNames } from '#contract/limits.ts';
import { recipientSchema } from './world-schema.ts';

/** The largest number of faults of one simulator, and of one file. */
export const mostFaults = 1_000;
/** The largest body of a fault's reply, in characters of JSON. */
export const longestFaultBody = 65_536;
/** The deepest nesting of that body: journals, snapshots and replies walk it recursively. */
export const deepestFaultBody = 100;
/** The largest number of headers in one match or reply. */
export const mostFaultHeaders = 20;
/** The longest value of such a header. */
export const longestFaultHeader = 1_000;

const ordinalSchema = z.int().min(1).max(1_000_000_000);

const whenSchema = z.union(
  [
    z
      .strictObject({
        nth: z.array(ordinalSchema).min(1).max(10_000).describe('Counted from 1, such as 1, 4.'),
      })
      .meta({ title: 'the n-th requests' }),
    z
      .strictObject({ every: ordinalSchema.describe('2: each second one.') })
      .meta({ title: 'every n-th request' }),
    z
      .strictObject({
        probability: z.number().min(0).max(1).describe('Drawn from the seed; 0 never, 1 always.'),
      })
      .meta({ title: 'with a probability' }),
  ],
  { error: 'expected one of {"nth":[1]}, {"every":2} and {"probability":0.5}' },
);

/** Headers that only the transport writes: they frame the reply and manage the connection. */
const transportHeaders = [
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** The record keeps the headers that a fault matches, so these are not matched. */
const secretHeaders = ['authorization', 'proxy-authorization', 'cookie'];

const headersRecord = z
  .record(
    z.string().regex(/^[A-Za-z][A-Za-z0-9-]{0,99}$/),
    // Printable ASCII without spaces at either end: a value cannot end its header line.
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
    const message = mistakeInNames(namesOf(headers));
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

function namesOf(headers: object): string[] {
  return Object.keys(headers).map((name) => name.toLowerCase());
}

function mistakeInNames(names: readonly string[]): string | undefined {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) return `${duplicate} is given twice`;
  if (names.length <= mostFaultHeaders) return undefined;
  return `expected at most ${mostFaultHeaders} headers`;
}

/** Refuses a member `__proto__`, which zod would drop from a record without a mistake. */
const headersSchema = z.preprocess((headers: z.input<typeof headersRecord>, context) => {
  if (Object.hasOwn(Object(headers), '__proto__'))
    context.addIssue({ code: 'custom', message: 'a header cannot be named __proto__' });
  return headers;
}, headersRecord);

function headersWithout(refused: readonly string[], why: (name: string) => string) {
  return headersSchema.superRefine((headers, context) => {
    const name = namesOf(headers).find((each) => refused.includes(each));
    if (name !== undefined) context.addIssue({ code: 'custom', message: why(name) });
  });
}

const fieldSchemas: Readonly<Record<string, z.ZodRawShape>> = {
  delay: {
    ms: z.int().min(0).max(600_000).describe('Real milliseconds before the reply is written.'),
  },
  status: {
    status: z.int().min(200).max(599),
    body: z
      .unknown()
      .optional()
      .refine(isFaultBody, {
        error: `expected JSON of at most ${longestFaultBody} characters and ${deepestFaultBody} levels`,
      })
      .describe('JSON, or a string that is sent unchanged.'),
    headers: headersWithout(transportHeaders, (name) => `the transport writes ${name} itself`)
      .exactOptional()
      .meta({
        title: 'Headers of the reply',
        description: 'Sent unchanged. A 429 without headers gets a correct Retry-After.',
      }),
  },
} satisfies { [K in keyof FaultFields]: Record<keyof FaultFields[K], z.ZodType> };

// The casts say what zod cannot derive from a mapped list: the type of each kind's row.
const kindSchema = z.discriminatedUnion(
  'kind',
  faultKindNames.map((kind) =>
    z
      .strictObject({ kind: z.literal(kind), ...fieldSchemas[kind] })
      .describe(faultKinds[kind].about),
  ) as never,
) as unknown as z.ZodType<FaultKind, FaultKind>;

export const faultInputSchema = z.strictObject({
  match: z
    .strictObject({
      endpoint: z.enum(endpointNames).exactOptional(),
      account_id: z.string().min(1).max(100).exactOptional().describe('Its id or its name.'),
      to: recipientSchema.exactOptional(),
      text: z.string().min(1).max(1_600).exactOptional().describe('A part of the message.'),
      headers: headersWithout(secretHeaders, (name) => `${name} holds a secret: match account_id`)
        .exactOptional()
        .meta({
          title: 'Headers of the request',
          description: 'By name, a part of the value; an empty text: any. The record keeps them.',
        }),
    })
    .meta({ id: 'FaultMatch', description: 'Which requests; without a field, all.' })
    .default({}),
  when: whenSchema.meta({ id: 'FaultTrigger', description: 'Which of the matching requests.' }),
  times: ordinalSchema.exactOptional().describe('The largest number of times that it acts.'),
  fault: kindSchema.meta({ id: 'FaultAction', description: 'What happens to the request.' }),
});
export type FaultInput = Readonly<z.input<typeof faultInputSchema>>;
export type FaultOutput = Readonly<z.output<typeof faultInputSchema>>;

/** True for a value that JSON can hold, and that is neither too long nor too deep. */
function isFaultBody(body: unknown): boolean {
  try {
    if ((JSON.stringify(body) ?? '').length > longestFaultBody) return false;
  } catch {
    // JSON cannot hold a cyclic value, or one that is deeper than the stack.
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
