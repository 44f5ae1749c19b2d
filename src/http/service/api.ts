/**
 * The service: answers one request with one reply, synchronously. It finds the route, checks the
 * key, takes a token of the rate limit, and then serves the endpoint. `send-message.ts` serves
 * sends. Rules: AUTH-1, AUTH-3, AUTH-6, ERR-3, LIMIT-1 to LIMIT-7, READ-1, READ-2. Assumes:
 * keyCheck, headMethod, methodNotAllowed, trailingSlash, bearerSpace, bearerCase,
 * unauthenticatedThrottle, clientIp, errorsSpendToken, replaySpends, pathIdForm, receivedShape,
 * tasksShape, replyTemplates.
 */
import type { StrikingFault } from '#contract/fault-kinds.ts';
import { type EndpointName, type SendEndpoint, sendEndpoints } from '#contract/limits.ts';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { matchRoute, type RouteMatch, routes } from '#contract/routes.ts';
import type { Account, ApiKey } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import type { ServiceError } from '../../sim/errors.ts';
import { addressCaller, type Limiter } from '../../sim/limiter/limiter.ts';
import { canonicalUuid } from '../../sim/random.ts';
import {
  type AccountStats,
  accountStats,
  listReceived,
  pollTasks,
  read,
  taskDetails,
} from '../../sim/read.ts';
import { noReplyTemplates } from '../../sim/reply-templates.ts';
import { plainIp } from '../plain-ip.ts';
import { allowedMethods, matchOtherSpelling, takesMethod } from './other-spellings.ts';
import {
  type ReceivedSend,
  receiveSend,
  replayBeforeThrottle,
  sendMessage,
} from './send-message.ts';
import {
  itemsOf,
  type ReplyContext,
  refuse,
  rewrite,
  type TemplatedRequest,
} from './templated-replies.ts';

const ok = 200;
const movedPermanently = 301;

/** A handled request's endpoint, key and reply, for logs and journals. */
export interface Handled {
  readonly endpoint: EndpointName | undefined;
  readonly key: ApiKey | undefined;
  readonly reply: ApiReply;
  /** True if a fault forced the status, which then says nothing about the request. */
  readonly isForced?: boolean;
  readonly struck?: StrikingFault | undefined;
  /** The headers that faults looked at. The journal keeps them, as a replay needs the same ones. */
  readonly lookedAt?: Readonly<Record<string, string>> | undefined;
}

/** Answers a request. The assumption keyCheck says whether the key is checked before the path. */
export function handle(world: Registry, limiter: Limiter, request: ApiRequest): Handled {
  const { assumptions } = world;
  const match = matchRoute(request.path) ?? matchOtherSpelling(request.path, assumptions);
  if (match === undefined)
    return { endpoint: undefined, key: undefined, reply: unknownPathReply(world, request) };
  const { endpoint } = match.route;
  const isTaken = takesMethod(match.route, request.method, assumptions.headMethod);
  if (!isTaken && assumptions.keyCheck === 'after_method')
    return { endpoint, key: undefined, reply: wrongMethodReply(world, match, request) };
  const key = authenticate(world, request.authorization);
  if (key === undefined)
    return { endpoint, key, reply: answerWithoutKey(world, limiter, endpoint, request) };
  if (!isTaken) return { endpoint, key: undefined, reply: wrongMethodReply(world, match, request) };
  return { endpoint, key, reply: answerWithKey(world, limiter, match, key, request) };
}

/** Answers a request with a valid key: takes a token of the account's bucket, then serves it. */
function answerWithKey(
  world: Registry,
  limiter: Limiter,
  match: RouteMatch,
  key: ApiKey,
  request: ApiRequest,
): ApiReply {
  const { endpoint } = match.route;
  let send: ReceivedSend | undefined;
  if (world.assumptions.replaySpends === 'nothing' && isSend(endpoint)) {
    send = receiveSend(world, key, endpoint, request);
    const replay = replayBeforeThrottle(world, send, request);
    if (replay !== undefined) return replay;
  }
  const user = key.account.accountId;
  const retryAfterSeconds = limiter.take(endpoint, user);
  if (retryAfterSeconds > 0)
    return refuse(world, request, { kind: 'throttled', retryAfterSeconds });
  const reply = serveEndpoint(world, match, key, request, send);
  if (reply.status >= 400 && world.assumptions.errorsSpendToken === 'no')
    limiter.giveBack(endpoint, user);
  return reply;
}

