/**
 * The operations that show the last requests of the service, search them, and count them over
 * simulated time for a plot.
 */
import { z } from 'zod';
import { endpointNames, keptRequests } from '#contract/limits.ts';
import { isoTime, secondMs } from '#contract/time.ts';
import { eachOf } from '#io/grouped.ts';
import { defineOperation } from '../define.ts';
import { limitSchema, ordinalSchema, timeSchema } from '../input-fields.ts';
import { accountIdOf, type RunningWorld } from '../running-world.ts';
import { harOf, harSchema } from './har.ts';
import { matcherOf, wordForms } from './request-search.ts';
import {
  detailOf,
  type RequestRow,
  requestDetailSchema,
  requestRowSchema,
  rowOf,
} from './request-views.ts';
import { surroundingFields, surroundingsOf } from './surroundings.ts';
import { traceOf, traceQuerySchema, traceSchema } from './trace.ts';

/** The widths that a bar may have, from a second to a day. Longer runs have bars of many days. */
const widthsMs = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400].map(
  (seconds) => seconds * secondMs,
);
const mostBars = 60;
/** Bars are added up to this number: a single bar would be as wide as the whole plot. */
const fewestBars = 12;
const mostFineBars = 3_600;

const countsQuerySchema = z.strictObject({
  account_id: z.string().exactOptional().describe('The id or the name of the account.'),
  endpoint: z.enum(endpointNames).exactOptional().describe('Counts this endpoint alone.'),
  bar_s: ordinalSchema(86_400)
    .exactOptional()
    .describe(
      `Seconds of a bar; then only the last ${mostFineBars.toLocaleString('en')} bars. Default: as few as show all.`,
    ),
});

const countSchema = z.int().min(0);

const requestCountsSchema = z
  .strictObject({
    width_ms: countSchema.describe('The length of a bar, in simulated time.'),
    from: timeSchema.describe('The start of the first bar.'),
    bars: z
      .array(z.strictObject({ count: countSchema, throttled: countSchema, spent: countSchema }))
      .describe(
        'All requests, those answered 429, and those that spent a token; bars without requests included.',
      ),
  })
  .meta({ id: 'RequestCounts' });

/** The width of bars that show this span of time. */
export function widthFor(spanMs: number): number {
  const narrow = widthsMs.find((width) => spanMs / width < mostBars);
  return narrow ?? secondMs * Math.ceil(spanMs / mostBars / secondMs);
}

export function requestCounts(
  { exchangeRecord, simulation: { clock, world } }: RunningWorld,
  { account_id: idOrName, endpoint, bar_s: barSeconds }: z.output<typeof countsQuerySchema>,
): z.output<typeof requestCountsSchema> {
  const accountId = idOrName === undefined ? undefined : accountIdOf(world, idOrName, 'account_id');
  const counted = [...exchangeRecord.seconds].filter(
    (second) =>
      (accountId === undefined || second.accountId === accountId) &&
      (endpoint === undefined || second.endpoint === endpoint),
  );
  const firstMs = counted[0]?.startMs ?? clock.now();
  const lastMs = counted.at(-1)?.startMs ?? firstMs;
  const spanMs = lastMs - firstMs + secondMs;
  const widthMs = barSeconds === undefined ? widthFor(spanMs) : barSeconds * secondMs;
  const lastBar = Math.floor(lastMs / widthMs);
  const firstBar = Math.max(
    Math.floor(firstMs / widthMs),
    barSeconds === undefined ? 0 : lastBar - mostFineBars + 1,
  );
  const barCount = Math.max(fewestBars, lastBar - firstBar + 1);
  const bars = Array.from({ length: barCount }, () => ({ count: 0, throttled: 0, spent: 0 }));
  for (const { startMs, count, throttled, spent } of counted) {
    const bar = bars[Math.floor(startMs / widthMs) - firstBar];
    if (bar === undefined) continue;
    bar.count += count;
    bar.throttled += throttled;
    bar.spent += spent;
  }
  return { width_ms: widthMs, from: isoTime(firstBar * widthMs), bars };
}

/** Tests for the marks of requests, by the name of the mark: the page shows how many have each. */
const countedMarks = {
  replay: matcherOf('is:replay'),
  lost: matcherOf('is:lost'),
  throttled: matcherOf('is:throttled'),
  faults: matcherOf('fault:any'),
  refused: matcherOf('status:4xx'),
};
const countedMarkNames = Object.keys(countedMarks) as (keyof typeof countedMarks)[];

