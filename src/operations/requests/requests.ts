/** The operations that show the last requests of the service. */
import { z } from 'zod';
import { eachOf } from '../../config/each-of.ts';
import { keptRequests } from '../../recording/exchange-record.ts';
import { defineOperation } from '../define.ts';
import { limitSchema } from '../query.ts';
import { harOf, harSchema } from './har.ts';
import { countsQuerySchema, requestCounts, requestCountsSchema } from './request-counts.ts';
import { matcherOf, searchWords } from './request-search.ts';
import {
  detailOf,
  type RequestView,
  requestDetailSchema,
  requestViewSchema,
  viewOf,
} from './request-views.ts';
import { traceOf, traceQuerySchema, traceSchema } from './trace.ts';

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
    joined: { requests: { all: 'number', newest: 'at' } },
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
    scope: 'local',
    summary: 'One of the last 1,000 requests as sent over the wire, with its reply.',
    output: requestDetailSchema,
    run: (_, exchange) => detailOf(exchange),
  }),

  trace: defineOperation({
    http: 'GET /control/trace',
    ofShard: true,
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
    joined: 'bars',
    examples: [{ endpoint: 'send' }],
    run: requestCounts,
  }),

  har: defineOperation({
    http: 'GET /control/har',
    summary: 'The last 1,000 requests as HAR 1.2, without keys; the referee reads it, too.',
    output: harSchema,
    joined: {
      log: {
        ...eachOf(['version', 'creator'], 'equal'),
        entries: { all: '_number', oldest: 'startedDateTime' },
      },
    },
    run: ({ exchangeRecord, baseUrl }) =>
      harOf([...exchangeRecord.newest()].reverse(), baseUrl || 'http://localhost'),
  }),
};
