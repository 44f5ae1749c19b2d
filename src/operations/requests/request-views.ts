/**
 * Requests to the service as the control port shows them, from the record of exchanges. Keys are
 * shortened, and long bodies left out.
 */
import { z } from 'zod';
import { cutNames } from '#contract/fault-kinds.ts';
import { endpointNames } from '#contract/limits.ts';
import { isoTime } from '#contract/time.ts';
import {
  longestKeptBody,
  type RecordedExchange,
  textOf,
} from '../../recording/recorded-exchange.ts';
import { sendEndpoints } from '../../sim/store/message.ts';
import { timeSchema } from '../query.ts';

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
        status: z.int().nullable().describe('Of a reply that the fault made itself.'),
        delay_ms: z.int().nullable(),
        cut: z.enum(cutNames).nullable(),
      })
      .meta({ id: 'ExchangeFault' })
      .nullable()
      .describe('How an injected fault changed the reply or its delivery.'),
  })
  .meta({ id: 'Exchange' });
const { request, reply, fault } = exchangeViewSchema.shape;

export const requestViewSchema = z
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
    traceparent: z.string().nullable().describe('Of the client, if it sent a well-formed one.'),
  })
  .meta({ id: 'Request' });
export type RequestView = Readonly<z.output<typeof requestViewSchema>>;

const keptBody = z
  .string()
  .nullable()
  .describe(`Null: longer than ${longestKeptBody.toLocaleString('en')} bytes, not kept.`);
export const requestDetailSchema = requestViewSchema
  .extend({
    request: request
      .extend({ body: keptBody })
      .meta({ id: 'KeptRequest', description: 'Of the headers, those the service reads.' }),
    reply: reply.extend({ body: keptBody }).meta({ id: 'KeptReply' }),
    message_id: z.uuid().nullable().describe('The message that the reply is.'),
    to: z.string().nullable(),
    request_id: z.string().nullable(),
  })
  .meta({ id: 'RequestDetail' });
export type RequestDetail = Readonly<z.output<typeof requestDetailSchema>>;

/** The row of a request in the list. */
export function viewOf(exchange: RecordedExchange): RequestView {
  const { number, atMs, method, endpoint, accountId, keyId, status, durationMs } = exchange;
  const { traceparent } = exchange;
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
    is_replay: status === 200 && sendEndpoints.some((name) => name === endpoint),
    fault: faultOf(exchange),
    traceparent: traceparent ?? null,
  };
}

/** A request and its reply as they went over the wire. */
export function detailOf(exchange: RecordedExchange): RequestDetail {
  const { method, path, query, keyId, shownKey, authorization, contentType, status } = exchange;
  const { traceparent } = exchange;
  const isShown = keyId !== undefined || authorization !== undefined;
  return {
    ...viewOf(exchange),
    request: {
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers: {
        ...(isShown && { authorization: `Bearer ${keyId === undefined ? '' : shownKey}…` }),
        ...(contentType !== undefined && { 'content-type': contentType }),
        ...(traceparent !== undefined && { traceparent }),
      },
      body: shortText(exchange.body),
    },
    reply: {
      status,
      headers: { 'content-type': 'application/json', ...exchange.headers },
      body: method === 'HEAD' ? '' : shortText(exchange.reply),
    },
    message_id: status < 400 ? fieldOf(exchange.reply, 'message_id') : null,
    to: fieldOf(exchange.body, 'to'),
    request_id: fieldOf(exchange.body, 'request_id'),
  };
}

/** How an injected fault changed the reply or its delivery. */
export function faultOf({ delivery, isForced, status }: RecordedExchange): z.output<typeof fault> {
  if (delivery === undefined && !isForced) return null;
  const { delayMs = null, cut = null } = delivery ?? {};
  return { status: isForced ? status : null, delay_ms: delayMs, cut };
}

/** A text in a body that is a JSON object; null if it is empty or missing. */
export function fieldOf(body: string | Uint8Array | undefined, name: string): string | null {
  const value = jsonOf(shortText(body))?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

/** The text of a body; null if it was too long to be kept. */
export function shortText(body: string | Uint8Array | undefined): string | null {
  return body === undefined || body.length > longestKeptBody ? null : textOf(body);
}

/** The code of an error body, in the shape that `errorBody` selects. */
function codeOf(body: string): string | null {
  const { code, error } = jsonOf(body) ?? {};
  const found = code ?? (error as { code?: unknown } | undefined)?.code;
  return typeof found === 'string' ? found : null;
}

function jsonOf(body: string | null): Readonly<Record<string, unknown>> | undefined {
  if (body === null || body === '') return undefined;
  try {
    const json: unknown = JSON.parse(body);
    return typeof json === 'object' && json !== null
      ? (json as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