const searchSchema = z
  .string()
  .max(500)
  .default('')
  .describe(
    `Words that all must match: ${wordForms}, or any part of the path or the bodies. A value with blanks is in double quotes.`,
  );

export const requests = {
  list: defineOperation({
    http: 'GET /control/requests',
    summary:
      'The last 1,000 requests to the service since the start or a reset, newest first, without keys.',
    input: z
      .strictObject({
        limit: limitSchema({ largest: keptRequests, fallback: keptRequests }),
        message_id: z
          .uuid()
          .exactOptional()
          .describe('Only requests whose reply was this message.'),
        search: searchSchema,
      })
      .prefault({}),
    output: z.strictObject({ requests: z.array(requestRowSchema) }),
    fleet: { joined: { requests: { all: ['number', 'repeats'], newest: 'at' } } },
    examples: [{ limit: 2 }, { search: 'status:4xx to:+12025550123' }, { search: 'is:lost' }],
    run: ({ exchangeRecord }, { limit, message_id: id = '', search }) => {
      const isMatch = matcherOf(id === '' ? search : `${search} message_id:${id}`);
      const views: RequestRow[] = [];
      for (const exchange of exchangeRecord.newest()) {
        if (views.length === limit) break;
        if (isMatch(exchange)) views.push(rowOf(exchange));
      }
      return views;
    },
    reply: (requests) => ({ requests }),
  }),

  found: defineOperation({
    http: 'GET /control/requests/found',
    summary: 'How many of the last 1,000 requests a search finds, and how many have each mark.',
    input: z.strictObject({ search: searchSchema }).prefault({}),
    output: z.strictObject({
      matched: countSchema.describe('Requests that the search finds.'),
      kept: countSchema.describe('All of the last requests.'),
      marks: z
        .strictObject(eachOf(countedMarkNames, countSchema))
        .describe(
          'How many of `kept` have each mark; `faults`: struck by one, `refused`: answered 4xx.',
        ),
    }),
    fleet: { joined: { matched: 'sum', kept: 'sum', marks: eachOf(countedMarkNames, 'sum') } },
    examples: [{ search: 'fault:any' }],
    run: ({ exchangeRecord }, { search }) => {
      const isMatch = matcherOf(search);
      const marks = eachOf<(typeof countedMarkNames)[number], number>(countedMarkNames, 0);
      let [matched, kept] = [0, 0];
      for (const exchange of exchangeRecord.newest()) {
        kept++;
        if (isMatch(exchange)) matched++;
        // Most requests have no mark: this saves the tests for them.
        const { status, faultKind, isLost } = exchange;
        if (status === 202 && faultKind === undefined && !isLost) continue;
        for (const name of countedMarkNames) if (countedMarks[name](exchange)) marks[name]++;
      }
      return { matched, kept, marks };
    },
  }),

  get: defineOperation({
    http: 'GET /control/requests/{number}',
    fleet: { scope: 'local' },
    summary:
      'One of the last 1,000 requests as sent over the wire, with its reply, and what surrounds it.',
    output: requestDetailSchema.extend(surroundingFields).meta({ id: 'RequestDetail' }),
    run: (live, exchange) => ({ ...detailOf(exchange), ...surroundingsOf(live, exchange) }),
  }),

  trace: defineOperation({
    http: 'GET /control/trace',
    fleet: { scope: 'named' },
    summary:
      'Everything that happened to one intent: its requests, faults, statuses, reads and findings, in order.',
    input: traceQuerySchema,
    output: traceSchema,
    examples: [{ number: 1 }],
    refusals: [404],
    slices: traceOf,
  }),

  counts: defineOperation({
    http: 'GET /control/requests/counts',
    summary:
      'Requests over simulated time, those answered 429 and those that spent a token, since the start or a reset.',
    input: countsQuerySchema.prefault({}),
    output: requestCountsSchema,
    fleet: { joined: 'bars' },
    examples: [{ endpoint: 'send' }],
    run: requestCounts,
  }),

  har: defineOperation({
    http: 'GET /control/har',
    summary: 'The last 1,000 requests as HAR 1.2, without keys. The referee also reads HAR files.',
    output: harSchema,
    fleet: {
      joined: {
        log: {
          ...eachOf(['version', 'creator'], 'equal'),
          entries: { all: ['_number', '_smstwin.repeats'], oldest: 'startedDateTime' },
        },
      },
    },
    run: ({ exchangeRecord, baseUrl }) =>
      harOf([...exchangeRecord.newest()].reverse(), baseUrl || 'http://localhost'),
  }),
};
