/**
 * Reads exchanges from a HAR 1.2 file, as browsers and proxies write it. Times are the recorder's.
 * The key identifies the caller. Skips other hosts and other paths.
 */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { z } from 'zod';
import { CommandError } from '../commands/command-error.ts';
import { lacksBody, type TrafficExchange } from '../commands/recorded-traffic.ts';
import { mistakeLine, mistakesOf } from '../config/mistakes.ts';
import { matchRoute } from '../http/service/routes.ts';
import type { Exchange } from './exchange.ts';
import { type EntryTexts, readEntries } from './har-entries.ts';
import { plainAddress, plainJson } from './plain-spelling.ts';
import {
  asksForWait,
  endpointOf,
  isGarbled,
  objectIn,
  stringIn,
  valueIn,
  waitMs,
} from './traffic.ts';

const textSchema = z
  .looseObject({ text: z.string().optional(), encoding: z.string().optional() })
  .nullish();
export const entrySchema = z.object({
  startedDateTime: z.string().refine((text) => !Number.isNaN(Date.parse(text)), {
    error: 'expected an ISO 8601 time',
  }),
  time: z.number().catch(0),
  request: z.object({
    method: z.string(),
    url: z.string(),
    headers: z.unknown(),
    postData: textSchema,
    bodySize: z.number().catch(0),
  }),
  response: z.object({
    status: z.number().catch(0),
    headers: z.unknown(),
    content: textSchema,
    /** As Chrome writes it where the reply broke off. */
    _error: z.string().nullish(),
  }),
});
const harSchema = z.object({ log: z.object({ entries: z.array(z.unknown()) }) });
export type HarEntry = z.output<typeof entrySchema>;

/**
 * Throws a CommandError that names what is wrong. `name` is the file's. Entries that cannot be read
 * are skipped; `onNotice` gets one line on them.
 */
export function exchangesOfHar(
  text: string,
  name: string,
  onNotice: (line: string) => void = () => {},
): Exchange[] {
  const located = locatedIn(text) ?? locatedIn(usualHar(text, name, onNotice)) ?? [];
  return exchangesOfLocated(ofService(located), keyName);
}

/** The same of recorded traffic, whose keys have names already. */
export function exchangesOfTraffic(traffic: readonly TrafficExchange[]): Exchange[] {
  const found = traffic.map((one) => ({
    method: one.method,
    url: {
      host: one.host,
      pathname: one.path,
      path: one.path,
      search: one.query === '' ? '' : `?${one.query}`,
    },
    key: /^bearer[ \t]+(\S+)$/i.exec(one.headers['authorization'] ?? '')?.[1] ?? '',
    atMs: one.sentAt,
    durationMs: one.answeredAt - one.sentAt,
    sent: one.body ?? '',
    lacksBody: lacksBody(one),
    status: one.reply?.status ?? 0,
    retryAfter: asksForWait(one.reply?.status ?? 0) ? one.reply?.headers['retry-after'] : undefined,
    replyText: one.reply?.body ?? '',
    isBroken: !one.isSeen,
    isForced: one.isForced,
  }));
  return exchangesOfLocated(found, (key) => key);
}

function exchangesOfLocated(found: Located[], nameOf: (key: string) => string): Exchange[] {
  const keys = new Map<string, string>();
  for (const { key } of found) if (key !== '' && !keys.has(key)) keys.set(key, nameOf(key));
  const exchanges = found
    .sort((a, b) => a.atMs - b.atMs)
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

/** Undefined if an entry is not as usual. */
function locatedIn(text: string): readonly Located[] | undefined {
  const located: Located[] = [];
  const read: Read = { addresses: new Map(), keys: new Map() };
  const isWhole = readEntries(text, (entry) => {
    const one = locate(entry, read);
    if (one !== undefined) located.push(one);
    return one !== undefined;
  });
  return isWhole ? located : undefined;
}

/** The file with what it may lack. Says what is wrong with a file that is not a HAR file. */
function usualHar(text: string, name: string, onNotice: (line: string) => void): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CommandError(2, `${name}: not JSON; expected a HAR 1.2 file`);
  }
  const reading = harSchema.safeParse(value, { reportInput: true });
  if (!reading.success) {
    const [mistake] = mistakesOf(reading.error).map(mistakeLine);
    throw new CommandError(2, `${name}: not a HAR 1.2 file: ${mistake}`);
  }
  const mistakes: string[] = [];
  const entries = reading.data.log.entries.flatMap((entry, at) => {
    const one = entrySchema.safeParse(entry, { reportInput: true });
    if (one.success) return [one.data];
    mistakes.push(...mistakesOf(one.error, ['log', 'entries', at]).slice(0, 1).map(mistakeLine));
    return [];
  });
  const [first] = mistakes;
  const count = mistakes.length === 1 ? '1 entry' : `${mistakes.length} entries`;
  if (first !== undefined) {
    onNotice(`${basename(name)}: ${count} cannot be read; skipped: ${first}`);
  }
  return JSON.stringify({ log: { entries } });
}

/** Of the hosts that have a path of the service, the requests of its API. */
function ofService(located: readonly Located[]): Located[] {
  const isService = ({ url }: Located) => matchRoute(url.path) !== undefined;
  const hosts = new Set(located.filter(isService).map(({ url }) => url.host));
  return located.filter(
    ({ method, url }) =>
      hosts.has(url.host) && url.pathname.includes('/api/') && method !== 'OPTIONS',
  );
}

/** What is kept of an entry. */
interface Located {
  readonly method: string;
  readonly url: Address;
  /** Empty for none. */
  readonly key: string;
  readonly atMs: number;
  readonly durationMs: number;
  readonly sent: string;
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly replyText: string;
  readonly isBroken: boolean;
  readonly isForced?: boolean;
  readonly lacksBody: boolean;
}