/** Serves the endpoint of a request that has passed the throttle. `send`: set if it was read. */
function serveEndpoint(
  world: Registry,
  match: RouteMatch,
  key: ApiKey,
  request: ApiRequest,
  send: ReceivedSend | undefined,
): ApiReply {
  const { endpoint } = match.route;
  switch (endpoint) {
    case 'read':
      return readReply(world, key.account, idIn(match, world), request);
    case 'received':
      return receivedReply(world, key.account, request);
    case 'tasks':
      return tasksReply(world, key.account, idIn(match, world), request);
    case 'stats':
      return statsReply(world, key.account, request);
    default:
      return sendMessage(world, send ?? receiveSend(world, key, endpoint, request), request);
  }
}

/** The id in the path, in the form in which ids are stored. */
function idIn({ id }: RouteMatch, { assumptions }: Registry): string {
  const { pathIdForm } = assumptions;
  return pathIdForm === 'canonical' ? id : canonicalUuid(id, pathIdForm);
}

/** AUTH-6: an unauthenticated call spends from its client IP's bucket. */
function answerWithoutKey(
  world: Registry,
  limiter: Limiter,
  endpoint: EndpointName,
  request: ApiRequest,
): ApiReply {
  const { assumptions } = world;
  const refusal: ServiceError = { kind: 'invalid_key' };
  if (assumptions.unauthenticatedThrottle === 'always_401') return refuse(world, request, refusal);
  const address = addressOf(world, request);
  const retryAfterSeconds = limiter.take(endpoint, address);
  if (retryAfterSeconds > 0)
    return refuse(world, request, { kind: 'throttled', retryAfterSeconds });
  if (assumptions.errorsSpendToken === 'no') limiter.giveBack(endpoint, address);
  return refuse(world, request, refusal);
}

/** The name of the bucket of an unauthenticated caller: its address. */
export function addressOf({ assumptions }: Registry, request: ApiRequest): string {
  return addressCaller(clientAddress(request, assumptions.clientIp));
}

/** The nearest proxy appends the address that it saw, so only the last entry is trustworthy. */
function clientAddress(
  { clientIp, forwardedFor = '' }: ApiRequest,
  source: Registry['assumptions']['clientIp'],
): string {
  const last = source === 'peer' ? '' : forwardedFor.slice(forwardedFor.lastIndexOf(',') + 1);
  // A user of `handle` may give a name as the address.
  return plainIp(last) || plainIp(clientIp) || clientIp;
}

function unknownPathReply(world: Registry, request: ApiRequest): ApiReply {
  const { keyCheck, trailingSlash } = world.assumptions;
  if (keyCheck === 'first' && authenticate(world, request.authorization) === undefined)
    return refuse(world, request, { kind: 'invalid_key' });
  if (trailingSlash === 'redirect') {
    const location = redirectTarget(request);
    if (location !== undefined) return redirectReply(world, request, location);
  }
  return refuse(world, request, { kind: 'not_found' });
}

/** The reply to a path without its last slash. `location`: the path with it, and the query. */
export function redirectReply(
  world: ReplyContext,
  request: TemplatedRequest,
  location: string,
): ApiReply {
  const reply = { status: movedPermanently, body: '{}', headers: { location } };
  return rewrite(world, request, 'redirect', reply, () => ({ location }));
}

/** A redirect repeats only these characters of a request, so that a path cannot inject a header. */
const plainPath = /^[A-Za-z0-9/_-]+$/;
const plainQuery = /^[A-Za-z0-9_=&.%+-]*$/;

function redirectTarget({ path, query }: ApiRequest): string | undefined {
  if (!plainPath.test(path) || matchRoute(`${path}/`) === undefined) return undefined;
  return query !== '' && plainQuery.test(query) ? `${path}/?${query}` : `${path}/`;
}

