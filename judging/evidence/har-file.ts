/** The exchanges of the service in a HAR 1.2 file, read entry by entry. */

import type { TrafficExchange } from '#contract/exchange.ts';
import { matchRoute } from '#contract/routes.ts';
import { CommandError } from '#io/command-error.ts';
import { keyName, pathOf } from './exchanges-of-traffic.ts';
import { HarEntries } from './har-entries.ts';
import { exchangeOfEntry, type HarEntry } from './har-entry.ts';

export async function* exchangesOfHarFile(
  pieces: AsyncIterable<string>,
  name: string,
  onNotice: (line: string) => void,
): AsyncGenerator<TrafficExchange> {
  const entries = new HarEntries(name);
  for await (const piece of pieces) {
    for (const entry of entries.add(piece)) {
      const exchange = namedExchangeOf(entry);
      // A browser's file also has requests to other pages and services.
      const { path, method } = exchange;
      const isRoute = matchRoute(path.endsWith('/') ? path : `${path}/`) !== undefined;
      if (isRoute && method !== 'OPTIONS') yield exchange;
    }
  }
  if (!entries.haveBegun)
    throw new CommandError(2, `${name}: not a HAR 1.2 file: it has no entries`);
  entries.reportSkipped(onNotice);
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
