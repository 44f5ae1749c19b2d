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
import { type Ahead, Clocks } from './clock-offset.ts';
import { RecordedReply } from './exchange.ts';
import { asksForWait, isGarbled, KeyNames, keyIn, objectIn, waitMs } from './reading.ts';

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
    otherReadings: function* () {
      yield* readingsByOneClock(exchanges, clocks);
      yield* otherReadingsOf(exchanges);
    },
  };
}

/** An exchange that is not complete yet: its overlaps depend on later ones. */
export type MutableExchange = { -readonly [K in keyof ClientExchange]: ClientExchange[K] };

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
    showsKey: hasAnyOf(keyNames, path) || hasAnyOf(keyNames, query) || hasAnyOf(keyNames, body),
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

// How much later than recorded a reply may have come. The reading that is judged takes the least: only
// exchanges that were certainly open together overlap, because most clients wait for each reply.
function leastLateMs({ precisionMs = 0 }: ClientExchange): number {
  return -precisionMs;
}

function mostLateMs({ precisionMs = 0, lacksEnd = false }: ClientExchange): number {
  return lacksEnd ? Number.POSITIVE_INFINITY : precisionMs;
}

/** In place of how far two clocks are apart that no reply compares. */
const anyTime: Ahead = { least: -1e12, most: 1e12 };

/**
 * If one file has the lines of several recorders: with their times by the clock of the first one, each
 * recorder and the next as far apart as they may be, in one direction and in the other.
 */
function* readingsByOneClock(
  exchanges: readonly MutableExchange[],
  clocks: readonly string[],
): Generator<Reading> {
  const [first, ...others] = new Set(clocks);
  if (others.length === 0) return;
  const offsets = new Clocks();
  for (const [at, { reply }] of exchanges.entries()) offsets.of(clocks[at]).note(reply);
  const own = offsets.of(first);
  const ahead = new Map(
    others.map((name, nth) => {
      const { least, most } = own.behind(offsets.of(name)) ?? anyTime;
      return [name, nth % 2 === 0 ? [least, most] : [most, least]];
    }),
  );
  const times = exchanges.map(({ sentAt, answeredAt }) => ({ sentAt, answeredAt }));
  try {
    for (const bound of [0, 1]) {
      for (const [at, exchange] of exchanges.entries()) {
        const aheadMs = ahead.get(clocks[at] ?? '')?.[bound] ?? 0;
        const { sentAt, answeredAt } = times[at] ?? exchange;
        Object.assign(exchange, { sentAt: sentAt - aheadMs, answeredAt: answeredAt - aheadMs });
      }
      const reading = exchanges.toSorted((a, b) => a.sentAt - b.sentAt);
      renumber(reading);
      setOverlaps(reading, leastLateMs);
      yield reading;
    }
  } finally {
    for (const [at, exchange] of exchanges.entries()) Object.assign(exchange, times[at]);
    renumber(exchanges);
    setOverlaps(exchanges, leastLateMs);
  }
}

/** Each reading changes the exchanges themselves: copies would cost more than to judge them. */
function* otherReadingsOf(exchanges: readonly MutableExchange[]): Generator<Reading> {
  if (!exchanges.some(isInexact)) return;
  const judged = exchanges.map(({ openUntil }) => openUntil);
  try {
    setOverlaps(exchanges, mostLateMs);
    if (exchanges.some(({ openUntil }, at) => openUntil !== judged[at])) yield exchanges;
    if (exchanges.every(({ sentAt }, at) => sentAt !== exchanges[at - 1]?.sentAt)) return;
    const reversed = withTiesReversed(exchanges);
    renumber(reversed);
    setOverlaps(reversed, leastLateMs);
    yield reversed;
  } finally {
    renumber(exchanges);
    setOverlaps(exchanges, leastLateMs);
  }
}

function isInexact({ precisionMs = 0, lacksEnd = false }: ClientExchange): boolean {
  return precisionMs > 0 || lacksEnd;
}

/** The exchanges, with those of equal times in reverse: their true order is not known. */
function withTiesReversed(exchanges: readonly MutableExchange[]): MutableExchange[] {
  const reversed: MutableExchange[] = [];
  let start = 0;
  for (const [at, one] of exchanges.entries()) {
    if (one.sentAt !== exchanges[at - 1]?.sentAt) start = at;
    reversed.splice(start, 0, one);
  }
  return reversed;
}

function renumber(exchanges: readonly MutableExchange[]): void {
  for (const [at, one] of exchanges.entries()) one.number = at + 1;
}

/** Sets which exchanges were open together. Their numbers must be their places, from 1. */
function setOverlaps(
  exchanges: readonly MutableExchange[],
  lateMsOf: (exchange: ClientExchange) => number,
): void {
  const lastMs = exchanges.at(-1)?.sentAt ?? 0;
  for (const [at, exchange] of exchanges.entries()) {
    const latestMs = exchange.answeredAt + lateMsOf(exchange);
    let openUntil = latestMs === Number.POSITIVE_INFINITY ? exchanges.length : at + 1;
    while ((exchanges[openUntil]?.sentAt ?? latestMs) < latestMs) openUntil++;
    exchange.openUntil = openUntil;
    exchange.isOpenAtEnd = latestMs > lastMs;
  }
}
