/**
 * Makes the referee's exchanges from traffic with any service: from recordings of `smstwin record`
 * and from HAR files of browsers and proxies. Times are the recorder's. The API key identifies the
 * caller, because recorded traffic does not show accounts.
 */
import { lacksBody, type TrafficExchange } from '#contract/exchange.ts';
import { matchRoute } from '#contract/routes.ts';
import { secondMs } from '#contract/time.ts';
import { getOrAdd } from '#io/grouped.ts';
import type { ClientCaller, ClientExchange, Reading } from '../client/exchange.ts';
import { asksForWait } from './exchange.ts';
import { leastLateMs, type MutableExchange, otherReadings, setOverlaps } from './other-readings.ts';
import { KeyNames, keyIn, objectIn, plainAddress } from './reading.ts';
import { isGarbled, RecordedReply } from './reply.ts';

export interface ReadTraffic {
  readonly exchanges: ClientExchange[];
  /** See `JudgeOptions`. */
  readonly otherReadings: () => Generator<Reading>;
}

/** `keys`: those of the files, for texts that were read before their keys were known. */
export function exchangesOfTraffic(
  traffic: readonly TrafficExchange[],
  keys = new KeyNames(),
): ReadTraffic {
  const keyNames = new Set([...keys.names, ...traffic.map(keyOf)]);
  keyNames.delete('');
  const isCallerShown = traffic.some((one) => one.showsCredential);
  const record = { keys, keyNames, callers: new Map(), isCallerShown };
  const inOrder = traffic.toSorted((a, b) => a.sentAt - b.sentAt);
  const exchanges = inOrder.map((each, index) => exchangeOf(each, index + 1, record));
  setOverlaps(exchanges, leastLateMs);
  const clocks = inOrder.map(({ clock = '' }) => clock);
  return {
    exchanges,
    otherReadings: () => otherReadings(exchanges, clocks),
  };
}

/** What is known of an exchange besides its traffic. The texts have names in place of keys. */
type Known = Pick<
  MutableExchange,
  'number' | 'caller' | 'endpoint' | 'path' | 'query' | 'body' | 'showsKey'
> & {
  readonly replyBody: string;
  /** The service's seconds in each second of a `Retry-After`. */
  readonly waitRate: number;
};

/** An exchange as the referee judges it, whatever recorded it. */
export function clientExchangeOf(
  traffic: Omit<TrafficExchange, 'path' | 'query' | 'body' | 'host' | 'showsCredential'>,
  known: Known,
): MutableExchange {
  const { sentAt, answeredAt, method, headers, precisionMs, dateShiftMs, connection } = traffic;
  const { number, path, query, body, replyBody } = known;
  const reply = new RecordedReply(traffic, traffic.reply?.status, replyBody);
  const { status } = reply;
  const { date } = reply.headers;
  const retryAfter = asksForWait(status) ? reply.headers['retry-after'] : undefined;
  const hasBrokenBody = traffic.isGarbled ?? isGarbled(reply);
  return {
    number,
    sentAt,
    answeredAt,
    openUntil: number,
    isOpenAtEnd: false,
    precisionMs,
    lacksEnd: traffic.lacksEnd,
    dateShiftMs,
    connection,
    caller: known.caller,
    endpoint: known.endpoint,
    method,
    path,
    query,
    target: query === '' ? path : `${path}?${query}`,
    headers,
    body,
    fields: objectIn(body),
    reply,
    isRetried: false,
    isForced: traffic.isForced,
    retryAfterMs: waitMs(retryAfter, known.waitRate, () => serviceTimeOf(date, sentAt)),
    retryAfter,
    isSeen: traffic.isSeen && !hasBrokenBody,
    isGarbled: hasBrokenBody || undefined,
    showsKey: known.showsKey,
  };
}

/** What all exchanges of a record share. */
interface SharedByRecord {
  readonly keys: KeyNames;
  readonly keyNames: ReadonlySet<string>;
  /** One object for all exchanges of a caller. */
  readonly callers: Map<string, ClientCaller>;
  /** True if some exchange of the record shows its credential. */
  readonly isCallerShown: boolean;
}

function exchangeOf(
  traffic: TrafficExchange,
  number: number,
  { keys, keyNames, callers, isCallerShown }: SharedByRecord,
): MutableExchange {
  const { status = 0, body: replyBody = '' } = traffic.reply ?? {};
  const path = keys.hiddenInAddress(traffic.path);
  const query = keys.hiddenInAddress(traffic.query);
  const body = keys.hiddenIn(traffic.body ?? '');
  const exchange = clientExchangeOf(traffic, {
    number,
    caller: callerOf(keyOf(traffic), status, callers),
    endpoint: matchRoute(path)?.route.endpoint,
    path,
    query,
    body,
    replyBody: keys.hiddenIn(replyBody),
    // A recording escapes the names of keys in addresses and forms.
    showsKey: [path, query, body].some((text) => hasAnyOf(keyNames, plainAddress(text))),
    waitRate: 1,
  });
  if (lacksBody(traffic)) exchange.lacksBody = true;
  if (isCallerShown && !traffic.showsCredential && status !== 401) exchange.lacksCaller = true;
  return exchange;
}

/** `key`: its name; empty without one. */
function callerOf(key: string, status: number, callers: Map<string, ClientCaller>): ClientCaller {
  const name = key || 'unauthenticated';
  const isKnown = key !== '' && status !== 401;
  const known = { account: isKnown ? name : undefined, key: isKnown ? 'valid' : 'wrong' } as const;
  const id = isKnown ? name : `unknown ${name}`;
  return getOrAdd(callers, id, () => ({ name, credential: name, isNew: false, ...known }));
}

/** The latest time of the service's clock at a reply; without its `Date`, the recorder's time. */
function serviceTimeOf(date: string | undefined, sentAt: number): number {
  return date === undefined ? sentAt : Date.parse(date) + secondMs;
}

/** The name of the request's API key; empty if the file lacks it, as browsers' exports often do. */
function keyOf({ headers }: TrafficExchange): string {
  return keyIn(headers['authorization']) ?? '';
}

function hasAnyOf(names: ReadonlySet<string>, text: string): boolean {
  // Most texts have no key.
  if (!text.includes('key:')) return false;
  for (const name of names) if (text.includes(name)) return true;
  return false;
}

/** The three forms of a date in RFC 9110; the oldest names no zone, as all are GMT. */
const dateForms = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w -]*\d\d:\d\d:\d\d(?: GMT| \d{4})$/;

/**
 * The wait that a `Retry-After` asks for, in milliseconds of the service's clock. `rate`: the
 * service's seconds in each second of the header. `nowMs`: the service's time, from which a date
 * counts.
 */
export function waitMs(
  header: string | undefined,
  rate: number,
  nowMs: () => number,
): number | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * secondMs * rate : undefined;
  if (!dateForms.test(header)) return undefined;
  const untilEndMs = Math.max(0, Date.parse(`${header.replace(/ GMT$/, '')} GMT`) - nowMs());
  return Number.isNaN(untilEndMs) ? undefined : untilEndMs;
}
