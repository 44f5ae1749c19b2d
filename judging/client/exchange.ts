/**
 * One client request and its reply, as the referee judges them. Two feeds produce exchanges: the
 * simulator's record (`src/recording/judged-exchanges.ts`) and recorded traffic
 * (`judging/evidence/exchanges-of-traffic.ts`).
 */
import type { TrafficExchange } from '#contract/exchange.ts';
import { type EndpointName, sendEndpoints } from '#contract/limits.ts';
import { matchRoute } from '#contract/routes.ts';

type Recorded = Pick<TrafficExchange, 'method' | 'isSeen'> &
  Partial<
    Pick<
      TrafficExchange,
      'precisionMs' | 'lacksEnd' | 'setMs' | 'connection' | 'isForced' | 'isGarbled'
    >
  >;

export interface Exchange extends Recorded {
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
  /** The account; in a HAR file the key's digest; for an unauthenticated call the IP address. */
  readonly caller: string;
  /** The key or the unknown credential of the request. */
  readonly credential: string | undefined;
  /** Undefined if the caller was not authenticated. */
  readonly accountId: string | undefined;
  readonly accountName: string | undefined;
  readonly endpoint: EndpointName | undefined;
  /** Path and query. */
  readonly target: string;
  /** The body as sent; empty if there is none. */
  readonly text: string;
  /** The body if it is a JSON object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly status: number;
  /** True if the request or the reply had a body that was not recorded. */
  readonly lacksBody?: boolean | undefined;
  /** True if the headers of the reply were not recorded. */
  readonly lacksHeaders?: boolean | undefined;
  /** True if the record shows the callers of other exchanges, but not of this one. */
  readonly lacksCaller?: boolean | undefined;
  /** The wait that a 429 or a 503 asks for, in milliseconds of the service's clock. */
  readonly retryAfterMs: number | undefined;
  /** Its header `Retry-After`: seconds, or an HTTP date. */
  readonly retryAfter: string | undefined;
  /** The reply's body if it is a JSON object. */
  readonly reply: Readonly<Record<string, unknown>> | undefined;
  /** True if the path, the query or the body holds a key. */
  readonly showsKey: boolean;
}

/** The exchanges as they may have been, too: in another order, or with other overlaps. */
export interface Reading {
  readonly exchanges: readonly Exchange[];
  /** The number that each of them has in the reading that is judged. */
  readonly numbers: readonly number[];
}

/** True if less than `ms` passed between the two requests, whatever their exact times. */
export function areWithin(ms: number, earlier: Exchange, later: Exchange): boolean {
  const { precisionMs = 0 } = later;
  const mostMs = later.atMs - earlier.atMs + precisionMs + Math.max(0, clockChange(earlier, later));
  return precisionMs > 0 ? mostMs <= ms : mostMs < ms;
}

/** True if more than `ms` passed between the two requests, whatever their exact times. */
export function areApart(ms: number, earlier: Exchange, later: Exchange): boolean {
  const { precisionMs = 0 } = earlier;
  const leastMs =
    later.atMs - earlier.atMs - precisionMs + Math.min(0, clockChange(earlier, later));
  return precisionMs > 0 ? leastMs >= ms : leastMs > ms;
}

/** By how much the date and the steady clock of the recorder disagree about the time between. */
function clockChange(earlier: Exchange, later: Exchange): number {
  return (later.setMs ?? 0) - (earlier.setMs ?? 0);
}

const sends: readonly (string | undefined)[] = sendEndpoints;

export function isSend({ endpoint, method }: Exchange): boolean {
  return method === 'POST' && sends.includes(endpoint);
}

/** True if the client saw the whole reply and it says that the message was accepted. */
export function isConfirmed({ status, isSeen }: Exchange): boolean {
  return isSeen && (status === 202 || status === 200);
}

/** True if the service accepted the send, whether or not the client saw the reply. */
export function isAccepted({ status }: Exchange): boolean {
  return status === 202 || status === 200;
}

/** Final refusals: the same request would be refused again (CLIENT-8). */
export const refusedForGood: readonly number[] = [400, 401, 402, 403, 404, 405, 415];

/**
 * True if the client cannot know from this reply whether its message is queued: it must retry, or
 * say that it gives up.
 */
export function isUnresolved({ status, isSeen }: Exchange): boolean {
  return !isSeen || status === 429 || status >= 500;
}

/**
 * A documented refusal that the client saw: the service queued nothing for this request (CLIENT-3).
 */
