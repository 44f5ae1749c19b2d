/**
 * The last requests of the service: who asked what, and what it was answered. Never a key.
 * A ring of slots that are written over, so that the hot path makes no object for it.
 */
import { z } from 'zod';
import type { Handled } from '../http/service/api.ts';
import type { ApiRequest } from '../http/service/messages.ts';
import { endpointNames } from '../sim/limits.ts';
import { isoTime } from '../sim/message.ts';
import { timeSchema } from './duration.ts';
import { readInput } from './input.ts';

export const keptRequests = 1_000;
/** A longer body of an error is a fault's, and is not looked into for a code. */
const longestCodedBody = 4_096;

export const requestViewSchema = z.strictObject({
  number: z.int().min(1).describe('Counts all requests since the start.'),
  at: timeSchema,
  method: z.string(),
  endpoint: z.enum(endpointNames).nullable().describe('Null: no path of the service.'),
  account_id: z.uuid().nullable().describe('Null: the caller was not authenticated.'),
  key_id: z.uuid().nullable(),
  status: z.int(),
  code: z.string().nullable().describe('The error code of the reply, where it has one.'),
  duration_ms: z.number().describe('Real milliseconds.'),
});
export type RequestView = Readonly<z.output<typeof requestViewSchema>>;

export const requestsQuerySchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(keptRequests).default(keptRequests),
});
export interface RequestsQuery {
  readonly limit?: number | undefined;
}

interface Slot {
  atMs: number;
  method: string;
  endpoint: RequestView['endpoint'];
  accountId: string | null;
  keyId: string | null;
  status: number;
  /** Kept for refusals alone, as far as it may hold a code. */
  body: string;
  durationMs: number;
}

export class RequestLevers {
  readonly #slots: Slot[] = [];
  #total = 0;

  /** Requests since the start. */
  get total(): number {
    return this.#total;
  }

  /** Newest first. */
  list(query: RequestsQuery = {}): RequestView[] {
    const { limit } = readInput(requestsQuerySchema, query);
    const views: RequestView[] = [];
    for (let n = this.#total; n > 0 && views.length < limit; n--) {
      const slot = this.#slots[n % keptRequests];
      if (slot === undefined || this.#total - n >= keptRequests) break;
      views.push(viewOf(slot, n));
    }
    return views;
  }

  /** The one added last. */
  last(): RequestView | undefined {
    return this.list({ limit: 1 })[0];
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
    slot.status = reply.status;
    slot.body = reply.status < 400 || reply.body.length > longestCodedBody ? '' : reply.body;
    slot.durationMs = durationMs;
  }

  #newSlot(place: number): Slot {
    const slot: Slot = {
      atMs: 0,
      method: '',
      endpoint: null,
      accountId: null,
      keyId: null,
      status: 0,
      body: '',
      durationMs: 0,
    };
    this.#slots[place] = slot;
    return slot;
  }
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
    code: codeOf(slot.body),
    duration_ms: Math.round(slot.durationMs * 1_000) / 1_000,
  };
}

/** The code of an error body, in whichever shape `errorBody` gives it. */
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
