/**
 * An exchange as the referee judges it: with its place in the record of a client, and with what the
 * client saw of it. Two feeds produce them: the simulator's record
 * (`src/recording/judged-exchanges.ts`) and recorded traffic
 * (`judging/evidence/exchanges-of-traffic.ts`).
 */
import type { TrafficExchange } from '#contract/exchange.ts';
import { matchRoute } from '#contract/routes.ts';
import { dayMs } from '#contract/time.ts';
import { getOrAdd } from '#io/grouped.ts';
import {
  bodyOf,
  type Caller,
  type Exchange,
  isSend,
  senderNumberOf,
} from '../evidence/exchange.ts';

/** Who sent a request, as far as its record shows it. */
export interface ClientCaller extends Caller {
  /** The account; in a HAR file the key's digest; for an unauthenticated call the IP address. */
  readonly name: string;
  /** The key or the unknown credential of the request. */
  readonly credential: string | undefined;
  readonly accountName?: string | undefined;
}

/** What a record holds of an exchange as its file has it; each time may be later by `precisionMs`. */
type Recorded = Pick<
  TrafficExchange,
  'precisionMs' | 'lacksEnd' | 'dateShiftMs' | 'connection' | 'isForced' | 'isSeen' | 'isGarbled'
>;

export interface ClientExchange extends Exchange, Recorded {
  /** The number of its request; in a HAR file its place, from 1. */
  readonly number: number;
  /** The last exchange whose request came before this reply left; usually its own number. */
  readonly openUntil: number;
  /** True if the record ends before it shows that this reply left. */
  readonly isOpenAtEnd: boolean;
  readonly caller: ClientCaller;
  /** Path and query. */
  readonly target: string;
  /** Empty if there is none. */
  readonly body: string;
  /** True if the request or the reply had a body that was not recorded. */
  readonly lacksBody?: boolean | undefined;
  /** True if the record shows the callers of other exchanges, but not of this one. */
  readonly lacksCaller?: boolean | undefined;
  /** The wait that a 429 or a 503 asks for, in milliseconds of the service's clock. */
  readonly retryAfterMs: number | undefined;
  /** Its header `Retry-After`: seconds, or an HTTP date. */
  readonly retryAfter: string | undefined;
  /** True if the path, the query or the body holds a key. */
  readonly showsKey: boolean;
}

/** The exchanges in one of the orders, and with one of the overlaps, that the record permits. */
export type Reading = readonly ClientExchange[];

/** True if less than `ms` passed between the two requests, whatever their exact times. */
export function areWithin(ms: number, earlier: ClientExchange, later: ClientExchange): boolean {
  const { precisionMs = 0 } = later;
  const mostMs = later.sentAt - earlier.sentAt + precisionMs + clockChange(earlier, later);
  return precisionMs > 0 ? mostMs <= ms : mostMs < ms;
}

/** True if more than `ms` passed between the two requests, whatever their exact times. */
export function areApart(ms: number, earlier: ClientExchange, later: ClientExchange): boolean {
  const { precisionMs = 0 } = earlier;
  const leastMs = later.sentAt - earlier.sentAt - precisionMs - clockChange(earlier, later);
  return precisionMs > 0 ? leastMs >= ms : leastMs > ms;
}

/** True if the later request certainly came more than a day after the earlier one was handled. */
export function areADayApart(earlier: ClientExchange, later: ClientExchange): boolean {
  return areApart(dayMs + earlier.answeredAt - earlier.sentAt, earlier, later);
}

/** By how much the date and the steady clock of the recorder disagree about the time between. */
function clockChange(earlier: ClientExchange, later: ClientExchange): number {
  return Math.abs((later.dateShiftMs ?? 0) - (earlier.dateShiftMs ?? 0));
}

