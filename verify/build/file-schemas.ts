/**
 * The JSON Schemas that the package ships, for editors, generators and readers of our files in any
 * language. `npx vitest run verify/build/file-schemas.test.ts -u` writes them.
 */
import { z } from 'zod';
import type { RetryAfter, Statements, StopReason } from '#audit/audit.ts';
import { algorithmNames } from '#audit/statement.ts';
import { reportedIntentSchema } from '#judging/client/intents-file.ts';
import {
  endedEntrySchema,
  operationEntrySchema,
  requestEntrySchema,
} from '#judging/evidence/journal-entry.ts';
import { recordedLineSchema } from '#judging/evidence/recorded-line.ts';
import { worldSchema } from '#src/config/world-schema.ts';
import { reportJsonSchema } from '#src/operations/requests/referee.ts';
import { type ReadyFile, readyNumbersSchema } from '#src/operations/worlds/world-view.ts';
import { headerSchema } from '#src/recording/journal/journal-header.ts';

const readyFile = readyNumbersSchema.extend({
  base_url: z.string(),
  control_url: z.string().nullable().describe('Null: serve --no-control.'),
  pid: z.int(),
  seed: z.int(),
  tls_ca_file: z
    .string()
    .exactOptional()
    .describe('The certificate to trust; only of --tls self-signed.'),
}) satisfies z.ZodType<ReadyFile>;

const crc32 = z.int().exactOptional().describe('The CRC-32 of what precedes it; since format 2.');
const { reply } = requestEntrySchema.shape;
/** A reply that is a JSON object, since format 3. */
const plainReply = reply.omit({ body: true, delivery: true }).extend({ json: z.looseObject({}) });
const journalLine = z.union([
  z.strictObject({ ...headerSchema.shape, crc32 }).describe('The first line.'),
  requestEntrySchema.extend({ reply: z.union([plainReply, reply]), crc32 }),
  operationEntrySchema.extend({ crc32 }),
  operationEntrySchema
    .omit({ operation: true })
    .extend({ lever: z.string() })
    .describe('An operation in format 1.'),
  endedEntrySchema.extend({ crc32 }).describe('The end of a reply that was delayed or cut.'),
]);

const statementOf = (value: z.ZodType) =>
  z.strictObject({
    value: value.nullable().describe('Null: it is not known; if that is certain, there is none.'),
    certainty: z.enum(['certain', 'likely', 'undetermined']),
    sentence: z.string().describe('The answer in words, or why it is not known.'),
    exchanges: z.array(z.int().min(1)).describe('The numbers of the requests that show it.'),
  });
const number = statementOf(z.number());
const measured = number.extend({
  range: z
    .array(z.number())
    .length(2)
    .exactOptional()
    .describe('The least and the most that it can be.'),
});
const algorithms = Object.keys(algorithmNames);
const waits = ['exact', 'sufficient', 'short', 'absent', 'unreadable'] satisfies RetryAfter[];
const statements = z.strictObject({
  algorithm: statementOf(z.enum(algorithms)),
  limit: number,
  window_seconds: measured,
  burst: number,
  refill_per_second: measured,
  keyed_by: statementOf(z.array(z.string())),
  refusals_spend: statementOf(z.boolean()),
  errors_spend: statementOf(z.boolean()),
  retry_after: statementOf(z.enum(waits)),
  fields: statementOf(z.record(z.string(), z.union([z.literal(true), z.string()]))),
  at_once: statementOf(z.union([z.literal('exact'), z.int()])),
  most_in_a_window: number,
} satisfies Record<keyof Statements, z.ZodType>);
const auditReport = z.strictObject({
  url: z.string(),
  requests: z.int(),
  seconds: z.number(),
  stopped: z
    .enum(['budget', 'time', 'errors', 'not_reachable', 'interrupted'] satisfies StopReason[])
    .exactOptional()
    .describe('Why it ended before all was learned.'),
  statements,
  exchanges: z.array(
    z.strictObject({
      number: z.int(),
      sent_at_ms: z.number(),
      answered_at_ms: z.number(),
      status: z.int().describe('0: no whole reply came.'),
      caller: z.string(),
      path: z.string(),
      headers: z.record(z.string(), z.string()),
    }),
  ),
});

const shipped = {
  'world.schema.json': ['A world file of smstwin', worldSchema],
  'schemas/ready-file.schema.json': ['A ready file of smstwin', readyFile],
  'schemas/journal.schema.json': ['A line of a journal of smstwin', journalLine],
  'schemas/recording.schema.json': ['A line of a recording of smstwin', recordedLineSchema],
  'schemas/intents.schema.json': ['A line of an intents file of smstwin', reportedIntentSchema],
  'schemas/audit.schema.json': ['A report of an audit of smstwin', auditReport],
  'schemas/referee.schema.json': ['A report of the referee of smstwin', reportJsonSchema],
} as const satisfies Readonly<Record<string, readonly [title: string, schema: z.ZodType]>>;
export type SchemaFile = keyof typeof shipped;
export const schemaFiles = Object.keys(shipped) as SchemaFile[];

export function jsonSchema(file: SchemaFile): string {
  const [title, schema] = shipped[file];
  const json = z.toJSONSchema(schema, { io: 'input' });
  return `${JSON.stringify({ $schema: json.$schema, title, ...json }, null, 2)}\n`;
}
