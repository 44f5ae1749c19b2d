/**
 * Reads exchanges from recorded traffic of any service: recordings, and HAR files of browsers and
 * proxies. Times are the recorder's. The key identifies the caller.
 */
import { CommandError } from '../commands/command-error.ts';
import {
  lacksBody,
  type TrafficExchange,
  type TrafficReply,
} from '../commands/recorded-traffic.ts';
import { matchRoute } from '../http/service/routes.ts';
import { sha256 } from '../recording/digest.ts';
import type { Exchange } from './exchange.ts';
import { exchangeOfEntry, HarEntries } from './har-entries.ts';
import {
  asksForWait,
  endpointOf,
  isGarbled,
  objectIn,
  plainAddress,
  plainJson,
  valueIn,
  waitMs,
} from './traffic.ts';

/**
 * Throws a CommandError that names what is wrong. `name` is the file's. Entries that cannot be read
 * are skipped; `onNotice` gets one line on them.
 */
export function exchangesOfHar(
  text: string,
  name: string,
  onNotice: (line: string) => void = () => {},
): Exchange[] {
  const entries = new HarEntries(name);
  const traffic = Array.from(entries.add(text), exchangeOfEntry);
  const left = entriesIn(entries.rest, name).flatMap((entry) => entries.read(entry));
  entries.end(onNotice);
  return exchangesOf(ofService([...traffic, ...left.map(exchangeOfEntry)]), keyName);
}

function entriesIn(har: string, name: string): readonly unknown[] {
  const value = valueIn(har);
  if (value === undefined) throw new CommandError(2, `${name}: not JSON; expected a HAR 1.2 file`);
  const entries = Object(Object(value).log).entries;
  if (Array.isArray(entries)) return entries;
  throw new CommandError(2, `${name}: not a HAR 1.2 file: log.entries: expected a list`);
}

/** Of the hosts that have a path of the service, the requests of its API. */
function ofService(traffic: readonly TrafficExchange[]): readonly TrafficExchange[] {
  const isService = ({ path }: TrafficExchange) => matchRoute(pathOf(path)) !== undefined;
  const hosts = new Set(traffic.filter(isService).map(({ host }) => host));
  return traffic.filter(
    ({ method, host, path }) => hosts.has(host) && path.includes('/api/') && method !== 'OPTIONS',
  );
}

/** The same of recorded traffic, whose keys have names already. */
export function exchangesOfTraffic(traffic: readonly TrafficExchange[]): Exchange[] {
  return exchangesOf(traffic, (key) => key);
}

function exchangesOf(
  traffic: readonly TrafficExchange[],
  nameOf: (key: string) => string,
): Exchange[] {
  const keys = new Map<string, string>();
  for (const one of traffic) {
    const key = keyOf(one);
    if (key !== '' && !keys.has(key)) keys.set(key, nameOf(key));
  }
  const exchanges = traffic
    .toSorted((a, b) => a.sentAt - b.sentAt)
    .map((each, at) => exchangeOf(each, at + 1, keys));
  const lastMs = exchanges.at(-1)?.atMs ?? 0;
  for (const one of exchanges) {
    one.isOpenAtEnd = one.answeredAtMs > lastMs;
    while ((exchanges[one.openUntil]?.atMs ?? Number.POSITIVE_INFINITY) < one.answeredAtMs) {
      one.openUntil++;
    }
  }
  return exchanges;
}

const noReply: TrafficReply = { status: 0, headers: {}, body: '' };

type Made = Exchange & { openUntil: number; isOpenAtEnd: boolean };

function exchangeOf(one: TrafficExchange, number: number, keys: ReadonlyMap<string, string>): Made {
  const { sentAt, answeredAt, query } = one;
  const { status, headers, body: answer = '' } = one.reply ?? noReply;
  const retryAfter = asksForWait(status) ? headers['retry-after'] : undefined;
  const sent = plainJson(one.body ?? '');
  const search = query === '' ? '' : `?${plainAddress(query)}`;
  const answered = plainJson(answer);
  const caller = keys.get(keyOf(one)) ?? 'unauthenticated';
  const shown = keysIn(`${plainAddress(one.path)}${search}\n${sent}`, keys);
  const found = [...shown, ...keysIn(answered, keys)];
  const hidden = (text: string) =>
    found.reduce((left, each) => left.replaceAll(each, `(${keyName(each)})`), text);
  const path = hidden(plainAddress(pathOf(one.path)));
  const text = hidden(sent);
  const reply = objectIn(hidden(answered));
  return {
    number,
    atMs: sentAt,
    answeredAtMs: answeredAt,
    openUntil: number,
    isOpenAtEnd: false,
    caller,
    credential: caller,
    accountId: keyOf(one) === '' || status === 401 ? undefined : caller,
    accountName: undefined,
    endpoint: endpointOf(path),
    method: one.method,
    target: `${path}${hidden(search)}`,
    text,
    body: objectIn(text),
    status,
    isForced: one.isForced,
    ...(lacksBody(one) && { lacksBody: true }),
    retryAfterMs: waitMs(retryAfter, 1, sentAt),
    retryAfter,
    reply,
    isSeen: one.isSeen && (reply !== undefined || !isGarbled(status, answer)),
    showsKey: shown.length > 0,
  };
}

/** A path without what a gateway puts before it. */
export function pathOf(pathname: string): string {
  if (matchRoute(pathname) !== undefined) return pathname;
  const starts = [...pathname.matchAll(/\/api\//g)].map(({ index }) => pathname.slice(index));
  return starts.find((path) => matchRoute(path) !== undefined) ?? starts[0] ?? pathname;
}

/** Empty without one: browsers leave it out of what they export. */
function keyOf({ headers }: TrafficExchange): string {
  return /^bearer[ \t]+(\S+)$/i.exec(headers['authorization'] ?? '')?.[1] ?? '';
}

/** A key as the service draws it: it may be in a query and in no header. */
const drawnKey = /\bsmst_[A-Za-z0-9]{40}\b/g;

function keysIn(text: string, keys: ReadonlyMap<string, string>): readonly string[] {
  const found = new Set(text.match(drawnKey));
  for (const key of keys.keys()) if (text.includes(key)) found.add(key);
  return [...found];
}

/** Reports name the caller without showing its key. */
export function keyName(key: string): string {
  return `key ${sha256(key).slice(0, 12)}`;
}
