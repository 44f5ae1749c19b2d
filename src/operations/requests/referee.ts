/**
 * The operations on the referee, which judges the client by its requests so far: get its report,
 * and start it anew. Rules: CLIENT-1 to CLIENT-17.
 */
import { z } from 'zod';
import { clientRules } from '#contract/rules.ts';
import { atOnce } from '#io/event-loop.ts';
import { eachOf } from '#io/grouped.ts';
import { latestByIntent, reportedIntentSchema } from '#judging/client/intents-file.ts';
import { defaultGraceMs } from '#judging/client/record.ts';
import { detailsOf, reportJson } from '#judging/client/report-json.ts';
import { OperationRefused } from '../../sim/errors.ts';
import { defineOperation } from '../define.ts';
import { durationMs, largestInQuery, ordinalSchema, timeSchema } from '../input-fields.ts';
import { findAccount, type RunningWorld } from '../running-world.ts';
import { keptReportOn, quietMs } from './kept-reports.ts';

/** A flag: a boolean in JavaScript and in a body, text in a query. */
const flagSchema = z
  .union([z.boolean(), z.enum(['true', 'false'])], { error: 'expected true or false' })
  .default(false);

const querySchema = z.strictObject({
  account: z.string().exactOptional().describe('Judges this account alone, by name or id.'),
  partial: flagSchema.describe(
    'The client has not finished: what depends on what did not come yet is not judged.',
  ),
  strict: flagSchema.describe('Advice counts as failure.'),
  grace: z
    .union([z.string(), z.number()])
    .exactOptional()
    .describe(
      'Requests within this time after a 429 count as already in flight (CLIENT-2); `"1s"`.',
    ),
  details: flagSchema.describe('Adds the exchanges and the intents that they were grouped into.'),
  most: ordinalSchema(largestInQuery)
    .exactOptional()
    .describe('The most findings of each rule; `found` then says how many there are.'),
  recent: flagSchema.describe(
    'Also accepts an earlier report, so that asking again and again costs little: a report on all of 10,000 requests is made every 20 s while more come.',
  ),
});

const inputSchema = querySchema.prefault({});
const withIntentsSchema = querySchema
  .extend({
    intents: z
      .array(reportedIntentSchema)
      .max(10_000)
      .default([])
      .describe('What the client meant to send and what it reported, as in an intents file.'),
  })
  .prefault({});

const numberSchema = z.int().min(1);
const exchangeSchema = z
  .strictObject({
    number: numberSchema,
    at: timeSchema,
    answered_at: timeSchema.describe('When the reply left.'),
    seen: z.boolean().describe('False: a fault cut or garbled the reply, or the client had gone.'),
    account_id: z.string().nullable(),
    account: z.string().nullable(),
    endpoint: z.string().nullable(),
    method: z.string(),
    path: z.string().describe('With its query, without keys.'),
    request_id: z.string().nullable(),
    status: z.int(),
    retry_after: z.string().nullable(),
    retry_after_ms: z.number().nullable().describe('The wait of `retry_after`, in simulated time.'),
    message_id: z.string().nullable(),
    message_status: z.string().nullable(),
  })
  .meta({ id: 'RefereeExchange' });

const intentSchema = z
  .strictObject({
    account_id: z.string().nullable(),
    endpoint: z.string().nullable(),
    to: z.string().nullable(),
    request_id: z.string().nullable(),
    attributable: z.boolean(),
    accepted: z.int().describe('How many messages the service made of it.'),
    exchanges: z.array(numberSchema).describe('The attempts, in order.'),
  })
  .meta({ id: 'RefereeIntent' });

const findingSchema = z
  .strictObject({
    account_id: z.string().nullable(),
    endpoint: z.string().nullable(),
    what: z.string(),
    exchanges: z.array(numberSchema).describe('Their numbers in the list of requests.'),
    to: z.string().nullable().describe('The recipient of its first request.'),
    text: z.string().nullable().describe('The first characters of its message.'),
  })
  .meta({ id: 'RefereeFinding' });

const ruleSchema = z
  .strictObject({
    id: z.enum(clientRules.map(({ id }) => id)),
    level: z.enum(['must', 'should']),
    verdict: z.enum(['passed', 'failed', 'advice', 'not_exercised']),
    exercised: z.int().describe('How often it could have been broken.'),
    found: z.int().exactOptional().describe('How many findings there are, with `most`.'),
    findings: z.array(findingSchema),
  })
  .meta({ id: 'RefereeRule' });