interface Address extends Pick<URL, 'host' | 'pathname' | 'search'> {
  /** Without what a gateway puts before it. */
  readonly path: string;
}

/** What was read already, by its JSON text: most requests share few addresses and headers. */
interface Read {
  readonly addresses: Map<string, Address>;
  readonly keys: Map<string, string>;
}

/** Undefined if the entry lacks something, or is not an entry. */
function locate(entry: EntryTexts, { addresses, keys }: Read): Located | undefined {
  const { url: address = '', requestHeaders = '', responseHeaders = '' } = entry;
  const target = stringIn(address);
  const key = keys.get(requestHeaders) ?? keyOf(valueIn(requestHeaders));
  const method = stringIn(entry.method);
  const atMs = Date.parse(stringIn(entry.startedDateTime) ?? '');
  const durationMs = Math.max(0, Number(entry.time));
  const status = Number(entry.status);
  const sent = bodyIn(entry.sent, entry.sentEncoding);
  const replyText = bodyIn(entry.received, entry.receivedEncoding);
  const isWhole = !Number.isNaN(atMs + durationMs + status);
  if (!isWhole || target === undefined || method === undefined) return undefined;
  if (sent === undefined || replyText === undefined) return undefined;
  const url = addresses.get(address) ?? addressOf(target);
  addresses.set(address, url);
  keys.set(requestHeaders, key);
  return {
    method,
    url,
    key,
    atMs,
    durationMs,
    sent,
    status,
    retryAfter: asksForWait(status) ? headerOf(valueIn(responseHeaders), 'retry-after') : undefined,
    replyText,
    lacksBody: lacksBody({
      method,
      body: recordedText({ text: sent }, Number(entry.sentSize)),
      reply:
        status > 0 ? { body: recordedText({ text: replyText }, entry.receivedSize) } : undefined,
    }),
    // Recorders write status 0 where no whole reply came.
    isBroken: status <= 0 || Boolean(valueIn(entry.error)),
  };
}

const unknownUrl = new URL('http://unknown/');

export function addressOf(text: string): Address {
  const { host, pathname, search } = URL.canParse(text) ? new URL(text) : unknownUrl;
  return { host, pathname, search, path: pathOf(pathname) };
}

/** Without what a gateway puts before it. */
export function pathOf(pathname: string): string {
  if (matchRoute(pathname) !== undefined) return pathname;
  const starts = [...pathname.matchAll(/\/api\//g)].map(({ index }) => pathname.slice(index));
  return starts.find((path) => matchRoute(path) !== undefined) ?? starts[0] ?? pathname;
}

type Made = Exchange & { openUntil: number; isOpenAtEnd: boolean };

function exchangeOf(located: Located, number: number, keys: ReadonlyMap<string, string>): Made {
  const { url, key, atMs, status, retryAfter, replyText } = located;
  const sent = plainJson(located.sent);
  const search = plainAddress(url.search);
  const caller = keys.get(key) ?? 'unauthenticated';
  const shown = keysIn(`${plainAddress(url.pathname)}${search}\n${sent}`, keys);
  const answer = plainJson(replyText);
  const echoed = keysIn(answer, keys);
  const found = shown.length + echoed.length === 0 ? [] : [...shown, ...echoed];
  const hidden = (text: string) =>
    found.reduce((left, each) => left.replaceAll(each, `(${keyName(each)})`), text);
  const path = hidden(plainAddress(url.path));
  const text = hidden(sent);
  const reply = objectIn(hidden(answer));
  return {
    number,
    atMs,
    answeredAtMs: atMs + located.durationMs,
    openUntil: number,
    isOpenAtEnd: false,
    caller,
    credential: caller,
    accountId: key === '' || status === 401 ? undefined : caller,
    accountName: undefined,
    endpoint: endpointOf(path),
    method: located.method,
    target: `${path}${hidden(search)}`,
    text,
    body: objectIn(text),
    status,
    ...(located.isForced !== undefined && { isForced: located.isForced }),
    ...(located.lacksBody && { lacksBody: true }),
    retryAfterMs: waitMs(retryAfter, 1, atMs),
    retryAfter,
    reply,
    isSeen: !located.isBroken && (reply !== undefined || !isGarbled(status, replyText)),
    showsKey: shown.length > 0,
  };
}

/** Undefined if there was a body and it was not saved; its size is then positive, or -1: unknown. */
export function recordedText(
  content: z.output<typeof textSchema>,
  size: unknown,
): string | undefined {
  const text = textOf(content);
  return text === '' && (Number(size) > 0 || Number(size) === -1) ? undefined : text;
}

function textOf(content: z.output<typeof textSchema>): string {
  const { text = '', encoding } = content ?? {};
  return encoding === 'base64' ? Buffer.from(text, 'base64').toString('utf8') : text;
}

/** Undefined if the text is not a string. */
function bodyIn(json = '""', encoding?: string): string | undefined {
  const text = stringIn(json);
  return text === undefined || encoding === undefined
    ? text
    : textOf({ text, encoding: stringIn(encoding) });
}

export function headerOf(headers: unknown, wanted: string): string | undefined {
  if (!Array.isArray(headers)) return undefined;
  const header = headers.find((one) => String(one?.name).toLowerCase() === wanted);
  return typeof header?.value === 'string' ? header.value : undefined;
}

/** Empty without one: browsers leave it out of what they export. */
function keyOf(headers: unknown): string {
  return /^bearer[ \t]+(\S+)$/i.exec(headerOf(headers, 'authorization') ?? '')?.[1] ?? '';
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
  return `key ${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;
}
