/**
 * Requests to the service as the control port shows them, from the record of exchanges. Keys are
 * shortened, and long bodies left out.
 */
import { z } from 'zod';
import { cutNames, faultKindNames } from '#contract/fault-kinds.ts';
import { endpointNames } from '#contract/limits.ts';
import { isoTime, secondMs } from '#contract/time.ts';
import { objectIn } from '#judging/evidence/reading.ts';
import {
  longestKeptBody,
  type RecordedExchange,
  textOf,
} from '../../recording/recorded-exchange.ts';
import { timeSchema } from '../input-fields.ts';

const textOrNull = z.string().nullable();
/** The most of a message that a row shows. */
const longestShownText = 160;
/** A fault may ask for any wait; one of over a year has no end that is worth showing. */
const longestShownWait = 366 * 86_400;
const headersSchema = z.record(z.string(), z.string());

export const exchangeViewSchema = z
  .strictObject({
    request: z
      .strictObject({
        method: z.string(),
        path: z.string(),
        headers: headersSchema.describe('The key is shortened.'),
        body: z.string(),
      })
      .meta({ id: 'ExchangeRequest' }),
    reply: z
      .strictObject({ status: z.int(), headers: headersSchema, body: z.string() })
      .meta({ id: 'ExchangeReply' }),
    fault: z
      .strictObject({
        fault_id: z.string().nullable().describe('Null: the explorer chose the fault.'),
        kind: z.enum(faultKindNames),
        status: z.int().nullable().describe('The status of a reply that the fault made itself.'),
        delay_ms: z.int().nullable(),
        cut: z.enum(cutNames).nullable(),
      })
      .meta({ id: 'ExchangeFault' })
      .nullable()
      .describe('How an injected fault changed the reply or its delivery.'),
  })
  .meta({ id: 'Exchange' });
const { request, reply, fault } = exchangeViewSchema.shape;

const requestViewSchema = z
  .strictObject({
    number: z.int().min(1).describe('Counts all requests since the start.'),
    at: timeSchema,
    method: z.string(),
    endpoint: z.enum(endpointNames).nullable().describe('Null: not a path of the service.'),
    account_id: z.uuid().nullable().describe('Null: the caller was not authenticated.'),
    key_id: z.uuid().nullable(),
    status: z.int(),
    code: z.string().nullable().describe('The error code of the reply, if it has one.'),
    duration_ms: z.number().describe('Real milliseconds.'),
    is_replay: z.boolean().describe('The reply repeats that of an earlier use of its request_id.'),
    fault,
    traceparent: z.string().nullable().describe('The header as sent: of a trace of the client.'),
  })
  .meta({ id: 'Request' });
export type RequestView = Readonly<z.output<typeof requestViewSchema>>;

/** A row of the list also shows what the bodies say, which events and logs leave out. */
export const requestRowSchema = requestViewSchema
  .extend({
    account: textOrNull.describe('The name of the account.'),
    key: textOrNull.describe('The beginning of the key.'),
    to: textOrNull,
    from: textOrNull.describe('The sender, by either name of its field.'),
    text: textOrNull.describe(`The first ${longestShownText} characters of the message.`),
    request_id: textOrNull,
    retry_after_s: z.number().nullable().describe('The seconds that `Retry-After` asks for.'),
    retry_at: timeSchema.nullable().describe('When that wait ends.'),
    repeats: z
      .int()
      .nullable()
      .describe('The number of the request that a replay repeats, if it is known.'),
    is_lost: z.boolean().describe('The client did not get the whole reply.'),
  })
  .meta({ id: 'RequestRow' });
export type RequestRow = Readonly<z.output<typeof requestRowSchema>>;

const keptBody = z
  .string()
  .nullable()
  .describe(`Null: longer than ${longestKeptBody.toLocaleString('en')} bytes, not kept.`);
export const requestDetailSchema = requestRowSchema.extend({
  request: request.extend({ body: keptBody }).meta({
    id: 'KeptRequest',
    description:
      'The headers that the service reads, `traceparent`, and the headers that faults match.',
  }),
  reply: reply.extend({ body: keptBody }).meta({ id: 'KeptReply' }),
  message_id: z.uuid().nullable().describe('The message that the reply is.'),
});
export type RequestDetail = Readonly<z.output<typeof requestDetailSchema>>;

