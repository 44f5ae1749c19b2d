/**
 * The operation that streams events over HTTP. In JavaScript, `sim.activity.listen` reports the
 * same events, each `request` instead of the summary `traffic`.
 */
import { z } from 'zod';
import { OperationRefused } from '../../sim/errors.ts';
import { defineOperation, WholeReply } from '../define.ts';
import { durationMs } from '../input-fields.ts';
import {
  type ActivityEvent,
  defaultKinds,
  type EventKind,
  eventsQuerySchema,
} from './activity-events.ts';
import { keptEvents, mostEventsPerSecond } from './event-streams.ts';

export const events = {
  stream: defineOperation({
    http: 'GET /control/events',
    fleet: { scope: 'merged' },
    summary: `Server-sent events: ${defaultKinds.join(', ')}, and \`messages\`, \`request\` and \`operation\` if asked for.`,
    description: `Above ${mostEventsPerSecond} events a second, the stream carries \`behind\` (read again; at most twice a second) instead. \`Last-Event-ID\` resumes, up to ${keptEvents} events back; further back it starts with \`behind\`.`,
    input: eventsQuerySchema,
    contentType: 'text/event-stream',
    output: z.string(),
    refusals: [409],
    examples: [{ kinds: 'message,request', every: '1', pause: '500ms' }],
    run: ({ activity }, { kinds, every, pause }) => ({
      activity,
      pauseMs: pause === undefined ? undefined : durationMs(pause, 'pause'),
      kinds: kinds?.split(',') as EventKind[] | undefined,
      every: every === '1',
    }),
    reply: ({ activity, kinds, every, pauseMs }, _, headers) => {
      const lastSeenId = readLastEventId(headers['last-event-id']);
      activity.checkStreams();
      return new WholeReply({
        status: 200,
        pauseMs,
        open: (send, onEnd) =>
          activity.openStream(
            ({ kind, data, id }: ActivityEvent) => void send(kind, data, String(id)),
            { ...(kinds !== undefined && { kinds }), every, pauseMs, lastSeenId, onEnd },
          ),
      });
    },
  }),
};

function readLastEventId(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new OperationRefused('invalid', 'expected the id of an event', 'Last-Event-ID');
}