export function isRefusal(exchange: Exchange): boolean {
  const { status, isSeen } = exchange;
  return isSeen && ((status >= 400 && status < 500) || isInactive(exchange));
}

/** A 503 of a deactivated SIM, whatever the shape of its body; without its body, it may be one. */
export function isInactive({ status, isSeen, reply, lacksBody = false }: Exchange): boolean {
  const mayName = lacksBody || JSON.stringify(reply ?? '').includes('device_inactive');
  return isSeen && status === 503 && mayName;
}

/** The caller's idempotency key; undefined if it sent no key. */
export function requestIdOf({ body }: Exchange): string | undefined {
  const id = body?.['request_id'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** True if the earlier reply had left whole when the later request came. */
export function wasKnownTo(later: Exchange, earlier: Exchange): boolean {
  return earlier.isSeen && !isInFlight(earlier, later);
}

/** True if the later request came before the earlier one's reply had left. */
export function isInFlight(earlier: Exchange, later: Exchange): boolean {
  return later.number <= earlier.openUntil;
}

/** Equal for sends of one caller that differ at most in their `request_id`. */
export function contentOf(send: Exchange): string {
  const { caller, endpoint, body, text } = send;
  if (body === undefined) return JSON.stringify([caller, endpoint, text]);
  const { send_at: sendAt } = body;
  return JSON.stringify([caller, endpoint, senderOf(send), body['to'], body['message'], sendAt]);
}

/** Equal for sends of the same text to the same recipient, by any sender and at any time. */
export function recipientAndTextOf({ body, text }: Exchange): string {
  return body === undefined ? text : JSON.stringify([body['to'], body['message']]);
}

/** True if both sends say the same to the same recipient. */
export function haveSameRecipientAndText(one: Exchange, other: Exchange): boolean {
  const isPlain = ({ body }: Exchange) =>
    typeof body?.['to'] === 'string' && typeof body['message'] === 'string';
  // Most are two texts, which are compared faster without making a key of them.
  return isPlain(one) && isPlain(other)
    ? one.body?.['to'] === other.body?.['to'] && one.body?.['message'] === other.body?.['message']
    : recipientAndTextOf(one) === recipientAndTextOf(other);
}

export function haveSameSenderAndTime(one: Exchange, other: Exchange): boolean {
  return senderOf(one) === senderOf(other) && one.body?.['send_at'] === other.body?.['send_at'];
}

export function senderOf({ body }: Exchange): unknown {
  return body?.['from'] ?? body?.['from_number'];
}

/** The reply's `message_id`; undefined if it has none. */
export function messageIdOf({ reply }: Exchange): string | undefined {
  const id = reply?.['message_id'];
  return typeof id === 'string' ? id : undefined;
}

/** In place of a status that the record lacks: it may be any. */
export const unrecorded = 'not recorded';

export function statusIn({ reply, lacksBody }: Exchange): string {
  return lacksBody ? unrecorded : String(reply?.['status']);
}

/** The id of the message that was read. */
export function readIdOf(read: Exchange): string {
  return messageIdOf(read) ?? matchRoute(read.target)?.id ?? '';
}

/** The reads that showed the client a message. */
export function readsIn(exchanges: readonly Exchange[]): readonly Exchange[] {
  return exchanges.filter(
    ({ endpoint, status, isSeen }) => endpoint === 'read' && status === 200 && isSeen,
  );
}

/**
 * The first acceptance of each message: each 202, and each 200 whose message no 202 in the list
 * created. A garbled 202 does not name its message: each such 200 takes the place of a garbled 202.
 */
export function firstAcceptances(attempts: readonly Exchange[]): readonly Exchange[] {
  const [only] = attempts;
  if (only !== undefined && attempts.length === 1)
    return only.status === 202 || (only.status === 200 && hasMessageId(only)) ? attempts : [];
  const created = firstOfEachId(attempts.filter(({ status }) => status === 202));
  const named = created.filter(hasMessageId);
  const unnamed = created.filter((exchange) => !hasMessageId(exchange));
  const createdIds = new Set(created.map(messageIdOf));
  const replays = attempts.filter((attempt) => attempt.status === 200 && hasMessageId(attempt));
  const replayed = firstOfEachId(replays).filter((replay) => !createdIds.has(messageIdOf(replay)));
  const all = [...named, ...unnamed.slice(replayed.length), ...replayed];
  return all.sort((a, b) => a.number - b.number);
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
