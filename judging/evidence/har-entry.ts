/**
 * One entry of a HAR 1.2 file: what of it is read, and the exchange that it records. Accepts what
 * browsers and proxies write: Chromium may leave out credentials and bodies, Playwright writes -1
 * if no reply came, and mitmproxy encodes bodies that are not text.
 */
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import type { TrafficExchange, TrafficReply } from '#contract/exchange.ts';
import { mayChangeReply } from '#contract/fault-kinds.ts';
import { mistakeLine, mistakesOf } from '#io/mistakes.ts';
import type { FileReading } from './file-reading.ts';
import { pathOf, valueIn } from './reading.ts';

const contentSchema = z
  .object({
    text: z.string().optional(),
    encoding: z.string().optional(),
    size: z.unknown().optional(),
    mimeType: z.unknown().optional(),
    /** Playwright's own field: the body is in this file. */
    _file: z.unknown().optional(),
  })
  .nullish();
const entrySchema = z.object({
  startedDateTime: z.string().refine((text) => !Number.isNaN(Date.parse(text)), {
    error: 'expected an ISO 8601 time',
  }),
  time: z.number().catch(-1),
  request: z.object({
    method: z.string(),
    url: z.string(),
    headers: z.unknown(),
    postData: contentSchema,
    bodySize: z.number().catch(0),
  }),
  response: z.object({
    status: z.number().catch(0),
    headers: z.unknown(),
    content: contentSchema,
    /** Chrome's own field: set if the reply broke off. */
    _error: z.string().nullish(),
  }),
  connection: z.unknown().optional(),
  /** In the simulator's own HAR file: the real time that an exchange took, and its fault. */
  _smstwin: z
    .object({ duration_ms: z.number(), fault: z.string().nullish() })
    .optional()
    .catch(undefined),
});
export type HarEntry = z.output<typeof entrySchema>;

/** The entry that a JSON value holds, or what is wrong with it. `index`: its place in the file. */
export function readEntry(value: unknown, index: number): HarEntry | string {
  if (isUsual(value)) return value;
  const reading = entrySchema.safeParse(value, { reportInput: true });
  if (reading.success) return reading.data;
  return mistakesOf(reading.error, [], ['log', 'entries', index])
    .slice(0, 1)
    .map(mistakeLine)
    .join();
}

/** True if the entry is as the schema would return it: most are, and are not copied. */
function isUsual(value: unknown): value is HarEntry {
  const { startedDateTime, time, request, response, _smstwin: own } = Object(value);
  const { method, url, postData, bodySize } = Object(request);
  const { status, content, _error: error } = Object(response);
  return (
    typeof startedDateTime === 'string' &&
    typeof method === 'string' &&
    typeof url === 'string' &&
    typeof (error ?? '') === 'string' &&
    typeof time === 'number' &&
    typeof bodySize === 'number' &&
    typeof status === 'number' &&
    (own === undefined || isOwn(own)) &&
    !Number.isNaN(Date.parse(startedDateTime)) &&
    isUsualContent(postData ?? {}) &&
    isUsualContent(content ?? {})
  );
}

function isOwn(value: unknown): boolean {
  const { duration_ms: duration, fault } = Object(value);
  return typeof duration === 'number' && typeof (fault ?? '') === 'string';
}

function isUsualContent(content: object): boolean {
  const { text = '', encoding = '' } = content as { text?: unknown; encoding?: unknown };
  return (
    typeof content === 'object' &&
    !Array.isArray(content) &&
    typeof text === 'string' &&
    typeof encoding === 'string'
  );
}

