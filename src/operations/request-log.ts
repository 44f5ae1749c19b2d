/**
 * The last requests to the service, with their replies, without keys. A ring of reused slots, so
 * that the hot path allocates nothing for it.
 */
import { z } from 'zod';
import type { Handled } from '../http/service/api.ts';
import type { ApiReply, ApiRequest } from '../http/service/messages.ts';
import { isoTime } from '../sim/iso-time.ts';
import { keyPrefix } from '../sim/key-prefix.ts';
import { endpointNames } from '../sim/limits.ts';
import { timeSchema } from './duration.ts';
import { exchangeViewSchema, faultOf } from './exchange-view.ts';

export const keptRequests = 1_000;
/** The longest body that is kept, in bytes of a request or characters of a reply. */
export const longestKeptBody = 16_384;

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
  })
  .meta({ id: 'Request' });
export type RequestView = Readonly<z.output<typeof requestViewSchema>>;

const keptBody = z
  .string()
  .nullable()
  .describe(`Null: longer than ${longestKeptBody.toLocaleString('en')} bytes, not kept.`);
const { request, reply, fault } = exchangeViewSchema.shape;
export const requestDetailSchema = requestViewSchema
  .extend({
    request: request
      .extend({ body: keptBody })
      .meta({ id: 'KeptRequest', description: 'Of the headers, those the service reads.' }),
    reply: reply.extend({ body: keptBody }).meta({ id: 'KeptReply' }),
    fault,
  })
  .meta({ id: 'RequestDetail' });
export type RequestDetail = Readonly<z.output<typeof requestDetailSchema>>;

interface Slot {
  atMs: number;
  method: string;
  endpoint: RequestView['endpoint'];
  accountId: string | null;
  keyId: string | null;
  path: string;
  query: string;
  /** The part of the Authorization header that may be shown. */
  authorization: string | undefined;
  contentType: string | undefined;
  /** The request's body: a text, or the number of bytes used in `bytes`; undefined: too long. */
  body: string | number | undefined;
  bytes: Buffer;
  status: number;
  replyHeaders: ApiReply['headers'];
  delivery: ApiReply['delivery'];
  replyBody: string | undefined;
  durationMs: number;
}

export class RequestLog {
  readonly #slots: Slot[] = [];
  #total = 0;
  #cleared = 0;

  /** Requests since the start. */
  get total(): number {
    return this.#total;
  }

  /** The newest requests, newest first; with `messageId`, those whose reply was this message. */
  newest(most: number, messageId?: string): RequestView[] {
    const views: RequestView[] = [];
    for (let n = this.#total; n > 0 && views.length < most; n--) {
      const slot = this.#slotOf(n);
      if (slot === undefined) break;
      if (messageId === undefined || isReplyWith(slot, messageId)) views.push(viewOf(slot, n));
    }
    return views;
  }

  /** One kept request, with all details. */
  get(number: string): RequestDetail | undefined {
    const slot = /^[0-9]+$/.test(number) ? this.#slotOf(Number(number)) : undefined;
    return slot && { ...viewOf(slot, Number(number)), ...exchangeOf(slot) };
  }

  /** The request that was added last. */
  last(): RequestView | undefined {
    return this.newest(1)[0];
  }

  /** Drops all requests; numbering continues. */
  clear(): void {
    this.#cleared = this.#total;
  }

  /** Continues numbering after `total`. */
  resumeAt(total: number): void {
    this.#total = total;
    this.#cleared = total;
  }

  add(request: ApiRequest, handled: Handled, atMs: number, durationMs: number): void {
    const { endpoint, key, reply } = handled;
    const place = ++this.#total % keptRequests;
    const slot = this.#slots[place] ?? this.#newSlot(place);
    slot.atMs = atMs;
    slot.method = request.method;
    slot.endpoint = endpoint ?? null;
    slot.accountId = key === undefined ? null : key.account.accountId;
    slot.keyId = key === undefined ? null : key.keyId;
    slot.path = request.path;
    slot.query = request.query;
    slot.contentType = request.contentType;
    slot.authorization =
      key === undefined ? (request.authorization === undefined ? undefined : '') : keyPrefix(key);
    keepBody(slot, request.body);
    slot.status = reply.status;
    slot.replyHeaders = reply.headers;
    slot.delivery = reply.delivery;
    slot.replyBody = reply.body.length > longestKeptBody ? undefined : reply.body;
    slot.durationMs = durationMs;
  }

  #slotOf(number: number): Slot | undefined {
    const isKept =
      number > Math.max(this.#cleared, this.#total - keptRequests) && number <= this.#total;
    return isKept ? this.#slots[number % keptRequests] : undefined;
  }

  #newSlot(place: number): Slot {
    const slot: Slot = {
      atMs: 0,
      method: '',
      endpoint: null,
      accountId: null,
      keyId: null,
      path: '',
      query: '',
      authorization: undefined,
      contentType: undefined,
      body: '',
      bytes: noBytes,
      status: 0,
      replyHeaders: undefined,
      delivery: undefined,
      replyBody: '',
      durationMs: 0,
    };
    this.#slots[place] = slot;
    return slot;
  }
}

const noBytes = Buffer.alloc(0);

/** Copies bytes, because the transport reuses its buffer. */
function keepBody(slot: Slot, body: string | Uint8Array): void {
  const { length } = body;
  if (length > longestKeptBody) slot.body = undefined;
  else if (typeof body === 'string') slot.body = body;
  else {
    if (slot.bytes.length < length) slot.bytes = Buffer.allocUnsafeSlow(Math.max(256, length));
    slot.bytes.set(body);
    slot.body = length;
  }
}

function isReplyWith({ status, replyBody }: Slot, messageId: string): boolean {
  return status < 400 && replyBody?.includes(`"message_id":"${messageId}"`) === true;
}

function exchangeOf(slot: Slot): Pick<RequestDetail, 'request' | 'reply' | 'fault'> {
  const { method, path, query, authorization, contentType, body, bytes, status } = slot;
  return {
    request: {
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers: {
        ...(authorization !== undefined && { authorization: `Bearer ${authorization}…` }),
        ...(contentType !== undefined && { 'content-type': contentType }),
      },
      body: typeof body === 'number' ? bytes.toString('utf8', 0, body) : (body ?? null),
    },
    reply: {
      status,
      headers: { 'content-type': 'application/json', ...slot.replyHeaders },
      body: method === 'HEAD' ? '' : (slot.replyBody ?? null),
    },
    fault: faultOf(slot.delivery),
  };
}

function viewOf(slot: Slot, number: number): RequestView {
  return {
    number,
    at: isoTime(slot.atMs),
    method: slot.method,
    endpoint: slot.endpoint,
    account_id: slot.accountId,
    key_id: slot.keyId,
    status: slot.status,
    code: slot.status < 400 ? null : codeOf(slot.replyBody ?? ''),
    duration_ms: Math.round(slot.durationMs * 1_000) / 1_000,
  };
}

/** The code of an error body, in the shape that `errorBody` selects. */
function codeOf(body: string): string | null {
  if (body === '') return null;
  try {
    const { code, error } = JSON.parse(body) as { code?: unknown; error?: { code?: unknown } };
    const found = code ?? error?.code;
    return typeof found === 'string' ? found : null;
  } catch {
    return null;
  }
}