/*
 * What each reply says of its send. If the client did not see it, only the column of the service
 * holds, and `isUnresolved`.
 *
 *     status               service                              client
 *     200, 202             isAcceptedOrReplayed, mayBeAccepted  isConfirmed
 *     400 to 405, 415      refusedForGood                       isRefusal
 *     429                                                       isRefusal, isUnresolved
 *     other 4xx                                                 isRefusal
 *     503 device_inactive                                       isRefusal, isUnresolved, isInactive
 *     other 5xx, none (0)  mayBeAccepted                        isUnresolved
 */

/** True if the service accepted the send, now or before, whether or not the client saw the reply. */
export function isAcceptedOrReplayed({ reply }: ClientExchange): boolean {
  return reply.status === 202 || reply.status === 200;
}

/** True if the service accepted the send, or may have: no reply that was recorded says otherwise. */
export function mayBeAccepted(send: ClientExchange): boolean {
  const { status } = send.reply;
  return isAcceptedOrReplayed(send) || status === 0 || (status >= 500 && !saysInactive(send));
}

/** True if the client saw the whole reply and it says that the message was accepted. */
export function isConfirmed(exchange: ClientExchange): boolean {
  return exchange.isSeen && isAcceptedOrReplayed(exchange);
}

/** Final refusals: the same request would be refused again (CLIENT-8). */
export const refusedForGood: readonly number[] = [400, 401, 402, 403, 404, 405, 415];

/**
 * A documented refusal that the client saw: the service queued nothing for this request (CLIENT-3).
 */
export function isRefusal(exchange: ClientExchange): boolean {
  const { reply, isSeen } = exchange;
  return isSeen && ((reply.status >= 400 && reply.status < 500) || isInactive(exchange));
}

/**
 * True if the client cannot know from this reply whether its message is queued: it must retry, or
 * say that it gives up.
 */
export function isUnresolved({ reply, isSeen }: ClientExchange): boolean {
  return !isSeen || reply.status === 429 || reply.status >= 500;
}

/** A 503 of a deactivated SIM, whatever the shape of its body; without its body, it may be one. */
export function isInactive(exchange: ClientExchange): boolean {
  return exchange.isSeen && saysInactive(exchange);
}

/** As `isInactive`, whether the client saw the reply or not. */
function saysInactive(exchange: ClientExchange): boolean {
  const { reply, lacksBody = false } = exchange;
  if (reply.status !== 503) return false;
  return lacksBody || JSON.stringify(bodyOf(exchange)).includes('device_inactive');
}

