/**
 * What happens on the service, on the control port: the last requests, and events as they happen.
 */
import { z } from 'zod';
import { denseAbove, keptEvents } from '../../operations/activity.ts';
import {
  type ActivityEvent,
  defaultKinds,
  type EventKind,
  eventsQuerySchema,
} from '../../operations/activity-events.ts';
import { exchangeViewSchema } from '../../operations/exchange-view.ts';
import { type ExchangeInput, exchangeInputSchema } from '../../operations/exchanges.ts';
import { readInput } from '../../operations/input.ts';
import {
  requestDetailSchema,
  requestsQuerySchema,
  requestViewSchema,
} from '../../operations/requests.ts';
import { LeverError } from '../../sim/lever-error.ts';
import { type Route, WholeReply } from './route.ts';

export const activityRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/control/accounts/{account_id}/requests',
    summary: 'Makes a request of the service with a key of the account, and shows all but the key.',
    status: 200,
    body: exchangeInputSchema,
    bodyLimitBytes: 1_048_576,
    result: exchangeViewSchema,
    refusals: [409],
    run: ({ simulator, ids: [id = ''], body }) =>
      simulator.exchanges.perform(id, body as ExchangeInput),
  },
  {
    method: 'GET',
    path: '/control/requests',
    summary: 'The last 1,000 requests of the service, newest first. Never a key.',
    status: 200,
    query: requestsQuerySchema,
    result: z.strictObject({ requests: z.array(requestViewSchema) }),
    run: ({ simulator, query }) => ({ requests: simulator.requests.list(query) }),
  },
  {
    method: 'GET',
    path: '/control/requests/{number}',
    summary: 'One of the last 1,000 requests as it went over the wire, with its reply.',
    status: 200,
    result: requestDetailSchema,
    run: ({ simulator, ids: [number = ''] }) => simulator.requests.get(number),
  },
  {
    method: 'GET',
    path: '/control/events',
    summary: `Server-sent events: ${defaultKinds.join(', ')}, and \`request\` if asked for; above ${denseAbove} a second \`dense\` with their counts. \`Last-Event-ID\` resumes, up to ${keptEvents} events back; an event \`gap\` says how many are lost.`,
    status: 200,
    contentType: 'text/event-stream',
    query: eventsQuerySchema,
    refusals: [409],
    run: ({ simulator, query, headers }) => {
      const { kinds, every } = readInput(eventsQuerySchema, query);
      const options = {
        ...(kinds !== undefined && { kinds: kinds.split(',') as EventKind[] }),
        every: every === '1',
        lastSeenId: readLastEventId(headers['last-event-id']),
      };
      simulator.activity.checkStreams();
      return new WholeReply({
        status: 200,
        open: (send) =>
          simulator.activity.stream(
            ({ kind, data, id }: ActivityEvent) => void send(kind, data, String(id)),
            options,
          ),
      });
    },
  },
];

function readLastEventId(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new LeverError('invalid', 'expected the id of an event', 'Last-Event-ID');
}
