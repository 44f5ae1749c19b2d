/**
 * Decides the requests that are not sends: to read one message, the statistics of an account or its
 * inbound messages, and to poll the tasks of a device. The document states the shape of a message
 * only. Rules: READ-1, READ-2, STATE-2, SVC-3. Assumes: heldStatus, messageRetention,
 * receivedQuery.
 */
import { z } from 'zod';
import type { Status } from '#contract/message-status.ts';
import { isoTime } from '#contract/time.ts';
import type { Account, ReceivedMessage } from './accounts/account.ts';
import type { Registry } from './accounts/registry.ts';
import type { Assumptions } from './assumptions.ts';
import type { FieldFailure, ServiceError } from './errors.ts';
import { isReadable, messageBody, shownStatus } from './store/message-view.ts';

export type ReadDecision = { readonly kind: 'read'; readonly body: string } | ServiceError;

const notFound: ServiceError = { kind: 'not_found' };

/** The caller's own message. An unknown id and another account's message get the same answer. */
export function read(world: Registry, account: Account, messageId: string): ReadDecision {
  const message = world.messages.get(messageId);
  if (message === undefined || message.account !== account) return notFound;
  const nowMs = world.now();
  if (!isReadable(message, nowMs, world.assumptions)) return notFound;
  const status = shownStatus(message, nowMs, world.assumptions.heldStatus);
  return { kind: 'read', body: messageBody(message, status, messageId) };
}

/** The statistics of an account, as the reply shows them. */
export interface AccountStats {
  readonly messages: Readonly<Record<Status, number>>;
  /** Units used in the current period; a null limit means unlimited. */
  readonly quota: { readonly used: number; readonly limit: number | null };
  readonly sims_connected: number;
  readonly received: number;
}

export function accountStats(world: Registry, account: Account): AccountStats {
  const limit = world.quotaOf(account);
  return {
    messages: { ...account.counts },
    quota: {
      used: account.quota.used(world.now(), world.assumptions),
      limit: limit === 'unlimited' ? null : limit,
    },
    sims_connected: account.connectedSims.length,
    received: account.received.length,
  };
}

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
  /** The path of the next page with its query; null at the last page. */
  readonly next: string | null;
  /** The path of the previous page with its query; null at the first page. */
  readonly previous: string | null;
  readonly results: readonly ReceivedEntry[];
}

export type ReceivedDecision =
  | { readonly kind: 'received'; readonly page: ReceivedPage }
  | ServiceError;

const defaultPageSize = 50;
const largestPageSize = 200;

/** The parsers for the query parameters, which arrive as text. */
export const receivedParameters = {
  page: wholeNumber(Number.MAX_SAFE_INTEGER).default(1),
  page_size: wholeNumber(largestPageSize).default(defaultPageSize),
};
type Parameter = keyof typeof receivedParameters;

/** Query parameters as text; null if absent. */
export type ReceivedQuery = { readonly [P in Parameter]: string | null };

/** `path`: the path that `next` and `previous` start with. */
export function listReceived(
  account: Account,
  path: string,
  query: ReceivedQuery,
  assumptions: Pick<Assumptions, 'receivedQuery'>,
): ReceivedDecision {
  const parsed = parseUnder(assumptions, query);
  if (parsed.kind !== 'query') return parsed;
  const { page, size } = parsed;
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

export interface Task {
  readonly message_id: string;
  readonly to: string;
  readonly from_number: string;
  readonly message: string;
}

export type TasksDecision =
  | { readonly kind: 'tasks'; readonly tasks: readonly Task[] }
  | ServiceError;

/**
 * One poll of a real device. Each task is handed out once. A simulated device, or one that is off,
 * gets no tasks.
 */
export function pollTasks(world: Registry, account: Account, deviceId: string): TasksDecision {
  const device = world.devices.get(deviceId);
  if (device === undefined || device.account !== account) return { kind: 'not_found' };
  const tasks = world.polled(device).map((message) => ({
    message_id: message.messageId,
    to: message.to,
    from_number: device.number,
    message: message.text,
  }));
  return { kind: 'tasks', tasks };
}

/** A task, with the further fields of its message that a template may show. */
export function taskDetails(world: Registry, task: Task): object {
  const message = world.messages.get(task.message_id);
  if (message === undefined) return task;
  const { requestId, device, createdAtMs } = message;
  const created_at = isoTime(createdAtMs);
  return { ...task, request_id: requestId, device_id: device.deviceId, created_at };
}

type ParsedQuery =
  | { readonly kind: 'query'; readonly page: number; readonly size: number }
  | Extract<ServiceError, { kind: 'invalid_field' }>;

const emptyQuery: ReceivedQuery = { page: null, page_size: null };

/** Parses the query as the assumption `receivedQuery` says. */
function parseUnder(
  { receivedQuery }: Pick<Assumptions, 'receivedQuery'>,
  query: ReceivedQuery,
): ParsedQuery | { readonly kind: 'not_found' } {
  if (receivedQuery === 'ignore') return parseReceivedQuery(emptyQuery);
  const parsed = parseReceivedQuery(query);
  if (parsed.kind === 'query' || receivedQuery === 'reject') return parsed;
  // An unusable page size means the default size; an unusable page is not found.
  const withDefaultSize = parseReceivedQuery({ ...query, page_size: null });
  return withDefaultSize.kind === 'query' ? withDefaultSize : { kind: 'not_found' };
}

/** Parses both parameters; an absent one has its default. */
export function parseReceivedQuery(query: ReceivedQuery): ParsedQuery {
  const page = parseParameter(query, 'page');
  const size = parseParameter(query, 'page_size');
  if (typeof page !== 'number')
    return { kind: 'invalid_field', failures: typeof size === 'number' ? [page] : [page, size] };
  if (typeof size !== 'number') return { kind: 'invalid_field', failures: [size] };
  return { kind: 'query', page, size };
}

function parseParameter(query: ReceivedQuery, field: Parameter): number | FieldFailure {
  const text = query[field] ?? undefined;
  const given = text !== undefined && /^[0-9]+$/.test(text) ? Number(text) : text;
  const reading = receivedParameters[field].safeParse(given);
  return reading.success
    ? reading.data
    : { field, detail: reading.error.issues[0]?.message ?? 'Not understood.' };
}

function wholeNumber(most: number) {
  const error = `Expected a whole number from 1 to ${most}.`;
  return z.int({ error }).min(1, { error }).max(most, { error });
}
