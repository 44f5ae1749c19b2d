/**
 * The inbound messages of one account, newest first. The document names the endpoint and no shape.
 * Assumes: receivedShape.
 */
import type { Account, ReceivedMessage } from './account.ts';
import type { FieldFailure, ServiceError } from './errors.ts';
import { isoTime } from './message.ts';

export interface ReceivedEntry {
  readonly message_id: string;
  readonly device_id: string;
  readonly from_number: string;
  readonly to: string;
  readonly message: string;
  /** ISO 8601 UTC. */
  readonly received_at: string;
}

export interface ReceivedPage {
  readonly count: number;
  /** Paths with their query, or null at either end. */
  readonly next: string | null;
  readonly previous: string | null;
  readonly results: readonly ReceivedEntry[];
}

export type ReceivedDecision =
  | { readonly kind: 'received'; readonly page: ReceivedPage }
  | ServiceError;

export const defaultPageSize = 50;
export const largestPageSize = 200;

/** Query parameters as text; null where they were not given. */
export interface ReceivedQuery {
  readonly page: string | null;
  readonly page_size: string | null;
}

/** `path`: what `next` and `previous` start with. */
export function listReceived(
  account: Account,
  path: string,
  query: ReceivedQuery,
): ReceivedDecision {
  const page = wholeNumber(query, 'page', 1, Number.MAX_SAFE_INTEGER);
  const size = wholeNumber(query, 'page_size', defaultPageSize, largestPageSize);
  const [first, ...others] = [page, size].filter((value) => typeof value !== 'number');
  if (first !== undefined) return { kind: 'invalid_field', failures: [first, ...others] };
  if (typeof page !== 'number' || typeof size !== 'number')
    throw new Error('no failure, no number');
  const count = account.received.length;
  const pages = Math.max(1, Math.ceil(count / size));
  if (page > pages) return { kind: 'not_found' };
  const link = (to: number) => `${path}?page=${to}&page_size=${size}`;
  const end = count - (page - 1) * size;
  return {
    kind: 'received',
    page: {
      count,
      next: page < pages ? link(page + 1) : null,
      previous: page > 1 ? link(page - 1) : null,
      results: account.received
        .slice(Math.max(0, end - size), end)
        .reverse()
        .map(entryOf),
    },
  };
}

export function entryOf(received: ReceivedMessage): ReceivedEntry {
  return {
    message_id: received.messageId,
    device_id: received.device.deviceId,
    from_number: received.from,
    to: received.device.number,
    message: received.message,
    received_at: isoTime(received.receivedAtMs),
  };
}

function wholeNumber(
  query: ReceivedQuery,
  field: keyof ReceivedQuery,
  fallback: number,
  most: number,
): number | FieldFailure {
  const text = query[field];
  if (text === null) return fallback;
  const value = Number(text);
  return /^[0-9]+$/.test(text) && value >= 1 && value <= most
    ? value
    : { field, detail: `Expected a whole number from 1 to ${most}.` };
}
