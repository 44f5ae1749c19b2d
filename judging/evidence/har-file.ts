/** The exchanges of the service in a HAR 1.2 file, read entry by entry. */

import type { NoticeTaker, TrafficExchange } from '#contract/exchange.ts';
import { matchRoute } from '#contract/routes.ts';
import { keyName, pathOf } from './exchanges-of-traffic.ts';
import { HarEntries } from './har-entries.ts';
import { exchangeOfEntry, type HarEntry } from './har-entry.ts';

export async function* exchangesOfHarFile(
  pieces: AsyncIterable<string>,
  name: string,
  onNotice: NoticeTaker,
  onCut: () => void,
): AsyncGenerator<TrafficExchange> {
  const entries = new HarEntries(name);
  for await (const piece of pieces) yield* ofService(entries.add(piece));
  yield* ofService(entries.end(onNotice, onCut));
}

/** A browser's file also has requests to other pages and services. */
function* ofService(entries: Iterable<HarEntry>): Generator<TrafficExchange> {
  for (const entry of entries) {
    const exchange = namedExchangeOf(entry);
    const { path, method } = exchange;
    const isRoute = matchRoute(path.endsWith('/') ? path : `${path}/`) !== undefined;
    if (isRoute && method !== 'OPTIONS') yield exchange;
  }
}

/** The exchange with digests for keys, and without a reply that did not come whole. */
function namedExchangeOf(entry: HarEntry): TrafficExchange {
  const exchange = exchangeOfEntry(entry);
  const { headers, path, reply, isSeen } = exchange;
  const { authorization: credential } = headers;
  // Chromium writes size 0 and no text for a body that it no longer has.
  const isBodyLost = entry.response.content?.text === undefined;
  return {
    ...exchange,
    path: pathOf(path),
    headers: {
      ...headers,
      ...(credential !== undefined && { authorization: withoutKey(credential) }),
    },
    reply: isSeen && reply ? { ...reply, ...(isBodyLost && { body: undefined }) } : undefined,
  };
}

function withoutKey(credential: string): string {
  return credential.replace(/(\S+)$/, (key) => keyName(key).replace(' ', ':'));
}
