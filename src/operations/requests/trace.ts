/**
 * Everything that happened to one *intent* (a message that the client means to send once), in the
 * order of simulated time: its requests and the faults that struck them, the statuses of its
 * message, the reads of it, and what the referee finds.
 */
import { z } from 'zod';
import { isoTime } from '#contract/time.ts';
import { type ClientExchange, messageIdIfAny } from '#judging/client/exchange.ts';
import type { RefereeReport } from '#judging/client/judge.ts';
import { defaultGraceMs } from '#judging/client/record.ts';
import { requestIdOf } from '#judging/evidence/exchange.ts';
import type { RecordedExchange } from '../../recording/recorded-exchange.ts';
import { OperationRefused } from '../../sim/errors.ts';
import { type HistoryEntry, messageHistory } from '../../sim/store/message-view.ts';
import { largestInQuery, ordinalSchema, timeSchema } from '../input-fields.ts';
import { find, type RunningWorld } from '../running-world.ts';
import { keptReportOn } from './kept-reports.ts';
import { exchangeViewSchema, faultOf } from './request-views.ts';
import { sameSendSchema, sendBefore } from './surroundings.ts';

export const traceQuerySchema = z.strictObject({
  number: ordinalSchema(largestInQuery)
    .exactOptional()
    .describe('The number of one of its requests.'),
  message_id: z.string().exactOptional().describe('Or its message.'),
});

const textOrNull = z.string().nullable();

/** The kinds, in the order in which they are shown if they happen at the same instant. */
const traceKinds = ['request', 'retry', 'replay', 'read', 'status', 'finding'] as const;

const eventSchema = z
  .strictObject({
    at: timeSchema,
    kind: z.enum(traceKinds).describe('`replay`: answered as the first use of its request_id was.'),
    number: z.int().nullable().describe('The number of the request.'),
    reply: z.int().nullable().describe('The status of its reply.'),
    seen: z.boolean().describe('False: the client did not get the reply.'),
    fault: exchangeViewSchema.shape.fault,
    retry_after_ms: z.number().nullable().describe('In simulated time.'),
    text: textOrNull.describe('The status of the message, or what the referee finds.'),
  })
  .meta({ id: 'TraceEvent' });
type Event = z.output<typeof eventSchema>;

export const traceSchema = z
  .strictObject({
    account: textOrNull,
    what: textOrNull.describe('Method and path of its requests.'),
    to: textOrNull,
    request_id: textOrNull,
    message_id: textOrNull,
    before: sameSendSchema.describe('The same send before it, if that one failed.'),
    events: z.array(eventSchema),
    omitted: z.int().describe('Requests that are not shown.'),
  })
  .meta({ id: 'Trace' });
type Trace = z.output<typeof traceSchema>;

/** The largest number of sends in a trace, and of reads. */
const mostRequests = 100;

export function* traceOf(
  live: RunningWorld,
  { number, message_id: idInQuery }: z.output<typeof traceQuerySchema>,
): Generator<undefined, Trace> {
  const { exchangeRecord, simulation } = live;
  const { messages } = simulation.world;
  if ((number === undefined) === (idInQuery === undefined))
    throw new OperationRefused('invalid', 'expected number or message_id', 'number');
  const tracedId =
    idInQuery === undefined ? undefined : find('message_id', live, idInQuery).messageId;
  const options = { isPartial: true, isStrict: false, graceMs: defaultGraceMs };
  const { report } = yield* keptReportOn(live, options);
  const { traced, messageId, attempts, reads } = exchangesOfIntent(report, number, tracedId);
  if (traced === undefined && tracedId === undefined)
    throw new OperationRefused('not_found', `the record has no request ${number}`);
  const message = messageId === undefined ? undefined : messages.get(messageId);
  const shownAttempts = closestTo(traced, attempts);
  const shownReads = closestTo(reads[0], reads);
  const recordedFirst = exchangeRecord.first;
  const recordedOf = (exchange: ClientExchange) =>
    recordedFirst[exchange.number - (recordedFirst[0]?.number ?? 0)];
  const events = [
    ...[...shownAttempts, ...shownReads].map((exchange) =>
      requestEvent(exchange, recordedOf(exchange), attempts[0]),
    ),
    ...(message === undefined ? [] : messageHistory(message).map(statusEvent)),
    ...findingEvents(report, new Set([...shownAttempts, ...shownReads])),
  ];
  const to = traced?.fields?.['to'];
  return {
    account: message?.account.name ?? traced?.caller.accountName ?? null,
    what: traced === undefined ? null : `${traced.method} ${traced.target}`,
    to: message?.to ?? (typeof to === 'string' ? to : null),
    request_id: message?.requestId || ((traced && requestIdOf(traced)) ?? null),
    message_id: messageId ?? null,
    before: sendBefore(live, attempts[0] && recordedOf(attempts[0])),
    events: events.sort(byTimeThenKind),
    omitted: attempts.length - shownAttempts.length,
  };
}

