/**
 * The operations that show the last requests of the service. They search them by words such as
 * `to:+12025550164 status:429`, and count them over simulated time for a bar chart.
 */

import { z } from 'zod';
import { endpointNames } from '#contract/limits.ts';
import { isoTime, secondMs } from '#contract/time.ts';
import { eachOf } from '../../config/each-of.ts';
import { keptRequests } from '../../recording/exchange-record.ts';
import type { RecordedExchange } from '../../recording/recorded-exchange.ts';
import { defineOperation } from '../define.ts';
import { accountIdOf, limitSchema, timeSchema } from '../query.ts';
import type { RunningWorld } from '../running-world.ts';
import { harOf, harSchema } from './har.ts';
import {
  detailOf,
  fieldOf,
  type RequestView,
  requestDetailSchema,
  requestViewSchema,
  shortText,
  viewOf,
} from './request-views.ts';
import { traceOf, traceQuerySchema, traceSchema } from './trace.ts';

/** The widths that a bar may have, from a second to a day. Longer runs have bars of many days. */
const widthsMs = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 21_600, 86_400].map(
  (seconds) => seconds * secondMs,
);
const mostBars = 60;
/** Bars are added up to this number: a single bar would be as wide as the whole plot. */
const fewestBars = 12;

export const countsQuerySchema = z.strictObject({
  account_id: z.string().exactOptional().describe('Its id or its name.'),
  endpoint: z.enum(endpointNames).exactOptional().describe('Counts this endpoint alone.'),
});

const countSchema = z.int().min(0);

export const requestCountsSchema = z
  .strictObject({
    width_ms: countSchema.describe('The length of a bar, in simulated time.'),
    from: timeSchema.describe('The start of the first bar.'),
    bars: z
      .array(z.strictObject({ count: countSchema, throttled: countSchema }))
      .describe('All requests, and those answered 429; bars without requests included.'),
  })
  .meta({ id: 'RequestCounts' });

/** The width of bars for requests of this time. */
export function widthFor(spanMs: number): number {
  const narrow = widthsMs.find((width) => spanMs / width < mostBars);
  return narrow ?? secondMs * Math.ceil(spanMs / mostBars / secondMs);
}

export function requestCounts(
  { exchangeRecord, simulation: { clock, world } }: RunningWorld,
  { account_id: idOrName, endpoint }: z.output<typeof countsQuerySchema>,
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
  const widthMs = widthFor(spanMs);
  const firstBar = Math.floor(firstMs / widthMs);
  const barCount = Math.max(fewestBars, Math.floor(lastMs / widthMs) - firstBar + 1);
  const bars = Array.from({ length: barCount }, () => ({ count: 0, throttled: 0 }));
  for (const { startMs, count, throttled } of counted) {
    const bar = bars[Math.floor(startMs / widthMs) - firstBar];
    if (bar === undefined) continue;
    bar.count += count;
    bar.throttled += throttled;
  }
  return { width_ms: widthMs, from: isoTime(firstBar * widthMs), bars };
}

type Test = (exchange: RecordedExchange) => boolean;

/** Makes the test for the value of a named word. */
const testsByName: Readonly<Record<string, (value: string) => Test>> = {
  to: (value) => (exchange) => fieldOf(exchange.body, 'to') === value,
  /** `429`, or `4xx` for all statuses from 400 to 499. */
  status: (value) => {
    const digits = value.replace(/x+$/i, '');
    return ({ status }) => String(status).startsWith(digits) && value.length === 3;
  },
  request_id: (value) => (exchange) => fieldOf(exchange.body, 'request_id') === value,
  /** The id of a key, or the beginning of its text, as far as the record shows that. */
  key:
    (value) =>
    ({ keyId, shownKey }) =>
      keyId === value || (keyId !== undefined && value !== '' && shownKey.startsWith(value)),
  account:
    (value) =>
    ({ accountId, accountName }) =>
      accountId === value || accountName === value,
  endpoint: (value) => (exchange) => exchange.endpoint === value,
  /** At or after a simulated time. */
  since: (value) => testOfTime(value, (atMs, limitMs) => atMs >= limitMs),
  /** Before a simulated time. */
  until: (value) => testOfTime(value, (atMs, limitMs) => atMs < limitMs),
  /** Searches the text of the reply: parsing a thousand bodies would take long. */
  message_id:
    (value) =>
    ({ status, reply }) =>
      status < 400 && reply?.includes(`"message_id":"${value}"`) === true,
};

function testOfTime(time: string, isMatch: (atMs: number, limitMs: number) => boolean): Test {
  const limitMs = Date.parse(time);
  return ({ atMs }) => isMatch(atMs, limitMs);
}

/** The names that words of a search can have. */
export const searchWords = Object.keys(testsByName);

/** Returns a test that is true for an exchange that every word of the search matches. */
export function matcherOf(search: string): Test {
  const tests = search.split(/\s+/).flatMap((word) => (word === '' ? [] : [testOf(word)]));
  return (exchange) => tests.every((matches) => matches(exchange));
}

function testOf(word: string): Test {
  const [, name = '', value = ''] = /^(\w+):(.*)$/.exec(word) ?? [];
  const makeTest = Object.hasOwn(testsByName, name) ? testsByName[name] : undefined;
  return makeTest?.(value) ?? containing(word.toLowerCase());
}

function containing(text: string): Test {
  return ({ path, query, body, reply }) =>
    [path, query, shortText(body), shortText(reply)].some((part) =>
      part?.toLowerCase().includes(text),
    );
}

/** `to:…`, `status:…`, and so on. */
const wordForms = searchWords.map((word) => `\`${word}:…\``).join(', ');

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
        search: z
          .string()
          .max(500)
          .default('')
          .describe(
            `Words that all must match: ${wordForms}, or any part of the path or the bodies.`,
          ),
      })
      .prefault({}),
    output: z.strictObject({ requests: z.array(requestViewSchema) }),
    fleet: { joined: { requests: { all: 'number', newest: 'at' } } },
    examples: [{ limit: 2 }, { search: 'status:4xx to:+12025550123' }],
    run: ({ exchangeRecord }, { limit, message_id: id = '', search }) => {
      const isMatch = matcherOf(id === '' ? search : `${search} message_id:${id}`);
      const views: RequestView[] = [];
      for (const exchange of exchangeRecord.newest()) {
        if (views.length === limit) break;
        if (isMatch(exchange)) views.push(viewOf(exchange));
      }
      return views;
    },
    reply: (requests) => ({ requests }),
  }),

  get: defineOperation({
    http: 'GET /control/requests/{number}',
    fleet: { scope: 'local' },
    summary: 'One of the last 1,000 requests as sent over the wire, with its reply.',
    output: requestDetailSchema,
    run: (_, exchange) => detailOf(exchange),
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
    summary: 'Requests over simulated time, and those answered 429, since the start or a reset.',
    input: countsQuerySchema.prefault({}),
    output: requestCountsSchema,
    fleet: { joined: 'bars' },
    examples: [{ endpoint: 'send' }],
    run: requestCounts,
  }),

  har: defineOperation({
    http: 'GET /control/har',
    summary: 'The last 1,000 requests as HAR 1.2, without keys; the referee reads it, too.',
    output: harSchema,
    fleet: {
      joined: {
        log: {
          ...eachOf(['version', 'creator'], 'equal'),
          entries: { all: '_number', oldest: 'startedDateTime' },
        },
      },
    },
    run: ({ exchangeRecord, baseUrl }) =>
      harOf([...exchangeRecord.newest()].reverse(), baseUrl || 'http://localhost'),
  }),
};
