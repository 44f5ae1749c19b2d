/** What is known of the caller and the sender number of a request; makes exchanges with it. */
import { documentedLimits } from '#contract/limits.ts';
import { matchRoute, type RouteMatch } from '#contract/routes.ts';
import type { Caller, Exchange, Sender } from '../service/exchange.ts';
import type { Ahead } from './clock-offset.ts';
import { objectIn } from './reading.ts';
import type { Reply, RequestOptions } from './reply.ts';

/** What is known of the caller and the sender number of a request. */
export interface Knowledge<R extends Request> {
  callerOf(request: R, reply: Reply): Caller;
  senderOf(account: string | undefined, number: string, reply: Reply): Sender | undefined;
  /** The target's time minus ours, as far as this reply may show it. */
  aheadOf(reply: Reply): Ahead;
}

interface Request extends Pick<RequestOptions, 'method' | 'path' | 'headers' | 'body'> {
  /** Undefined if the path has it. */
  readonly query?: string;
}

/** The route of a path. The last slash of a limited endpoint may be missing (`trailingSlash`). */
export function routeIn(path: string): RouteMatch | undefined {
  if (path.endsWith('/')) return matchRoute(path);
  const match = matchRoute(`${path}/`);
  return match !== undefined && match.route.endpoint in documentedLimits ? match : undefined;
}

/** A request and its reply, with what is known of its caller and its sender number. */
export function exchangeOf<R extends Request>(
  request: R,
  reply: Reply,
  known: Knowledge<R>,
): Exchange {
  const { method, headers = {}, body } = request;
  const [path = '', query = request.query ?? ''] = request.path.split('?', 2);
  const match = routeIn(path);
  const fields = method === 'POST' ? objectIn(body) : undefined;
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
    endpoint: match?.route.endpoint,
    id: match?.id || undefined,
    caller,
    sender,
    reply,
    sentAt: reply.sentAt,
    answeredAt: reply.answeredAt,
    isRetried: reply.interruptions > 0,
  };
}