export const reportJsonSchema = z
  .strictObject({
    rules: z.array(ruleSchema),
    notices: z
      .array(z.strictObject({ what: z.string(), exchanges: z.array(numberSchema) }))
      .describe('What breaks no rule but must be heard: why not all was judged, a broken replay.'),
    intents: z
      .strictObject({ accepted: z.int(), refused: z.int(), open: z.int() })
      .describe('How many intents were accepted, refused for good, and left open.'),
    unattributable: z.int(),
    exchanges: z.int(),
    again_in_ms: z
      .int()
      .exactOptional()
      .describe('With `recent`, if requests came since: when to ask again.'),
    details: z
      .strictObject({ exchanges: z.array(exchangeSchema), intents: z.array(intentSchema) })
      .exactOptional(),
  })
  .meta({ id: 'RefereeReport' });
export type RefereeReportJson = Readonly<z.output<typeof reportJsonSchema>>;

/** How a wide world joins the reports of its shards. */
const ruleJoin = {
  ...eachOf(['id', 'level'], 'equal'),
  verdict: 'verdict',
  ...eachOf(['exercised', 'found'], 'sum'),
  findings: { all: ['exchanges'], upTo: 'most' },
} as const;
const reportJoin = {
  notices: { all: ['exchanges'] },
  intents: eachOf(['accepted', 'refused', 'open'], 'sum'),
  ...eachOf(['unattributable', 'exchanges'], 'sum'),
  // Each shard that names a time names the same one.
  again_in_ms: 'equal',
  rules: { by: 'id', fields: ruleJoin },
  details: { exchanges: { all: ['number'], oldest: 'at' }, intents: { all: ['exchanges'] } },
} as const;

export const referee = {
  report: defineOperation({
    http: 'GET /control/referee',
    summary: 'Judges the client by the requests so far: a verdict for each client rule.',
    input: inputSchema,
    output: reportJsonSchema,
    fleet: { joined: reportJoin },
    examples: [{ partial: 'true' }, { grace: '2s', details: 'true' }],
    slices: (live, input) => slicesOf(live, { ...input, intents: [] }),
  }),

  judge: defineOperation({
    http: 'POST /control/referee',
    summary: 'Judges the client, with what it meant to send and what it reported.',
    input: withIntentsSchema,
    output: reportJsonSchema,
    fleet: { joined: reportJoin },
    bodyLimitBytes: 4 * 1_048_576,
    recorded: false,
    examples: [
      {
        partial: true,
        intents: [
          {
            intent: 'order-17',
            to: '+12025550123',
            from: '+12025550101',
            message: 'Hello',
            reported: 'accepted',
          },
        ],
      },
    ],
    slices: slicesOf,
  }),

  restart: defineOperation({
    http: 'DELETE /control/referee',
    summary: 'Forgets the requests so far: the next report begins here.',
    run: ({ exchangeRecord }): void => exchangeRecord.restart(),
  }),
};

function isOn(flag: boolean | 'true' | 'false'): boolean {
  return flag === true || flag === 'true';
}

/** A record of fewer exchanges is judged at once, so its report is answered in order. */
const shortRecord = 1_000;

function* slicesOf(
  live: RunningWorld,
  input: z.output<typeof withIntentsSchema>,
): Generator<undefined, RefereeReportJson> {
  const work = reportOn(live, input);
  return live.exchangeRecord.first.length < shortRecord ? atOnce(work) : yield* work;
}

function* reportOn(
  live: RunningWorld,
  input: z.output<typeof withIntentsSchema>,
): Generator<undefined, RefereeReportJson> {
  const { account, partial, strict, grace = defaultGraceMs, details, intents, most } = input;
  const judged = account === undefined ? undefined : findAccount(live.simulation.world, account);
  if (account !== undefined && judged === undefined) {
    const message = `there is no account ${JSON.stringify(account)}`;
    throw new OperationRefused('invalid', message, 'account');
  }
  const options = {
    isPartial: isOn(partial),
    isStrict: isOn(strict),
    graceMs: durationMs(grace, 'grace'),
    accounts: judged && [judged.accountId],
    reports: intents.length > 0 ? latestByIntent(intents) : undefined,
  };
  const acceptsRecent = isOn(input.recent);
  const kept = yield* keptReportOn(live, options, acceptsRecent);
  const { report, changes } = kept;
  kept.json ??= reportJson(report);
  const isOutdated = acceptsRecent && changes !== live.exchangeRecord.changes;
  return {
    ...kept.json,
    ...(most !== undefined && { rules: kept.json.rules.map((rule) => shortened(rule, most)) }),
    ...(isOutdated && { again_in_ms: quietMs }),
    ...(isOn(details) && { details: detailsOf(report) }),
  };
}

type RuleJson = RefereeReportJson['rules'][number];

function shortened({ findings, ...rule }: RuleJson, most: number): RuleJson {
  return { ...rule, found: findings.length, findings: findings.slice(0, most) };
}
