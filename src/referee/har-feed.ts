/**
 * Reads exchanges from a HAR 1.2 file, as browsers and proxies write it. Times are the recorder's.
 * The key identifies the caller. Skips other hosts and other paths.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CommandError } from '../commands/command-error.ts';
import { matchRoute } from '../http/service/routes.ts';
import type { Exchange } from './exchange.ts';
import { plainAddress, plainJson } from './plain-spelling.ts';
import { asksForWait, endpointOf, isGarbled, objectIn, waitMs } from './traffic.ts';

const headersSchema = z.array(z.object({ name: z.string(), value: z.string() })).catch([]);
const textSchema = z
  .looseObject({ text: z.string().default(''), encoding: z.string().optional() })
  .nullish();
const entrySchema = z.object({
  startedDateTime: z.string().refine((text) => !Number.isNaN(Date.parse(text)), {
    error: 'expected an ISO 8601 time',
  }),
  time: z.number().catch(0),
  request: z.object({
    method: z.string(),
    url: z.string(),
    headers: headersSchema,
    postData: textSchema,
  }),
  response: z.object({
    status: z.number().catch(0),
    headers: headersSchema,
    content: textSchema,
    /** As Chrome writes it where the reply broke off. */
    _error: z.string().nullish(),
  }),
});
const harSchema = z.object({ log: z.object({ entries: z.array(entrySchema) }) });
type HarEntry = z.output<typeof entrySchema>;

/** Throws a CommandError that names what is wrong. `name` is the file's. */
export function exchangesOfHar(text: string, name: string): Exchange[] {
  const found = serviceEntries(readHar(text, name));
  const keys = new Map<string, string>();
  for (const { key } of found) if (key !== '' && !keys.has(key)) keys.set(key, keyName(key));
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

function readHar(text: string, name: string): readonly HarEntry[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CommandError(2, `${name}: not JSON; expected a HAR 1.2 file`);
  }
  const reading = harSchema.safeParse(value);
  if (reading.success) return reading.data.log.entries;
  const [issue] = reading.error.issues;
  const path = issue?.path.join('.') ?? '';
  throw new CommandError(2, `${name}: not a HAR 1.2 file: ${path}: ${issue?.message ?? ''}`);
}

/** Of the hosts that have a path of the service, the requests of its API. */
function serviceEntries(entries: readonly HarEntry[]): Located[] {
  const located = entries.map((entry) => {
    const url = urlOf(entry);
    const atMs = Date.parse(entry.startedDateTime);
    return { entry, url, path: pathOf(url), key: keyOf(entry.request), atMs };
  });
  const isService = ({ path }: Located) => matchRoute(path) !== undefined;
  const hosts = new Set(located.filter(isService).map(({ url }) => url.host));
  return located.filter(
    ({ entry, url }) =>
      hosts.has(url.host) && url.pathname.includes('/api/') && entry.request.method !== 'OPTIONS',
  );
}

/** An entry with what several steps need of it. */
interface Located {
  readonly entry: HarEntry;
  readonly url: URL;
  /** Without what a gateway puts before it. */
  readonly path: string;
  /** Empty for none. */
  readonly key: string;
  readonly atMs: number;
}

const unknownUrl = new URL('http://unknown/');

function urlOf({ request }: HarEntry): URL {
  return URL.canParse(request.url) ? new URL(request.url) : unknownUrl;
}

function pathOf({ pathname }: URL): string {
  const starts = [...pathname.matchAll(/\/api\//g)].map(({ index }) => pathname.slice(index));
  return starts.find((path) => matchRoute(path) !== undefined) ?? starts[0] ?? pathname;
}

type Made = Exchange & { openUntil: number; isOpenAtEnd: boolean };

function exchangeOf(
  { entry, url, path: servicePath, key, atMs }: Located,
  number: number,
  keys: ReadonlyMap<string, string>,
): Made {
  const { time, request, response } = entry;
  const sent = plainJson(textOf(request.postData));
  const search = plainAddress(url.search);
  const caller = keys.get(key) ?? 'unauthenticated';
  const shown = keysIn(`${plainAddress(url.pathname)}${search}\n${sent}`, keys);
  const replyText = textOf(response.content);
  const echoed = keysIn(plainJson(replyText), keys);
  const hidden = (text: string) =>
    [...shown, ...echoed].reduce((left, each) => left.replaceAll(each, `(${keyName(each)})`), text);
  const path = hidden(plainAddress(servicePath));
  const text = hidden(sent);
  const { status } = response;
  const header = asksForWait(status) ? headerOf(response.headers, 'retry-after') : undefined;
  return {
    number,
    atMs,
    answeredAtMs: atMs + Math.max(0, time),
    openUntil: number,
    isOpenAtEnd: false,
    caller,
    credential: caller,
    accountId: key === '' || response.status === 401 ? undefined : caller,
    accountName: undefined,
    endpoint: endpointOf(path),
    method: request.method,
    target: `${path}${hidden(search)}`,
    text,
    body: objectIn(text),
    status,
    retryAfterMs: waitMs(header, 1, atMs),
    retryAfter: header,
    reply: objectIn(hidden(plainJson(replyText))),
    // Recorders write status 0 where no whole reply came.
    isSeen: response.status > 0 && !response._error && !isGarbled(response.status, replyText),
    showsKey: shown.length > 0,
  };
}

function textOf(content: z.output<typeof textSchema>): string {
  const { text = '', encoding } = content ?? {};
  return encoding === 'base64' ? Buffer.from(text, 'base64').toString('utf8') : text;
}

function headerOf(headers: z.output<typeof headersSchema>, wanted: string): string | undefined {
  return headers.find(({ name }) => name.toLowerCase() === wanted)?.value;
}

/** Empty without one: browsers leave it out of what they export. */
function keyOf({ headers }: HarEntry['request']): string {
  return /^bearer[ \t]+(\S+)$/i.exec(headerOf(headers, 'authorization') ?? '')?.[1] ?? '';
}

/** A key as the service draws it: it may be in a query and in no header. */
const drawnKey = /\bsmst_[A-Za-z0-9]{40}\b/g;

function keysIn(text: string, keys: ReadonlyMap<string, string>): readonly string[] {
  const drawn = text.match(drawnKey) ?? [];
  return [...new Set([...drawn, ...[...keys.keys()].filter((key) => text.includes(key))])];
}

/** Reports name the caller without showing its key. */
function keyName(key: string): string {
  return `key ${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;
}
