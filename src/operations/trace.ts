/**
 * Everything that happened to one intent, in the order of simulated time: its requests, the faults
 * that struck them, the statuses of its message, the reads of it, and what the referee finds.
 */
import { z } from 'zod';
import type { RecordedExchange } from '../recording/recorded-exchange.ts';
import { type Exchange, messageIdOf, requestIdOf } from '../referee/exchange.ts';
import { judging } from '../referee/judge.ts';
import { readingOf } from '../referee/recorded-feed.ts';
import { isoTime } from '../sim/iso-time.ts';
import { messageHistory } from '../sim/message.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import { timeSchema } from './duration.ts';
import { exchangeViewSchema, faultOf } from './exchange-view.ts';
import type { Live } from './live.ts';
import { limitSchema } from './query.ts';
import { find } from './targets.ts';

export const traceQuerySchema = z.strictObject({
  number: limitSchema(Number.MAX_SAFE_INTEGER, 1)
    .unwrap()
    .exactOptional()
    .describe('Of one of its requests.'),
  message_id: z.string().exactOptional().describe('Its message instead.'),
});

const text = z.string().nullable();

const eventSchema = z
  .strictObject({
    at: timeSchema,
    kind: z
      .enum(['request', 'retry', 'replay', 'read', 'status', 'finding'])
      .describe('`replay`: answered as the first use of its request_id was.'),
    number: z.int().nullable().describe('Of the request.'),
    reply: z.int().nullable().describe('The status of its reply.'),
    seen: z.boolean().describe('False: the client did not get the reply.'),
    fault: exchangeViewSchema.shape.fault,
    retry_after_ms: z.number().nullable().describe('In simulated time.'),
    text: text.describe('The status of the message, or what the referee finds.'),
  })
  .meta({ id: 'TraceEvent' });
type Event = z.output<typeof eventSchema>;

export const traceSchema = z
  .strictObject({
    account: text,
    what: text.describe('Method and path of its requests.'),
    to: text,
    request_id: text,
    message_id: text,
    events: z.array(eventSchema),
    omitted: z.int().describe('Requests that are not shown.'),
  })
  .meta({ id: 'Trace' });
type Trace = z.output<typeof traceSchema>;

const mostRequests = 100;

export function* traceOf(
  live: Live,
  { number, message_id: given }: z.output<typeof traceQuerySchema>,
): Generator<undefined, Trace> {
  const { exchangeRecord, simulation } = live;
  const { messages, keyRing } = simulation.world;
  if ((number === undefined) === (given === undefined)) {
    throw new OperationRefused('invalid', 'expected number or message_id', 'number');
  }
  const asked = given === undefined ? undefined : find('message_id', live, given).messageId;
  const exchanges = yield* readingOf(exchangeRecord, keyRing.texts);
  const { intents, rules } = yield* judging(exchanges, { isPartial: true });
  const isAsked = (one: Exchange) =>
    asked === undefined
      ? one.number === number
      : messageIdOf(one) === asked && one.endpoint !== 'read';
  const one = exchanges.find(isAsked);
  if (one === undefined && asked === undefined) {
    throw new OperationRefused('not_found', `the record has no request ${number}`);
  }
  const intent = one && intents.all.find(({ attempts }) => attempts.includes(one));
  const all = one === undefined ? [] : (intent?.attempts ?? exchanges.filter(isLike(one)));
  const attempts = closest(all, one);
  const messageId = asked ?? all.map(messageIdOf).find((id) => id !== undefined);
  const message = messageId === undefined ? undefined : messages.get(messageId);
  const reads =
    messageId === undefined || one?.endpoint === 'read'
      ? []
      : closest(
          exchanges.filter(
            ({ endpoint, target }) => endpoint === 'read' && target.includes(messageId),
          ),
        );
  const shown = new Set([...attempts, ...reads].map((each) => each.number));
  const firstNumber = exchangeRecord.first[0]?.number ?? 0;
  const asEvent = (each: Exchange, at: number) =>
    requestEvent(each, exchangeRecord.first[each.number - firstNumber], at > 0);
  const events: Event[] = [
    ...attempts.map((each) => asEvent(each, all.indexOf(each))),
    ...reads.map((each) => asEvent(each, 0)),
    ...(message === undefined ? [] : messageHistory(message)).map(({ status, at }) => ({
      ...nothing,
      at,
      kind: 'status' as const,
      text: status,
    })),
    ...rules.flatMap(({ id, findings }) =>
      findings.flatMap(({ what, exchanges: proof }): Event[] => {
        const last = proof.at(-1);
        if (last === undefined || !shown.has(last.number)) return [];
        const place = { at: isoTime(last.atMs), number: last.number };
        return [{ ...nothing, ...place, kind: 'finding', text: `${id}: ${what}` }];
      }),
    ),
  ];
  const to = one?.body?.['to'];
  return {
    account: message?.account.name ?? one?.accountName ?? null,
    what: one === undefined ? null : `${one.method} ${one.target}`,
    to: message?.to ?? (typeof to === 'string' ? to : null),
    request_id: message?.requestId || ((one && requestIdOf(one)) ?? null),
    message_id: messageId ?? null,
    events: events.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || order(a) - order(b)),
    omitted: all.length - attempts.length,
  };
}

const nothing = { number: null, reply: null, seen: true, fault: null, retry_after_ms: null };

function order({ kind }: Event): number {
  return ['request', 'retry', 'replay', 'read', 'status', 'finding'].indexOf(kind);
}

/** Repeated requests of a caller that belong to no intent. */
function isLike({ caller, method, target }: Exchange) {
  return (other: Exchange) =>
    other.caller === caller && other.method === method && other.target === target;
}

function closest(all: readonly Exchange[], one = all[0]): readonly Exchange[] {
  const at = one === undefined ? 0 : all.indexOf(one);
  const first = Math.min(at - mostRequests / 2, all.length - mostRequests);
  return all.slice(Math.max(0, first)).slice(0, mostRequests);
}

function requestEvent(
  one: Exchange,
  recorded: RecordedExchange | undefined,
  isAgain: boolean,
): Event {
  const isReplay = one.status === 200 && one.endpoint !== 'read' && one.method === 'POST';
  return {
    at: isoTime(one.atMs),
    kind: one.endpoint === 'read' ? 'read' : isReplay ? 'replay' : isAgain ? 'retry' : 'request',
    number: one.number,
    reply: one.status,
    seen: one.isSeen,
    fault: recorded === undefined ? null : faultOf(recorded),
    retry_after_ms: one.retryAfterMs ?? null,
    text: null,
  };
}
