/**
 * Requests and replies as HAR 1.2, the format that browsers export, for tools that read it and for
 * `smstwin referee`. Fields that only this project knows begin with an underscore.
 */
import { z } from 'zod';
import { faultKindNames } from '#contract/fault-kinds.ts';
import { smstwinVersion } from '#io/shipped-files.ts';
import type { RecordedExchange } from '../../recording/recorded-exchange.ts';
import { timeSchema } from '../input-fields.ts';
import { detailOf, requestRowSchema } from './request-views.ts';

const pairsSchema = z.array(z.strictObject({ name: z.string(), value: z.string() }));
const sizeSchema = z.int().min(-1).describe('-1: not known.');
const messageShape = {
  httpVersion: z.literal('HTTP/1.1'),
  cookies: pairsSchema,
  headers: pairsSchema.describe('The key is shortened.'),
  headersSize: sizeSchema,
  bodySize: sizeSchema,
};
const entrySchema = z
  .strictObject({
    startedDateTime: timeSchema,
    time: z
      .number()
      .describe('Milliseconds: real ones, and those for which a fault held the reply.'),
    request: z.strictObject({
      method: z.string(),
      url: z.string(),
      ...messageShape,
      queryString: pairsSchema,
      postData: z.strictObject({ mimeType: z.string(), text: z.string() }).exactOptional(),
    }),
    response: z.strictObject({
      status: z.int(),
      statusText: z.string(),
      ...messageShape,
      content: z.strictObject({ size: z.int(), mimeType: z.string(), text: z.string() }),
      redirectURL: z.string(),
      _error: z.string().exactOptional().describe('The client did not see the whole reply.'),
    }),
    cache: z.strictObject({}),
    timings: z.strictObject({ send: z.number(), wait: z.number(), receive: z.number() }),
    _number: z.int().describe('The number of the request in the list of requests.'),
    _smstwin: z
      .strictObject({
        ...requestRowSchema.pick({ repeats: true, duration_ms: true }).shape,
        fault_id: z.string().nullable().describe('The id of the fault that struck it.'),
        fault: z.enum(faultKindNames).nullable().describe('The kind of that fault.'),
      })
      .meta({ id: 'HarExtension' }),
  })
  .meta({ id: 'HarEntry' });
export const harSchema = z
  .strictObject({
    log: z.strictObject({
      version: z.literal('1.2'),
      creator: z.strictObject({ name: z.string(), version: z.string() }),
      entries: z.array(entrySchema),
    }),
  })
  .meta({ id: 'Har' });
type HarEntry = Readonly<z.output<typeof entrySchema>>;

/** `exchanges`: in order of their arrival. */
export function harOf(
  exchanges: readonly RecordedExchange[],
  baseUrl: string,
): z.output<typeof harSchema> {
  const entries = exchanges.map((exchange) => entryOf(exchange, baseUrl));
  const creator = { name: 'smstwin', version: smstwinVersion() };
  return { log: { version: '1.2', creator, entries } };
}

function entryOf(exchange: RecordedExchange, baseUrl: string): HarEntry {
  const { number, at, duration_ms, request, reply, fault, repeats } = detailOf(exchange);
  const time = duration_ms + heldMs(exchange);
  const hasClientLeft = exchange.end?.isSeen === false;
  const failure = fault?.cut ?? (hasClientLeft ? 'the client closed first' : undefined);
  const unknownSizes = { headersSize: -1, bodySize: -1 };
  // The service uses no cookies.
  const head = { httpVersion: 'HTTP/1.1' as const, cookies: [], ...unknownSizes };
  const { 'content-type': mimeType = '', location = '' } = reply.headers;
  const text = reply.body ?? '';
  return {
    startedDateTime: at,
    time,
    request: {
      method: request.method,
      url: `${baseUrl}${request.path}`,
      ...head,
      ...(request.body !== null && { bodySize: Buffer.byteLength(request.body) }),
      headers: pairsOf(Object.entries(request.headers)),
      queryString: pairsOf(new URLSearchParams(exchange.query)),
      ...(request.body && {
        postData: { mimeType: request.headers['content-type'] ?? '', text: request.body },
      }),
    },
    response: {
      status: reply.status,
      // Exchanges record no reason phrase.
      statusText: '',
      ...head,
      headers: pairsOf(Object.entries(reply.headers)),
      content: { size: Buffer.byteLength(text), mimeType, text },
      redirectURL: location,
      ...(failure !== undefined && { _error: failure }),
    },
    cache: {},
    // Sending and receiving are not measured apart.
    timings: { send: 0, wait: time, receive: 0 },
    _number: number,
    _smstwin: {
      repeats,
      duration_ms,
      fault_id: fault?.fault_id ?? null,
      fault: fault?.kind ?? null,
    },
  };
}

/**
 * How long a fault held the reply, on the simulated clock. At least 1 if other requests came meanwhile:
 * that clock may have stood still.
 */
function heldMs({ number, atMs, end, delivery }: RecordedExchange): number {
  if (end === undefined) return delivery?.delayMs ?? 0;
  return end.atMs - atMs + (end.openUntil > number ? 1 : 0);
}

function pairsOf(pairs: Iterable<[string, string]>): HarEntry['request']['headers'] {
  return Array.from(pairs, ([name, value]) => ({ name, value }));
}
