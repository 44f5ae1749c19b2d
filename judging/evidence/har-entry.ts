/**
 * One entry of a HAR 1.2 file: what of it is read, and the exchange that it records. Accepts what
 * browsers and proxies write: Chromium may leave out credentials and bodies, Playwright writes -1
 * if no reply came, and mitmproxy encodes bodies that are not text.
 */
import { isUtf8 } from 'node:buffer';
import type { TrafficExchange, TrafficReply } from '#contract/exchange.ts';
import { mayChangeReply } from '#contract/fault-kinds.ts';
import { isObject } from '#contract/request-and-reply.ts';
import type { FileReading } from './file-reading.ts';
import { pathOf, timeIn, valueIn } from './reading.ts';

/** A body. The types of its other fields decide nothing, so they are not checked. */
interface HarContent {
  readonly text?: string;
  readonly encoding?: string;
  readonly size?: unknown;
  readonly mimeType?: unknown;
  /** Playwright's own field: the body is in this file. */
  readonly _file?: unknown;
}

export interface HarEntry {
  readonly startedDateTime: string;
  readonly time?: unknown;
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers?: unknown;
    readonly postData?: HarContent | null;
    readonly bodySize?: unknown;
  };
  readonly response: {
    readonly status?: unknown;
    readonly headers?: unknown;
    readonly content?: HarContent | null;
    /** Chrome's own field: set if the reply broke off. */
    readonly _error?: string | null;
  };
  readonly connection?: unknown;
  /** Chrome's own field: set if its cache answered, so that no request was sent. */
  readonly _fromCache?: unknown;
  /** In the simulator's own HAR file: the real time that an exchange took, and its fault. */
  readonly _smstwin?: unknown;
}

/** The entry that a JSON value holds, or what is wrong with it: the first mistake. */
export function readEntry(value: unknown): HarEntry | string {
  const { startedDateTime, request, response } = Object(value);
  const { method, url, postData } = Object(request);
  const { content, _error: error } = Object(response);
  const noTime = 'startedDateTime: expected an ISO 8601 time';
  return (
    otherThanText('startedDateTime', startedDateTime) ??
    (Number.isNaN(timeIn(startedDateTime)) ? noTime : undefined) ??
    otherThanText('request.method', method) ??
    otherThanText('request.url', url) ??
    otherThanContent('request.postData', postData) ??
    (isObject(response) ? undefined : 'response: expected an object') ??
    otherThanContent('response.content', content) ??
    otherThanText('response._error', error ?? '') ??
    (value as HarEntry)
  );
}

function otherThanText(name: string, value: unknown): string | undefined {
  if (typeof value === 'string') return undefined;
  return `${name}: ${value === undefined ? 'is missing: ' : ''}expected a string`;
}

function otherThanContent(name: string, content: unknown): string | undefined {
  if (content === undefined || content === null) return undefined;
  if (!isObject(content)) return `${name}: expected an object`;
  const { text = '', encoding = '' } = content;
  return otherThanText(`${name}.text`, text) ?? otherThanText(`${name}.encoding`, encoding);
}

/** What the simulator's own HAR file says of an entry; undefined in other files. */
function ownFacts(facts: unknown): { readonly durationMs: number; fault?: unknown } | undefined {
  if (facts === undefined) return undefined;
  const { duration_ms: durationMs, fault } = Object(facts);
  return typeof durationMs === 'number' ? { durationMs, fault } : undefined;
}

/** The exchange of an entry, with names for keys. */
export function exchangeOfEntry(entry: HarEntry, reading: FileReading): TrafficExchange {
  const { keys } = reading.shared;
  const { startedDateTime, request, response, connection, time: given } = entry;
  const own = ownFacts(entry._smstwin);
  // Simulated time is exact, and no real time that an exchange took belongs to it: as in a journal.
  const tookMs = typeof given === 'number' ? given : -1;
  const time = own === undefined ? tookMs : Math.round(tookMs - own.durationMs);
  const sentAt = timeIn(startedDateTime);
  const { host, pathname, search } = addressIn(request.url);
  const headers = headersOf(request.headers, requestHeaders);
  const { authorization } = headers;
  if (authorization !== undefined) headers['authorization'] = keys.named(authorization);
  const body = textOf(request.postData, request.bodySize);
  const status = typeof response.status === 'number' ? response.status : 0;
  // Named one by one: spreads would be a large part of the cost of reading.
  return {
    sentAt,
    answeredAt: sentAt + Math.max(0, time),
    clock: reading.path,
    // An exchange that took less than no time was not measured.
    lacksEnd: time < 0 || undefined,
    precisionMs: own === undefined ? precisionOf(startedDateTime) : 0,
    host,
    connection: typeof connection === 'string' && connection !== '' ? connection : undefined,
    method: request.method,
    path: keys.hiddenInAddress(pathOf(pathname)),
    query: keys.hiddenInAddress(search.slice(1)),
    headers: reading.headers.shared(headers),
    showsCredential: authorization !== undefined,
    body: body === undefined ? undefined : keys.hiddenIn(body),
    // Recorders write status 0 or less where no whole reply came.
    reply: status > 0 ? replyOf(status, response, reading) : undefined,
    isForced: typeof own?.fault === 'string' && mayChangeReply(own.fault),
    isSeen: status > 0 && !response._error,
  };
}

function replyOf(
  status: number,
  response: HarEntry['response'],
  reading: FileReading,
): TrafficReply {
  const { content, _error } = response;
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
    headers: reading.headers.shared(headers),
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
 * Undefined if a body was not saved: it has no text, but a positive size or -1 (unknown), it was
 * cut, or it is not text.
 */
function textOf(content: HarContent | null | undefined, size: unknown): string | undefined {
  const { text = '', encoding = '', _file: file } = content ?? {};
  const length = typeof size === 'object' ? 0 : Number(size);
  if (text === '' && (file !== undefined || length > 0 || length === -1)) return undefined;
  if (encoding === '') return isCut(text, length) ? undefined : text;
  const bytes = Buffer.from(text, 'base64');
  const decoded = bytes.toString('utf8');
  const isText = encoding === 'base64' && isUtf8(bytes) && !isCut(decoded, length);
  return isText ? decoded : undefined;
}

/** True for broken JSON of less than its size, or of an unknown one (-1): tools cut long bodies. */
function isCut(text: string, size: number): boolean {
  const isShort = size < 0 || (size > text.length && size > Buffer.byteLength(text));
  return isShort && /^\s*[{[]/.test(text) && valueIn(text) === undefined;
}

function headersOf(headers: unknown, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const header of Array.isArray(headers) ? headers : []) {
    const { name, value } = Object(header);
    if (typeof name !== 'string' || typeof value !== 'string') continue;
    const lower = name.toLowerCase();
    if (names.includes(lower)) found[lower] ??= value;
  }
  return found;
}
