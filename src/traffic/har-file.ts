/**
 * The exchanges of a HAR 1.2 file, entry by entry, as browsers and proxies write them: Chromium may
 * leave out credentials and bodies, Playwright writes -1 where no reply came, mitmproxy encodes
 * bodies that are not text.
 */
import { CommandError } from '../commands/command-error.ts';
import type { TrafficExchange } from '../commands/recorded-traffic.ts';
import { matchRoute } from '../http/service/routes.ts';
import { afterSpace, endOfValue, entriesKey } from '../referee/har-entries.ts';
import {
  addressOf,
  entrySchema,
  type HarEntry,
  headerOf,
  keyName,
  recordedText,
} from '../referee/har-feed.ts';
import { longestLine } from './open-text.ts';

const readHeaders = ['content-type', 'retry-after', 'date', 'allow', 'location'];

export async function* exchangesOfHarFile(
  pieces: AsyncIterable<string>,
  path: string,
): AsyncGenerator<TrafficExchange> {
  let [text, at, number] = ['', -1, 0];
  for await (const piece of pieces) {
    text = text.slice(Math.max(0, at)) + piece;
    if (text.length > longestLine)
      throw new CommandError(2, `${path}: an entry has more than ${longestLine} characters`);
    if (at >= 0) at = 0;
    else {
      entriesKey.lastIndex = 0;
      if (!entriesKey.test(text)) continue;
      at = entriesKey.lastIndex;
    }
    for (;;) {
      const start = afterSpace(
        text,
        text[afterSpace(text, at)] === ',' ? afterSpace(text, at) + 1 : at,
      );
      const end = text[start] === '{' ? endOfValue(text, start) : -1;
      if (end < 0) break;
      const exchange = exchangeOf(text.slice(start, end), ++number, path);
      if (exchange !== undefined) yield exchange;
      at = end;
    }
  }
  if (at < 0) throw new CommandError(2, `${path}: not a HAR 1.2 file: it has no entries`);
}

function exchangeOf(text: string, number: number, path: string): TrafficExchange | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CommandError(2, `${path}: entry ${number} is not JSON`);
  }
  const reading = entrySchema.safeParse(value);
  if (!reading.success) {
    const [issue] = reading.error.issues;
    const place = `log.entries.${number - 1}.${issue?.path.join('.') ?? ''}`;
    throw new CommandError(2, `${path}: not a HAR 1.2 file: ${place}: ${issue?.message ?? ''}`);
  }
  const { request } = reading.data;
  const address = addressOf(request.url);
  const { path: target, host, search } = address;
  // Other pages and other services share a browser.
  if (matchRoute(target.endsWith('/') ? target : `${target}/`) === undefined) return undefined;
  if (request.method === 'OPTIONS') return undefined;
  return { host, path: target, query: search.slice(1), ...timed(reading.data) };
}

function timed({ startedDateTime, time, request, response }: HarEntry) {
  const sentAt = Date.parse(startedDateTime);
  const credential = headerOf(request.headers, 'authorization');
  const isWhole = response.status > 0 && !response._error;
  return {
    sentAt,
    answeredAt: sentAt + Math.max(0, Math.ceil(time)),
    method: request.method,
    headers: {
      ...headersOf(request.headers, ['content-type']),
      ...(credential !== undefined && { authorization: named(credential) }),
    },
    showsCredential: credential !== undefined,
    body: recordedText(request.postData, request.bodySize),
    reply: isWhole
      ? {
          status: response.status,
          headers: headersOf(response.headers, readHeaders),
          // Chromium writes size 0 and no text for a body that it no longer has.
          body:
            response.content?.text === undefined
              ? undefined
              : recordedText(response.content, response.content['size']),
        }
      : undefined,
    isForced: false,
    isSeen: isWhole,
  };
}

function named(credential: string): string {
  return credential.replace(/(\S+)$/, (key) => keyName(key).replace(' ', ':'));
}

function headersOf(headers: unknown, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headerOf(headers, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
