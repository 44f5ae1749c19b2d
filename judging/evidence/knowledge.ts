/** What is known of the caller and the sender number of a request; makes exchanges with it. */
import { servicePaths } from '#contract/routes.ts';
import { endpointOf } from '../limiter/buckets.ts';
import type { Caller, Exchange, Sender } from '../service/exchange.ts';
import { isObject } from '../service/expectations.ts';
import type { Ahead } from './clock-offset.ts';
import { parse } from './kept-bodies.ts';
import type { Reply, RequestOptions } from './reply.ts';

/** What is known of the caller and the sender number of a request. */
export interface Knowledge {
  callerOf(request: RequestOptions, reply: Reply): Caller;
  senderOf(account: string | undefined, number: string, reply: Reply): Sender | undefined;
  /** The target's time minus ours, as far as this reply may show it. */
  aheadOf(reply: Reply): Ahead;
}

const readPath = /^\/api\/v1\/sms\/(?!send\/|received\/)([^/]+)\/$/;

const tasksPath = /^\/api\/devices\/([^/]+)\/tasks\/$/;

/** The documented endpoint of a path; undefined for another path. */
export function documentedEndpointOf(path: string): Exchange['endpoint'] {
  if (readPath.test(path)) return 'read';
  return path === servicePaths.stats ? 'stats' : endpointOf(path);
}

/** A request and its reply, with what is known of its caller and its sender number. */
export function exchangeOf(request: RequestOptions, reply: Reply, known: Knowledge): Exchange {
  const { method, headers = {}, body } = request;
  const [path = '', query = ''] = request.path.split('?', 2);
  const id = readPath.exec(path)?.[1] ?? tasksPath.exec(path)?.[1];
  const endpoint = documentedEndpointOf(path);
  const sent = method === 'POST' && body !== undefined ? parse(body) : undefined;
  const fields = isObject(sent) ? sent : undefined;
  const caller = known.callerOf(request, reply);
  const number = fields?.['from'] ?? fields?.['from_number'];
  const sender =
    typeof number === 'string' ? known.senderOf(caller.account, number, reply) : undefined;
  const ahead = known.aheadOf(reply);
  // Named one by one: a spread in the midst of an object costs more than all else here.
  return {
    method,
    path,
    query,
    ahead,
    headers,
    body,
    fields,
    endpoint,
    id,
    caller,
    sender,
    reply,
    sentAt: reply.sentAt,
    answeredAt: reply.answeredAt,
    isRetried: reply.interruptions > 0,
  };
}