/**
 * The exchanges of one intent. `traced`: the exchange with this number, or the first that answered
 * with the message. `attempts`: the sends of its intent; for a request of no intent, such as a
 * read, all requests of its caller with the same method and path. `reads`: those of the message.
 */
export function exchangesOfIntent(
  { exchanges, intents }: RefereeReport,
  number: number | undefined,
  tracedId: string | undefined,
) {
  const isTraced = (exchange: ClientExchange) =>
    tracedId === undefined
      ? exchange.number === number
      : messageIdIfAny(exchange) === tracedId && exchange.endpoint !== 'read';
  const traced = exchanges.find(isTraced);
  const isSimilar = ({ caller, method, target }: ClientExchange) =>
    caller.name === traced?.caller.name && method === traced.method && target === traced.target;
  const intent = traced && intents.all.find(({ attempts }) => attempts.includes(traced));
  const attempts = intent?.attempts ?? exchanges.filter(isSimilar);
  const messageId = tracedId ?? attempts.map(messageIdIfAny).find((id) => id !== undefined);
  const isRead = ({ endpoint, target }: ClientExchange) =>
    endpoint === 'read' && messageId !== undefined && target.includes(messageId);
  const reads = traced?.endpoint === 'read' ? [] : exchanges.filter(isRead);
  return { traced, messageId, attempts, reads };
}

/** The exchanges around `center`, `mostRequests` at most. */
function closestTo(
  center: ClientExchange | undefined,
  exchanges: readonly ClientExchange[],
): readonly ClientExchange[] {
  const index = center === undefined ? 0 : exchanges.indexOf(center);
  const first = Math.min(index - mostRequests / 2, exchanges.length - mostRequests);
  return exchanges.slice(Math.max(0, first)).slice(0, mostRequests);
}

const noRequest = { number: null, reply: null, seen: true, fault: null, retry_after_ms: null };

function requestEvent(
  exchange: ClientExchange,
  recorded: RecordedExchange | undefined,
  firstAttempt: ClientExchange | undefined,
): Event {
  return {
    at: isoTime(exchange.sentAt),
    kind: requestKind(exchange, firstAttempt),
    number: exchange.number,
    reply: exchange.reply.status,
    seen: exchange.isSeen,
    fault: recorded === undefined ? null : faultOf(recorded),
    retry_after_ms: exchange.retryAfterMs ?? null,
    text: null,
  };
}

function requestKind(
  exchange: ClientExchange,
  firstAttempt: ClientExchange | undefined,
): Event['kind'] {
  if (exchange.endpoint === 'read') return 'read';
  if (exchange.reply.status === 200 && exchange.method === 'POST') return 'replay';
  return exchange === firstAttempt ? 'request' : 'retry';
}

function statusEvent({ status, at }: HistoryEntry): Event {
  return { ...noRequest, at, kind: 'status', text: status };
}

/** The referee's findings, each at its last exchange, if that is shown. */
function findingEvents(
  { rules }: RefereeReport,
  listed: ReadonlySet<ClientExchange>,
): readonly Event[] {
  return rules.flatMap(({ id, findings }) =>
    findings.flatMap(({ what, exchanges }): Event[] => {
      const last = exchanges.at(-1);
      if (last === undefined || !listed.has(last)) return [];
      const place = { at: isoTime(last.sentAt), number: last.number };
      return [{ ...noRequest, ...place, kind: 'finding', text: `${id}: ${what}` }];
    }),
  );
}

function byTimeThenKind(a: Event, b: Event): number {
  return (
    Date.parse(a.at) - Date.parse(b.at) || traceKinds.indexOf(a.kind) - traceKinds.indexOf(b.kind)
  );
}
