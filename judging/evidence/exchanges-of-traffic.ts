/**
 * Makes the referee's exchanges from traffic with any service: from recordings of `smstwin record`
 * and from HAR files of browsers and proxies. Times are the recorder's. The API key identifies the
 * caller, because recorded traffic does not show accounts.
 */

import { lacksBody, type TrafficExchange, type TrafficReply } from '#contract/exchange.ts';
import { matchRoute } from '#contract/routes.ts';
import type { Exchange, Reading } from '../client/exchange.ts';
import { asksForWait, isGarbled, KeyNames, keyIn, objectIn, waitMs } from './reading.ts';

export interface ReadTraffic {
  readonly exchanges: Exchange[];
  /** What the exchanges may have been otherwise, because times are known only to a part. */
  readonly otherReadings: readonly Reading[];
}

/** `keys`: those of the files, for texts that were read before their keys were known. */
export function exchangesOfTraffic(
  traffic: readonly TrafficExchange[],
  keys = new KeyNames(),
): ReadTraffic {
  const names = new Set([...keys.names, ...traffic.map(keyOf)]);
  names.delete('');
  const isCallerShown = traffic.some((one) => one.showsCredential);
  const exchanges = traffic
    .toSorted((a, b) => a.sentAt - b.sentAt)
    .map((each, index) => exchangeOf(each, index + 1, keys, names, isCallerShown));
  // Only exchanges that were certainly open together: most clients wait for each reply.
  const earliest = ({ precisionMs = 0 }: Exchange) => -precisionMs;
  withOverlaps(exchanges, overlapsIn(exchanges, earliest));
  const otherReadings: Reading[] = [];
  if (exchanges.some(isInexact)) {
    const overlaps = overlapsIn(exchanges, ({ precisionMs = 0, lacksEnd = false }) =>
      lacksEnd ? Number.POSITIVE_INFINITY : precisionMs,
    );
    // A copy of all exchanges is made only if it differs.
    if (exchanges.some(({ openUntil }, at) => openUntil !== overlaps[at]?.openUntil))
      otherReadings.push(renumbered(withOverlaps(copied(exchanges), overlaps)));
    if (exchanges.some(({ atMs }, at) => atMs === exchanges[at - 1]?.atMs)) {
      const reversed = withTiesReversed(copied(exchanges));
      otherReadings.push(renumbered(withOverlaps(reversed, overlapsIn(reversed, earliest))));
    }
  }
  return { exchanges, otherReadings };
}

function isInexact({ precisionMs = 0, lacksEnd = false }: Exchange): boolean {
  return precisionMs > 0 || lacksEnd;
}

function copied(exchanges: readonly Exchange[]): MutableExchange[] {
  return exchanges.map((one) => ({ ...one }));
}

/** Exchanges that came at one time in the other order: their true order is not known. */
function withTiesReversed(exchanges: readonly MutableExchange[]): MutableExchange[] {
  const reversed: MutableExchange[] = [];
  let start = 0;
  for (const [at, one] of exchanges.entries()) {
    if (one.atMs !== exchanges[at - 1]?.atMs) start = at;
    reversed.splice(start, 0, one);
  }
  return reversed;
}

/** The exchanges numbered in their order, and the numbers that they had. */
function renumbered(exchanges: readonly MutableExchange[]): Reading {
  const numbers = exchanges.map(({ number }) => number);
  for (const [at, one] of exchanges.entries()) Object.assign(one, { number: at + 1 });
  return { exchanges, numbers };
}

/** Until when an exchange is open, see `Exchange`. */
type Overlap = Pick<MutableExchange, 'openUntil' | 'isOpenAtEnd'>;

/** Which exchanges were open together. `lateMsOf`: how much later a reply may have come. */
function overlapsIn(
  exchanges: readonly Exchange[],
  lateMsOf: (exchange: Exchange) => number,
): Overlap[] {
  const lastMs = exchanges.at(-1)?.atMs ?? 0;
  return exchanges.map((exchange, at) => {
    const latestMs = exchange.answeredAtMs + lateMsOf(exchange);
    let openUntil = latestMs === Number.POSITIVE_INFINITY ? exchanges.length : at + 1;
    while ((exchanges[openUntil]?.atMs ?? latestMs) < latestMs) openUntil++;
    return { openUntil, isOpenAtEnd: latestMs > lastMs };
  });
}

function withOverlaps(exchanges: MutableExchange[], overlaps: readonly Overlap[]) {
  for (const [at, exchange] of exchanges.entries()) Object.assign(exchange, overlaps[at]);
  return exchanges;
}

const noReply: TrafficReply = { status: 0, headers: {}, body: '' };

/** An exchange whose later neighbours are not known yet. */
type MutableExchange = Exchange & { openUntil: number; isOpenAtEnd: boolean };

/** `names`: those of all keys. `isCallerShown`: by some exchange of the record. */
function exchangeOf(
  traffic: TrafficExchange,
  number: number,
  keys: KeyNames,
  names: ReadonlySet<string>,
  isCallerShown: boolean,
): MutableExchange {
  const { sentAt, answeredAt, method, query, precisionMs, setMs, connection } = traffic;
  const { status, headers, lacksHeaders = false, body: replyText = '' } = traffic.reply ?? noReply;
  const retryAfter = asksForWait(status) ? headers['retry-after'] : undefined;
  const key = keyOf(traffic);
  const caller = key || 'unauthenticated';
  const path = keys.hiddenInAddress(traffic.path);
  const target = query === '' ? path : `${path}?${keys.hiddenInAddress(query)}`;
  const text = keys.hiddenIn(traffic.body ?? '');
  const reply = objectIn(keys.hiddenIn(replyText));
  const hasBrokenBody = traffic.isGarbled ?? (reply === undefined && isGarbled(status, replyText));
  return {
    number,
    atMs: sentAt,
    answeredAtMs: answeredAt,
    openUntil: number,
    isOpenAtEnd: false,
    precisionMs,
    lacksEnd: traffic.lacksEnd,
    setMs,
    connection,
    caller,
    credential: caller,
    accountId: key === '' || status === 401 ? undefined : caller,
    accountName: undefined,
    endpoint: matchRoute(path)?.route.endpoint,
    method,
    target,
    text,
    body: objectIn(text),
    status,
    isForced: traffic.isForced,
    lacksBody: lacksBody(traffic) || undefined,
    lacksHeaders: lacksHeaders || undefined,
    lacksCaller: (isCallerShown && !traffic.showsCredential && status !== 401) || undefined,
    retryAfterMs: waitMs(retryAfter, 1, serviceTimeOf(headers['date'], sentAt)),
    retryAfter,
    reply,
    isSeen: traffic.isSeen && !hasBrokenBody,
    isGarbled: hasBrokenBody || undefined,
    showsKey: shows(target, names) || shows(text, names),
  };
}

/** The latest time of the service's clock at a reply; without its `Date`, the recorder's time. */
function serviceTimeOf(date: string | undefined, sentAt: number): number {
  return date === undefined ? sentAt : Date.parse(date) + 1_000;
}

/** The name of the request's API key; empty if the file lacks it, as browsers' exports often do. */
function keyOf({ headers }: TrafficExchange): string {
  return keyIn(headers['authorization']) ?? '';
}

function shows(text: string, names: ReadonlySet<string>): boolean {
  if (!text.includes('key:')) return false;
  for (const name of names) if (text.includes(name)) return true;
  return false;
}
