/**
 * The operations that show the last requests of the service.
 */
import { z } from 'zod';
import { defineOperation } from './define.ts';
import { limitSchema } from './query.ts';
import { keptRequests, requestDetailSchema, requestViewSchema } from './request-log.ts';

export const requests = {
  list: defineOperation({
    name: 'requests.list',
    http: 'GET /control/requests',
    summary:
      'The last 1,000 requests to the service since the start or a reset, newest first, without keys.',
    input: z
      .strictObject({
        limit: limitSchema(keptRequests, keptRequests),
        message_id: z
          .uuid()
          .exactOptional()
          .describe('Only requests whose reply was this message.'),
      })
      .prefault({}),
    output: z.strictObject({ requests: z.array(requestViewSchema) }),
    examples: [{ limit: 2 }],
    run: ({ requestLog }, { limit, message_id: messageId }) => requestLog.newest(limit, messageId),
    reply: (requests) => ({ requests }),
  }),

  get: defineOperation({
    name: 'requests.get',
    http: 'GET /control/requests/{number}',
    summary: 'One of the last 1,000 requests as sent over the wire, with its reply.',
    output: requestDetailSchema,
    run: (_, request) => request,
  }),
};