/** A request, without what its bodies say. */
export function viewOf(exchange: RecordedExchange): RequestView {
  const { number, atMs, method, endpoint, accountId, keyId, status, durationMs } = exchange;
  return {
    number,
    at: isoTime(atMs),
    method,
    endpoint: endpoint ?? null,
    account_id: accountId ?? null,
    key_id: keyId ?? null,
    status,
    code: status < 400 ? null : codeOf(shortText(exchange.reply) ?? ''),
    duration_ms: Math.round(durationMs * 1_000) / 1_000,
    is_replay: exchange.isReplay,
    fault: faultOf(exchange),
    traceparent: exchange.sentHeaders?.['traceparent'] ?? null,
  };
}

export function rowOf(exchange: RecordedExchange): RequestRow {
  const { atMs, accountName = null, keyId, shownKey, repeats = null, isLost, waitRate } = exchange;
  const body = objectIn(shortText(exchange.body) ?? '');
  // A fault may state a date, which is shown with the reply.
  const seconds = Number(exchange.headers?.['retry-after'] ?? Number.NaN);
  const hasWait = seconds >= 0 && seconds <= longestShownWait;
  return {
    ...viewOf(exchange),
    account: accountName,
    key: keyId === undefined ? null : shownKey,
    to: textIn(body, 'to'),
    from: senderIn(body),
    text: textIn(body, 'message')?.slice(0, longestShownText) ?? null,
    request_id: textIn(body, 'request_id'),
    retry_after_s: hasWait ? seconds : null,
    retry_at: hasWait ? isoTime(atMs + seconds * waitRate * secondMs) : null,
    repeats,
    is_lost: isLost,
  };
}

/** A request and its reply as they went over the wire. */
export function detailOf(exchange: RecordedExchange): RequestDetail {
  const { method, path, query, keyId, shownKey, authorization, contentType, status } = exchange;
  const isShown = keyId !== undefined || authorization !== undefined;
  return {
    ...rowOf(exchange),
    request: {
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers: {
        ...(isShown && { authorization: `Bearer ${keyId === undefined ? '' : shownKey}…` }),
        ...(contentType !== undefined && { 'content-type': contentType }),
        ...exchange.sentHeaders,
      },
      body: shortText(exchange.body),
    },
    reply: {
      status,
      headers: { 'content-type': 'application/json', ...exchange.headers },
      body: method === 'HEAD' ? '' : shortText(exchange.reply),
    },
    message_id: status < 400 ? fieldOf(exchange.reply, 'message_id') : null,
  };
}

/** How an injected fault changed the reply or its delivery. */
export function faultOf(exchange: RecordedExchange): z.output<typeof fault> {
  const { faultId = null, faultKind: kind, delivery, isForced, status } = exchange;
  if (kind === undefined) return null;
  const { delayMs = null, cut = null } = delivery ?? {};
  return { fault_id: faultId, kind, status: isForced ? status : null, delay_ms: delayMs, cut };
}

/** The number that a send is from, by either name of its field. */
export function senderOf({ body }: RecordedExchange): string | null {
  return senderIn(objectIn(shortText(body) ?? ''));
}

export function isReplyOf(messageId: string, { status, reply }: RecordedExchange): boolean {
  return status < 400 && reply?.includes(`"message_id":"${messageId}"`) === true;
}

/** A text in a body that is a JSON object; null if it is empty or missing. */
export function fieldOf(body: string | Uint8Array | undefined, name: string): string | null {
  return textIn(objectIn(shortText(body) ?? ''), name);
}

type Json = Readonly<Record<string, unknown>> | undefined;

function textIn(json: Json, name: string): string | null {
  const value = json?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

function senderIn(json: Json): string | null {
  return textIn(json, 'from') ?? textIn(json, 'from_number');
}

/** The text of a body; null if it was too long to be kept. */
export function shortText(body: string | Uint8Array | undefined): string | null {
  return body === undefined || body.length > longestKeptBody ? null : textOf(body);
}

/** The code of an error body, in the shape that `errorBody` selects. */
function codeOf(body: string): string | null {
  const { code, error } = objectIn(body) ?? {};
  const found = code ?? (error as { code?: unknown } | undefined)?.code;
  return typeof found === 'string' ? found : null;
}
