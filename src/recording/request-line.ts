/**
 * The line of a request in a journal, with its reply and its checksum: a `RequestEntry`. It is
 * written as bytes, without a value or a text in between, because it is most of what a journal
 * costs.
 */
import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { isoTime } from '../sim/clock.ts';
import { sha256 } from './digest.ts';
import { checksumEnd, checksumMember } from './journal-checksum.ts';
import { JsonBytes } from './json-bytes.ts';
import type { RecordedExchange } from './recorded-exchange.ts';

/** Lines are written one by one, so all journals share it. */
const line = new JsonBytes();

/**
 * What comes before a reply that is written as it is. It cannot be part of what precedes it: the
 * quotes in texts are escaped, and a header's value is a text.
 */
const jsonReply = ',"json":';
const requestStart = /^\{"at":"[^"]*","request":/;

/** Valid until the next call. */
export function requestLine(exchange: RecordedExchange): Buffer {
  const { status, reply = '', headers, delivery } = exchange;
  line.clear();
  line.ascii('{"at":"');
  line.ascii(isoTime(exchange.atMs));
  head(exchange);
  body(exchange.body ?? '');
  line.ascii('},"reply":{"status":');
  line.ascii(String(status));
  if (headers !== undefined) value(',"headers":', headers);
  if (delivery !== undefined) value(',"delivery":', delivery);
  if (isJson(exchange)) {
    line.ascii(jsonReply);
    line.json(reply);
  } else field(',"body":', reply);
  line.ascii('}');
  line.ascii(checksumEnd(crc32(line.bytes)));
  return line.bytes;
}

/** The value of a line; a reply written as JSON becomes its text, as it was. */
export function valueIn(text: string): unknown {
  const start = requestStart.test(text) ? text.indexOf(`${jsonReply}{`) : -1;
  if (start < 0) return JSON.parse(text);
  const end = text.lastIndexOf(`}${checksumMember}`);
  const entry = JSON.parse(text.slice(0, start) + text.slice(end));
  entry.reply.body = text.slice(start + jsonReply.length, end);
  return entry;
}

/** True for replies that no fault touched: each is a JSON object in one line. */
function isJson({ reply = '', isForced, delivery }: RecordedExchange): boolean {
  if (isForced || delivery !== undefined) return false;
  return reply.startsWith('{') && reply.endsWith('}') && !reply.includes('\n');
}

/** The last head of a send: the same for most sends of a client. */
let sendHead = { method: '', path: '', keyId: '', contentType: '', bytes: Buffer.alloc(0) };

function head(exchange: RecordedExchange): void {
  const { method, path, query, keyId, contentType, contentEncoding, forwardedFor } = exchange;
  const isPlain = query === '' && contentEncoding === undefined && forwardedFor === undefined;
  const isLast = keyId === sendHead.keyId && contentType === sendHead.contentType;
  if (isPlain && isLast && path === sendHead.path && method === sendHead.method) {
    line.copy(sendHead.bytes);
    return;
  }
  const start = line.bytes.length;
  line.ascii('","request":{"method":');
  line.text(method);
  field(',"path":', path);
  if (query !== '') field(',"query":', query);
  if (keyId === undefined) caller(exchange);
  else field(',"key_id":', keyId);
  if (forwardedFor !== undefined) field(',"forwarded_for":', forwardedFor);
  if (contentType !== undefined) field(',"content_type":', contentType);
  if (contentEncoding !== undefined) field(',"content_encoding":', contentEncoding);
  if (!isPlain || method !== 'POST' || keyId === undefined || contentType === undefined) return;
  sendHead = { method, path, keyId, contentType, bytes: Buffer.from(line.bytes.subarray(start)) };
}

function field(start: string, text: string): void {
  line.ascii(start);
  line.text(text);
}

function value(start: string, object: object): void {
  line.ascii(start);
  line.json(JSON.stringify(object));
}

/** The caller of a call that was not authenticated. */
function caller({ authorization, clientIp = '' }: RecordedExchange): void {
  if (authorization !== undefined) field(',"credential":', `sha256:${sha256(authorization)}`);
  field(',"client_ip":', clientIp);
}

function body(sent: string | Uint8Array): void {
  if (sent.length === 0) return;
  if (typeof sent === 'string') field(',"body":', sent);
  else if (isUtf8(sent)) {
    line.ascii(',"body":');
    line.utf8(sent);
  } else {
    const { buffer, byteOffset, byteLength } = sent;
    field(',"body_base64":', Buffer.from(buffer, byteOffset, byteLength).toString('base64'));
  }
}
