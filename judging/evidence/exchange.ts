/**
 * An exchange: one request and its reply, as all judges see them, those of the service and those of
 * its clients. It says who sent the request, from which number, when, and whether it was retried.
 * Judges know nothing else, so they can also judge traffic that somebody else recorded; a property
 * that a recording does not show is undefined.
 */
import type { TrafficExchange } from '#contract/exchange.ts';
import { documentedLimits, type EndpointName } from '#contract/limits.ts';
import { isObject } from '#contract/request-and-reply.ts';
import { matchRoute, type RouteMatch } from '#contract/routes.ts';
import { textOf } from '../service/expectations.ts';
import type { Ahead } from './clock-offset.ts';
import { objectIn } from './reading.ts';
import type { Reply, RequestOptions } from './reply.ts';

/** The account and the state of the key that a request carries. */
export interface Caller {
  /** Undefined if the key is missing, wrong or revoked, so that the request has no account. */
  readonly account?: string | undefined;
  readonly key: 'valid' | 'revoked' | 'wrong' | 'missing';
  /** True if nothing used the account before this run. */
  readonly isNew: boolean;
  /** The monthly quota, if known. */
  readonly quota?: number;
  /** The client's address; undefined if the target may see another one. */
  readonly address?: string;
}

/** The sender number of a send. */
export interface Sender {
  /** The relation of the number to the caller's account. */
  readonly is: /** A usable SIM of the account has it. */
    | 'own'
    /** A SIM of the account has it that is inactive, disconnected, or withdrawn from its use. */
    | 'inactive'
    | 'disconnected'
    | 'denied'
    /** A SIM of the shared pool has it. */
    | 'pool'
    /** A SIM of another account has it. */
    | 'foreign'
    /** No SIM has it. */
    | 'unknown'
    /** An account's number with a changed digit: perhaps another of its own, or malformed. */
    | 'altered';
  readonly deviceId?: string;
}

export interface Exchange
  extends Pick<TrafficExchange, 'method' | 'path' | 'query' | 'headers' | 'clock'> {
  readonly body?: string | undefined;
  /** The body, if it is a JSON object. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  readonly endpoint?: EndpointName | undefined;
  /** The id in the path of a read or a poll for tasks. */
  readonly id?: string | undefined;
  readonly caller: Caller;
  readonly sender?: Sender | undefined;
  readonly reply: Reply;
  /** Milliseconds since 1970, on the target's clock if a control port shows it, otherwise ours. */
  readonly sentAt: number;
  readonly answeredAt: number;
  /** The target's time minus ours, as far as earlier replies showed it. */
  readonly ahead?: Ahead;
  /** True if a connection broke and the request was sent again: it may have arrived twice. */
  readonly isRetried: boolean;
}

/** What is known of the caller and the sender number of a request. */
export interface RequestKnowledge<R extends RequestParts> {
  callerOf(request: R, reply: Reply): Caller;
  senderOf(account: string | undefined, number: string, reply: Reply): Sender | undefined;
  /** The target's time minus ours, as far as this reply may show it. */
  aheadOf(reply: Reply): Ahead;
}

interface RequestParts extends Pick<RequestOptions, 'method' | 'path' | 'headers' | 'body'> {
  /** Undefined if the path has it. */
  readonly query?: string;
  readonly clock?: string | undefined;
}

/** The route of a path. The last slash of a limited endpoint may be missing (`trailingSlash`). */
export function routeIn(path: string): RouteMatch | undefined {
  if (path.endsWith('/')) return matchRoute(path);
  const match = matchRoute(`${path}/`);
  return match !== undefined && match.route.endpoint in documentedLimits ? match : undefined;
}

/** A request and its reply, with what is known of its caller and its sender number. */
export function exchangeOf<R extends RequestParts>(
  request: R,
  reply: Reply,
  known: RequestKnowledge<R>,
): Exchange {
  const { method, headers = {}, body } = request;
  const parts = request.path.includes('?') ? request.path.split('?', 2) : [request.path];
  const [path = '', query = request.query ?? ''] = parts;
  const match = routeIn(path);
  const fields = method === 'POST' ? objectIn(body) : undefined;
  const caller = known.callerOf(request, reply);
  const number = senderNumberOf({ fields });
  const sender =
    typeof number === 'string' ? known.senderOf(caller.account, number, reply) : undefined;
  const ahead = known.aheadOf(reply);
  // Each field is named, because a spread here would cost more than the rest of the function.
  return {
    method,
    path,
    query,
    ahead,
    headers,
    body,
    fields,
    endpoint: match?.route.endpoint,
    id: match?.id || undefined,
    caller,
    sender,
    reply,
    sentAt: reply.sentAt,
    answeredAt: reply.answeredAt,
    clock: request.clock,
    isRetried: reply.interruptions > 0,
  };
}

/** The documented method of an endpoint. */
export function methodOf(endpoint: NonNullable<Exchange['endpoint']>): 'POST' | 'GET' {
  return endpoint.endsWith('send') ? 'POST' : 'GET';
}

export function isSend({ method, endpoint }: Exchange): boolean {
  return method === 'POST' && endpoint?.endsWith('send') === true;
}

/** A send to the endpoint whose fields and replies the document shows. */
export function isMessageSend({ method, endpoint }: Exchange): boolean {
  return method === 'POST' && endpoint === 'send';
}

export function isRead({ method, endpoint }: Exchange): boolean {
  return method === 'GET' && endpoint === 'read';
}

/** True if a send created a message. A retry is answered 200 if the first try created it. */
export function isAccepted({ reply, isRetried }: Exchange): boolean {
  return reply.status === 202 || (reply.status === 200 && isRetried);
}

export function isRefused({ reply }: Exchange): boolean {
  return reply.status === 429;
}

/** The statuses whose `Retry-After` the judges read (CLIENT-1, CLIENT-17). */
export function asksForWait(status: number): boolean {
  return status === 429 || [500, 502, 503, 504].includes(status);
}

export function isReplay({ method, reply }: Exchange): boolean {
  return method === 'POST' && reply.status === 200;
}

/** True if a reply was lost, so that the effect of the request is not certain. */
export function isUncertain({ reply, isRetried }: Exchange): boolean {
  return isRetried || reply.status === 0;
}

/** True if the target was away for two tries in a row: its limits may have started anew. */
export function mayHaveRestarted({ reply }: Exchange): boolean {
  return reply.interruptions > 1;
}

/** The caller's idempotency key; undefined if it sent no key. */
export function requestIdOf({ fields }: Pick<Exchange, 'fields'>): string | undefined {
  const id = fields?.['request_id'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** The number that a send names as its sender, by either name of the field. */
export function senderNumberOf({ fields }: Pick<Exchange, 'fields'>): unknown {
  return fields?.['from'] ?? fields?.['from_number'];
}

/** The polls for tasks that were answered. */
export function tasksIn(exchanges: readonly Exchange[]): Exchange[] {
  return exchanges.filter(({ endpoint, reply }) => endpoint === 'tasks' && reply.status === 200);
}

/** The body of a reply, if it is a JSON object. */
export function bodyOf({ reply }: Exchange): Readonly<Record<string, unknown>> {
  return isObject(reply.json) ? reply.json : {};
}

export function messageIdOf(exchange: Exchange): string {
  return textOf(bodyOf(exchange)['message_id']);
}