/** The exchange of an entry, with names for keys. */
export function exchangeOfEntry(entry: HarEntry, reading: FileReading): TrafficExchange {
  const { keys } = reading.shared;
  const { startedDateTime, request, response, connection, _smstwin: own } = entry;
  // Simulated time is exact, and no real time that an exchange took belongs to it: as in a journal.
  const time = own === undefined ? entry.time : Math.round(entry.time - own.duration_ms);
  const sentAt = Date.parse(startedDateTime);
  const { host, pathname, search } = addressIn(request.url);
  const headers = headersOf(request.headers, requestHeaders);
  const { authorization } = headers;
  if (authorization !== undefined) headers['authorization'] = keys.named(authorization);
  const body = textOf(request.postData, request.bodySize);
  // Named one by one: spreads would be a large part of the cost of reading.
  return {
    sentAt,
    answeredAt: sentAt + Math.max(0, time),
    // An exchange that took less than no time was not measured.
    lacksEnd: time < 0 || undefined,
    precisionMs: own === undefined ? precisionOf(startedDateTime) : 0,
    host,
    connection: typeof connection === 'string' && connection !== '' ? connection : undefined,
    method: request.method,
    path: keys.hiddenInAddress(pathOf(pathname)),
    query: keys.hiddenInAddress(search.slice(1)),
    headers: reading.sameHeaders(headers),
    showsCredential: authorization !== undefined,
    body: body === undefined ? undefined : keys.hiddenIn(body),
    // Recorders write status 0 or less where no whole reply came.
    reply: response.status > 0 ? replyOf(response, reading) : undefined,
    isForced: typeof own?.fault === 'string' && mayChangeReply(own.fault),
    isSeen: response.status > 0 && !response._error,
  };
}

function replyOf(response: HarEntry['response'], reading: FileReading): TrafficReply {
  const { status, content, _error } = response;
  // Every reply has headers: an empty list means that they were not recorded.
  const lacksHeaders = !Array.isArray(response.headers) || response.headers.length === 0;
  const type = lacksHeaders ? content?.mimeType : undefined;
  // Chromium writes size 0 and no text for a body that it no longer has.
  const text = content?.text === undefined ? undefined : textOf(content, content.size);
  // Of a reply that broke off, the body may have come whole.
  const body = _error && valueIn(text) === undefined ? undefined : text;
  const headers = headersOf(response.headers, replyHeaders);
  if (typeof type === 'string' && type !== '') headers['content-type'] = type;
  return {
    status,
    headers: reading.sameHeaders(headers),
    lacksHeaders: lacksHeaders || undefined,
    body: body === undefined ? undefined : reading.shared.keys.hiddenIn(body),
  };
}

/** An address that a URL parser would not change: neither its host nor a plain path and query. */
const plainAddress =
  /^https?:\/\/(?:127\.0\.0\.1|(?:[a-z\d-]+\.)*[a-z][a-z-]*)(?::[1-5]?[1-9]\d{3})?\/[\w/-]*(?:\?[\w=&%+-]+)?$/;

function addressIn(url: string): Pick<URL, 'host' | 'pathname' | 'search'> {
  if (!plainAddress.test(url)) return URL.canParse(url) ? new URL(url) : unknownUrl;
  const start = url.indexOf('//') + 2;
  const end = url.indexOf('/', start);
  const queryAt = url.indexOf('?', end);
  const pathEnd = queryAt < 0 ? url.length : queryAt;
  return {
    host: url.slice(start, end),
    pathname: url.slice(end, pathEnd),
    search: url.slice(pathEnd),
  };
}

/** Some proxies write whole seconds. */
function precisionOf(time: string): number {
  const [, digits = ''] = /:\d\d[.,](\d+)/.exec(time) ?? [];
  return 10 ** Math.max(0, 3 - digits.length);
}

const unknownUrl = new URL('http://unknown/');
const requestHeaders = ['authorization', 'content-type'];
const replyHeaders = ['content-type', 'retry-after', 'date', 'allow', 'location'];

/**
 * Undefined if a body was not saved: it has no text, but a positive size or -1 (unknown), or is not
 * text.
 */
function textOf(content: z.output<typeof contentSchema>, size: unknown): string | undefined {
  const { text = '', encoding = '', _file: file } = content ?? {};
  if (text === '' && (file !== undefined || Number(size) > 0 || Number(size) === -1))
    return undefined;
  if (encoding === '') return text;
  const bytes = Buffer.from(text, 'base64');
  return encoding === 'base64' && isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

function headersOf(headers: unknown, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const header of Array.isArray(headers) ? headers : []) {
    const { name, value } = Object(header);
    const lower = String(name).toLowerCase();
    if (names.includes(lower) && typeof value === 'string') found[lower] ??= value;
  }
  return found;
}