function wrongMethodReply(world: Registry, { route }: RouteMatch, request: ApiRequest): ApiReply {
  const refusal: ServiceError =
    world.assumptions.methodNotAllowed === '405'
      ? { kind: 'method_not_allowed', allow: allowedMethods(route, world.assumptions.headMethod) }
      : { kind: 'not_found' };
  return refuse(world, request, refusal);
}

function isSend(endpoint: EndpointName): endpoint is SendEndpoint {
  return sendEndpoints.some((each) => each === endpoint);
}

/** Finds the key in an `Authorization` header, by the assumptions bearerSpace and bearerCase. */
const bearerHeaders = { any: /^bearer[ \t]+(\S+)$/i, one: /^bearer (\S+)$/i };

/** The key that the request carries; undefined if it is missing, malformed, wrong or revoked. */
export function authenticate(
  world: Registry,
  authorization: string | undefined,
): ApiKey | undefined {
  if (authorization === undefined) return undefined;
  const key = world.validKeyOfHeader(authorization);
  if (key !== undefined) return key;
  const { bearerSpace, bearerCase } = world.assumptions;
  if (bearerCase === 'exact' && !authorization.startsWith('Bearer')) return undefined;
  const token = bearerHeaders[bearerSpace].exec(authorization)?.[1];
  return token === undefined ? undefined : world.validKey(token);
}

// The next four functions serve the endpoints that are not sends. By default there are no
// templates: they then return early and build no values for one.

function readReply(world: Registry, account: Account, id: string, request: ApiRequest): ApiReply {
  const decision = read(world, account, id);
  if (decision.kind !== 'read') return refuse(world, request, decision);
  const reply = { status: ok, body: decision.body };
  if (world.assumptions.replyTemplates === noReplyTemplates) return reply;
  return rewrite(world, request, 'message', reply, () => ({}));
}

function receivedReply(world: Registry, account: Account, request: ApiRequest): ApiReply {
  const { receivedShape, replyTemplates } = world.assumptions;
  const parameters = new URLSearchParams(request.query);
  const query = { page: parameters.get('page'), page_size: parameters.get('page_size') };
  const decision = listReceived(account, routes.received.pattern, query, world.assumptions);
  if (decision.kind !== 'received') return refuse(world, request, decision);
  const { page } = decision;
  const reply = jsonReply(receivedShape === 'page' ? page : page.results);
  if (replyTemplates === noReplyTemplates) return reply;
  const items = () => itemsOf(world, request, 'received', page.results);
  return rewrite(world, request, 'received', reply, () => ({ ...page, items: items() }));
}

function tasksReply(world: Registry, account: Account, id: string, request: ApiRequest): ApiReply {
  const { tasksShape, replyTemplates } = world.assumptions;
  const decision = pollTasks(world, account, id);
  if (decision.kind !== 'tasks') return refuse(world, request, decision);
  const { tasks } = decision;
  const reply = jsonReply(tasksShape === 'tasks' ? { tasks } : tasks);
  if (replyTemplates === noReplyTemplates) return reply;
  const details = () => tasks.map((task) => taskDetails(world, task));
  const items = () => itemsOf(world, request, 'tasks', details());
  return rewrite(world, request, 'tasks', reply, () => ({ count: tasks.length, items: items() }));
}

function statsReply(world: Registry, account: Account, request: ApiRequest): ApiReply {
  const stats = accountStats(world, account);
  const reply = jsonReply(stats);
  if (world.assumptions.replyTemplates === noReplyTemplates) return reply;
  return rewrite(world, request, 'stats', reply, () => statsValues(stats));
}

function jsonReply(value: unknown): ApiReply {
  return { status: ok, body: JSON.stringify(value) };
}

/** The statistics, by the names of placeholders in templates. */
function statsValues({ messages, quota, sims_connected, received }: AccountStats) {
  const { used, limit } = quota;
  return {
    ...messages,
    accepted: Object.values(messages).reduce((sum, count) => sum + count, 0),
    quota_used: used,
    quota_limit: limit,
    quota_left: limit === null ? null : Math.max(0, limit - used),
    sims_connected,
    received,
  };
}
