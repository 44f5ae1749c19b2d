/**
 * Makes the referee's exchanges from traffic with any service: from recordings of `smstwin record`
 * and from HAR files of browsers and proxies. Times are the recorder's. The API key identifies the
 * caller, because recorded traffic does not show accounts.
 */

import { basename } from 'node:path';
import {
  lacksBody,
  type NoticeTaker,
  type TrafficExchange,
  type TrafficReply,
} from '#contract/exchange.ts';
import { matchRoute } from '#contract/routes.ts';
import { sha256 } from '#io/digest.ts';
import type { Exchange } from '../client/exchange.ts';
import { HarEntries } from './har-entries.ts';
import { exchangeOfEntry } from './har-entry.ts';
import {
  asksForWait,
  endpointOf,
  isGarbled,
  objectIn,
  plainAddress,
  plainJson,
  waitMs,
} from './reading.ts';

/**
 * Reads the text of a HAR file. Throws a CommandError that names what is wrong. `name` is the
 * file's. Skips what cannot be read; `onNotice` gets a line about it.
 */
export function exchangesOfHar(
  text: string,
  name: string,
  onNotice: NoticeTaker = () => {},
): Exchange[] {
  const entries = new HarEntries(name);
  const traffic = [
    ...entries.add(text),
    ...entries.end(onNotice, () => onNotice(endsInMidst(name), true)),
  ].map(exchangeOfEntry);
  return exchangesOf(ofService(traffic), keyName);
}

/** `path`: of a file. */
export function endsInMidst(path: string): string {
  return `${basename(path)}: it ends in the midst; read up to there`;
}

/** The API requests to those hosts that got a request with a path of the service. */
function ofService(traffic: readonly TrafficExchange[]): readonly TrafficExchange[] {
  const isService = ({ path }: TrafficExchange) => matchRoute(pathOf(path)) !== undefined;
  const hosts = new Set(traffic.filter(isService).map(({ host }) => host));
  return traffic.filter(
    ({ method, host, path }) => hosts.has(host) && path.includes('/api/') && method !== 'OPTIONS',
  );
}

/** Makes exchanges from recorded traffic, in which names already stand for keys. */
export function exchangesOfTraffic(traffic: readonly TrafficExchange[]): Exchange[] {
  return exchangesOf(traffic, (key) => key);
}

function exchangesOf(
  traffic: readonly TrafficExchange[],
  nameOf: (key: string) => string,
): Exchange[] {
  const keys = new Map<string, string>();
  for (const each of traffic) {
    const key = keyOf(each);
    if (key !== '' && !keys.has(key)) keys.set(key, nameOf(key));
  }
  const exchanges = traffic
    .toSorted((a, b) => a.sentAt - b.sentAt)
    .map((each, index) => exchangeOf(each, index + 1, keys));
  const lastMs = exchanges.at(-1)?.atMs ?? 0;
  for (const exchange of exchanges) {
    exchange.isOpenAtEnd = exchange.answeredAtMs > lastMs;
    // Numbers start at 1, so `openUntil` is the index of the exchange after the one it names.
    let next = exchanges[exchange.openUntil];
    while (next !== undefined && next.atMs < exchange.answeredAtMs) {
      next = exchanges[++exchange.openUntil];
    }
  }
  return exchanges;
}

const noReply: TrafficReply = { status: 0, headers: {}, body: '' };

/** An exchange whose later neighbours are not known yet. */
type MutableExchange = Exchange & { openUntil: number; isOpenAtEnd: boolean };

/** `keys`: the name of each key in the traffic. Hides keys wherever the exchange shows them. */
function exchangeOf(
  traffic: TrafficExchange,
  number: number,
  keys: ReadonlyMap<string, string>,
): MutableExchange {
  const { sentAt, answeredAt, query } = traffic;
  const { status, headers, body: rawReply = '' } = traffic.reply ?? noReply;
  const retryAfter = asksForWait(status) ? headers['retry-after'] : undefined;
  const requestBody = plainJson(traffic.body ?? '');
  const search = query === '' ? '' : `?${plainAddress(query)}`;
  const replyBody = plainJson(rawReply);
  const caller = keys.get(keyOf(traffic)) ?? 'unauthenticated';
  const requestKeys = keysIn(`${plainAddress(traffic.path)}${search}\n${requestBody}`, keys);
  const shownKeys = [...requestKeys, ...keysIn(replyBody, keys)];
  const withoutKeys = (text: string) =>
    shownKeys.reduce((hidden, key) => hidden.replaceAll(key, `(${keyName(key)})`), text);
  const path = withoutKeys(plainAddress(pathOf(traffic.path)));
  const text = withoutKeys(requestBody);
  const reply = objectIn(withoutKeys(replyBody));
  return {
    number,
    atMs: sentAt,
    answeredAtMs: answeredAt,
    openUntil: number,
    isOpenAtEnd: false,
    caller,
    credential: caller,
    accountId: keyOf(traffic) === '' || status === 401 ? undefined : caller,
    accountName: undefined,
    endpoint: endpointOf(path),
    method: traffic.method,
    target: `${path}${withoutKeys(search)}`,
    text,
    body: objectIn(text),
    status,
    isForced: traffic.isForced,
    ...(lacksBody(traffic) && { lacksBody: true }),
    retryAfterMs: waitMs(retryAfter, 1, sentAt),
    retryAfter,
    reply,
    isSeen: traffic.isSeen && (reply !== undefined || !isGarbled(status, rawReply)),
    showsKey: requestKeys.length > 0,
  };
}

/** The path without the prefix that a gateway puts before the service's paths. */
export function pathOf(pathname: string): string {
  if (matchRoute(pathname) !== undefined) return pathname;
  const starts = [...pathname.matchAll(/\/api\//g)].map(({ index }) => pathname.slice(index));
  return starts.find((path) => matchRoute(path) !== undefined) ?? starts[0] ?? pathname;
}

/** The API key of the request; empty if the file lacks it, as browsers' exports often do. */
function keyOf({ headers }: TrafficExchange): string {
  return /^bearer[ \t]+(\S+)$/i.exec(headers['authorization'] ?? '')?.[1] ?? '';
}

/** The form of the service's keys, so that a key is found in a query although no header has it. */
const drawnKey = /\bsmst_[A-Za-z0-9]{40}\b/g;

function keysIn(text: string, keys: ReadonlyMap<string, string>): readonly string[] {
  const found = new Set(text.match(drawnKey));
  for (const key of keys.keys()) if (text.includes(key)) found.add(key);
  return [...found];
}

/** The name of a key in reports, which does not show the key. */
export function keyName(key: string): string {
  return `key ${sha256(key).slice(0, 12)}`;
}
