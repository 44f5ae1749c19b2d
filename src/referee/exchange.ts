/**
 * One client request and its reply, as the referee judges them. Two feeds produce exchanges: the
 * simulator's record (`recorded-feed.ts`) and recorded traffic (`traffic-feed.ts`).
 */
import type { EndpointName } from '../sim/limits.ts';

export interface Exchange {
  /** The number of its request; in a HAR file its place, from 1. */
  readonly number: number;
  /** When the request arrived, in epoch milliseconds of the service's clock. */
  readonly atMs: number;
  /** When the reply left. */
  readonly answeredAtMs: number;
  /** The last exchange whose request came before this reply left; usually its own number. */
  readonly openUntil: number;
  /** True if the record ends before it shows that this reply left. */
  readonly isOpenAtEnd: boolean;
  /** The account, or for a HAR file the key's digest; an unauthenticated call has its address. */
  readonly caller: string;
  /** The key or the unknown credential of the request. */
  readonly credential: string | undefined;
  /** Undefined where the caller was not authenticated. */
  readonly accountId: string | undefined;
  readonly accountName: string | undefined;
  readonly endpoint: EndpointName | undefined;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The body as sent; empty if there is none. */
  readonly text: string;
  /** The body where it is a JSON object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly status: number;
  /** True if a fault chose the status, whatever the request was. Unknown in a HAR file. */
  readonly isForced?: boolean;
  /** True if a body was there and was not recorded. */
  readonly lacksBody?: boolean;
  /** The wait that a 429 or a 503 asks for, in milliseconds of the service's clock. */
  readonly retryAfterMs: number | undefined;
  /** Its header `Retry-After`: seconds, or an HTTP date. */
  readonly retryAfter: string | undefined;
  /** The reply's body where it is a JSON object. */
  readonly reply: Readonly<Record<string, unknown>> | undefined;
  /** False if a fault cut or garbled the reply, or the client closed the connection first. */
  readonly isSeen: boolean;
  /** True if the path, the query or the body holds a key. */
  readonly showsKey: boolean;
}

const sends: readonly (string | undefined)[] = ['send', 'dashboard_send', 'external_send'];

export function isSend({ endpoint, method }: Exchange): boolean {
  return method === 'POST' && sends.includes(endpoint);
}

/** A reply that tells the client that its message was accepted, and that it saw whole. */
export function isConfirmed({ status, isSeen }: Exchange): boolean {
  return isSeen && (status === 202 || status === 200);
}

/** Whether the service accepted the send, seen or not. */
export function isAccepted({ status }: Exchange): boolean {
  return status === 202 || status === 200;
}

/** Statuses that the same request would meet again (CLIENT-8). */
export const refusedForGood: readonly number[] = [400, 401, 402, 403, 404];

/** After it the client cannot know its message queued: it must retry, or say that it gives up. */
export function isUnresolved({ status, isSeen }: Exchange): boolean {
  return !isSeen || status === 429 || status >= 500;
}

/**
 * A documented refusal that the client saw: the service queued nothing for this request (CLIENT-3).
 */
export function isRefusal(one: Exchange): boolean {
  const { status, isSeen } = one;
  return isSeen && ((status >= 400 && status < 500) || isInactive(one));
}

/** A 503 of a deactivated SIM, whatever the shape of its body. */
export function isInactive({ status, isSeen, reply }: Exchange): boolean {
  return isSeen && status === 503 && JSON.stringify(reply ?? '').includes('device_inactive');
}

/** The caller's idempotency key; undefined if it sent no key. */
export function requestIdOf({ body }: Exchange): string | undefined {
  const id = body?.['request_id'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** Whether the earlier reply had left, whole, when the later request came. */
export function wasKnownTo(later: Exchange, earlier: Exchange): boolean {
  return earlier.isSeen && !isInFlight(earlier, later);
}

/** Whether the later request came before the earlier one's reply had left. */
export function isInFlight(earlier: Exchange, later: Exchange): boolean {
  return later.number <= earlier.openUntil;
}

/** What makes two sends without a `request_id` the same message. */
export function contentOf(send: Exchange): string {
  const { caller, endpoint, body, text } = send;
  if (body === undefined) return JSON.stringify([caller, endpoint, text]);
  const { send_at: sendAt } = body;
  return JSON.stringify([caller, endpoint, senderOf(send), body['to'], body['message'], sendAt]);
}

/** Sends under one `request_id` are the same message if they say the same to the same recipient. */
export function isSameMessage({ body: a, text }: Exchange, { body: b, text: other }: Exchange) {
  if (a === undefined || b === undefined) return text === other;
  return a['to'] === b['to'] && a['message'] === b['message'];
}

/** True if both have the same sender and `send_at`. */
export function isSentAlike(one: Exchange, other: Exchange): boolean {
  return senderOf(one) === senderOf(other) && one.body?.['send_at'] === other.body?.['send_at'];
}

/** Equal for sends that say the same to the same recipient. */
export function messageOf({ body, text }: Exchange): string {
  return body === undefined ? text : JSON.stringify([body['to'], body['message']]);
}

export function senderOf({ body }: Exchange): unknown {
  return body?.['from'] ?? body?.['from_number'];
}

/** The reply's `message_id`, where it has one. */
export function messageIdOf({ reply }: Exchange): string | undefined {
  const id = reply?.['message_id'];
  return typeof id === 'string' ? id : undefined;
}

/**
 * The first acceptance of each message: each 202, and a 200 that shows a message which no 202 made.
 * A garbled 202 does not say which message it made; such a 200 takes its place.
 */
export function firstAcceptances(attempts: readonly Exchange[]): readonly Exchange[] {
  const created = firstOfEachId(attempts.filter(({ status }) => status === 202));
  const named = created.filter(hasMessageId);
  const unnamed = created.filter((exchange) => !hasMessageId(exchange));
  const createdIds = new Set(created.map(messageIdOf));
  const replays = attempts.filter((attempt) => attempt.status === 200 && hasMessageId(attempt));
  const shown = firstOfEachId(replays).filter((replay) => !createdIds.has(messageIdOf(replay)));
  return [...named, ...unnamed.slice(shown.length), ...shown];
}

/** The first of each `message_id`, and all that have none. */
function firstOfEachId(accepted: readonly Exchange[]): readonly Exchange[] {
  const known = new Set<string>();
  return accepted.filter((exchange) => {
    const id = messageIdOf(exchange);
    const isFirst = id === undefined || !known.has(id);
    if (id !== undefined) known.add(id);
    return isFirst;
  });
}

function hasMessageId(exchange: Exchange): boolean {
  return messageIdOf(exchange) !== undefined;
}

/** Each exchange with the one before it that has the same key. */
export function* consecutive(
  exchanges: readonly Exchange[],
  keyOf: (exchange: Exchange) => string | undefined,
): Generator<readonly [earlier: Exchange, later: Exchange]> {
  const last = new Map<string, Exchange>();
  for (const exchange of exchanges) {
    const key = keyOf(exchange);
    if (key === undefined) continue;
    const earlier = last.get(key);
    if (earlier !== undefined) yield [earlier, exchange];
    last.set(key, exchange);
  }
}

/** The items by their key, in order. */
export function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) push(groups, keyOf(item), item);
  return groups;
}

export function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