/** True if the content or the caller of a send is unknown: the record lacks it, or a part of it. */
export function isUnclear(exchange: ClientExchange): boolean {
  const { lacksBody = false, lacksCaller = false, body, fields, reply } = exchange;
  if ((fields !== undefined && !lacksCaller) || !isSend(exchange)) return false;
  // A service refuses broken JSON for good: any other reply shows that the recorder cut the body.
  const isCut = /^\s*\{/.test(body) && !refusedForGood.includes(reply.status);
  return lacksCaller || (body === '' ? lacksBody : isCut);
}

/** True if the earlier reply had left whole when the later request came. */
export function wasKnownTo(later: ClientExchange, earlier: ClientExchange): boolean {
  return earlier.isSeen && !isInFlight(earlier, later);
}

/** True if the later request came before the earlier one's reply had left. */
export function isInFlight(earlier: ClientExchange, later: ClientExchange): boolean {
  return later.number <= earlier.openUntil;
}

/*
 * When two sends count as one message. The strictest comparison is that of `contentOf`; looser are
 * those of recipient and text, and of sender and time.
 */

/** Equal for sends of one caller that differ at most in their `request_id`. */
export function contentOf(send: ClientExchange): string {
  const { caller, endpoint, fields, body } = send;
  if (fields === undefined) return JSON.stringify([caller.name, endpoint, body]);
  const text = plainText(fields['message']);
  return JSON.stringify([
    caller.name,
    endpoint,
    senderNumberOf(send),
    fields['to'],
    text,
    sendAtOf(send),
  ]);
}

/** Equal for sends of the same text to the same recipient, by any sender and at any time. */
export function recipientAndTextOf({ fields, body }: ClientExchange): string {
  return fields === undefined ? body : messageKey(fields['to'], fields['message']);
}

export function messageKey(to: unknown, text: unknown): string {
  return JSON.stringify([to, plainText(text)]);
}

/** Equal for texts that look the same: one may write an accent as a character of its own. */
export function plainText(text: unknown): unknown {
  // Most texts have no such character, and are compared as they are.
  return typeof text === 'string' && notAscii.test(text) ? text.normalize() : text;
}

const notAscii = /[^\0-\x7f]/;

/** True if both sends say the same to the same recipient. */
export function haveSameRecipientAndText(one: ClientExchange, other: ClientExchange): boolean {
  const isPlain = ({ fields }: ClientExchange) =>
    typeof fields?.['to'] === 'string' && typeof fields['message'] === 'string';
  // Most are two texts, which are compared faster without making a key of them.
  return isPlain(one) && isPlain(other)
    ? one.fields?.['to'] === other.fields?.['to'] &&
        plainText(one.fields?.['message']) === plainText(other.fields?.['message'])
    : recipientAndTextOf(one) === recipientAndTextOf(other);
}

export function haveSameSenderAndTime(one: ClientExchange, other: ClientExchange): boolean {
  return senderNumberOf(one) === senderNumberOf(other) && sendAtOf(one) === sendAtOf(other);
}

/** Equal for all spellings of a time with a zone, and for a missing one and null. */
export function sendAtOf({ fields }: Pick<ClientExchange, 'fields'>): unknown {
  const given = fields?.['send_at'] ?? undefined;
  if (typeof given !== 'string' || !hasZone.test(given)) return given;
  const ms = Date.parse(given);
  return Number.isNaN(ms) ? given : ms;
}

const hasZone = /(?:z|[+-]\d\d:?\d\d)$/i;

/** The recipient of a send; undefined for a recipient that is not text. */
export function recipientOf({ fields }: ClientExchange): string | undefined {
  const { to } = fields ?? {};
  return typeof to === 'string' ? to : undefined;
}

/** The reply's `message_id`; undefined if it has none. */
export function messageIdIfAny(exchange: ClientExchange): string | undefined {
  const id = bodyOf(exchange)['message_id'];
  return typeof id === 'string' ? id : undefined;
}

/** In place of a status that the record lacks. */
export const unrecorded = 'not recorded';

/** True if the status is this one, or may be, as the record lacks it. */
export function mayBeStatus(status: string | undefined, wanted: 'delivered' | 'failed'): boolean {
  return status === wanted || status === unrecorded;
}

export function statusIn(exchange: ClientExchange): string {
  return exchange.lacksBody ? unrecorded : String(bodyOf(exchange)['status']);
}

export function readIdOf(read: ClientExchange): string {
  return messageIdIfAny(read) ?? matchRoute(read.target)?.id ?? '';
}

/** The reads that showed the client a message. */
export function readsIn(exchanges: readonly ClientExchange[]): readonly ClientExchange[] {
  return exchanges.filter(
    ({ endpoint, reply, isSeen }) => endpoint === 'read' && reply.status === 200 && isSeen,
  );
}

/** Each exchange with the one before it that has the same caller and key. */
export function* consecutive(
  exchanges: readonly ClientExchange[],
  keyOf: (exchange: ClientExchange) => string | undefined,
): Generator<readonly [earlier: ClientExchange, later: ClientExchange]> {
  const callers = new Map<string, Map<string, ClientExchange>>();
  for (const exchange of exchanges) {
    const key = keyOf(exchange);
    if (key === undefined) continue;
    const { name } = exchange.caller;
    const last = getOrAdd(callers, name, () => new Map<string, ClientExchange>());
    const earlier = last.get(key);
    if (earlier !== undefined) yield [earlier, exchange];
    last.set(key, exchange);
  }
}
