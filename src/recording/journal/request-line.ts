/**
 * Writes the journal's line for a request: a `RequestEntry` with its checksum. It writes bytes,
 * without an object or a text in between, because these lines are most of what a journal costs.
 */
import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { isoTime } from '#contract/time.ts';
import { sha256 } from '#io/digest.ts';
import { checksumEnd } from '#judging/evidence/journal-checksum.ts';
import { jsonReply } from '#judging/evidence/journal-line.ts';
import type { RecordedExchange } from '../recorded-exchange.ts';
import { JsonBytes } from './json-bytes.ts';

/** One buffer for all journals, since lines are written one by one. */
const line = new JsonBytes();

/** The line of an exchange. The bytes are valid until the next call. */
export function requestLine(exchange: RecordedExchange): Buffer {
  const { status, reply = '', headers, delivery } = exchange;
  line.clear();
  line.ascii('{"at":"');
  line.ascii(isoTime(exchange.atMs));
  writeRequestHead(exchange);
  writeRequestBody(exchange.body ?? '');
  line.ascii('},"reply":{"status":');
  line.ascii(String(status));
  if (headers !== undefined) writeObject(',"headers":', headers);
  if (delivery !== undefined) writeObject(',"delivery":', delivery);
  if (isJson(exchange)) {
    line.ascii(jsonReply);
    line.json(reply);
  } else writeText(',"body":', reply);
  line.ascii('}');
  line.ascii(checksumEnd(crc32(line.bytes)));
  return line.bytes;
}

/** True if a reply can be written as JSON: no fault touched it, and it is an object in one line. */
function isJson({ reply = '', isForced, delivery }: RecordedExchange): boolean {
  if (isForced || delivery !== undefined) return false;
  return reply.startsWith('{') && reply.endsWith('}') && !reply.includes('\n');
}

/** The last head of a POST that was written: the same for most sends of a client. */
let sendHead = { method: '', path: '', keyId: '', contentType: '', bytes: Buffer.alloc(0) };

/** Writes all of a request but its body; copies the bytes of `sendHead` if they are the same. */
function writeRequestHead(exchange: RecordedExchange): void {
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
  writeText(',"path":', path);
  if (query !== '') writeText(',"query":', query);
  if (keyId === undefined) writeCaller(exchange);
  else writeText(',"key_id":', keyId);
  if (forwardedFor !== undefined) writeText(',"forwarded_for":', forwardedFor);
  if (contentType !== undefined) writeText(',"content_type":', contentType);
  if (contentEncoding !== undefined) writeText(',"content_encoding":', contentEncoding);
  if (!isPlain || method !== 'POST' || keyId === undefined || contentType === undefined) return;
  sendHead = { method, path, keyId, contentType, bytes: Buffer.from(line.bytes.subarray(start)) };
}

function writeText(start: string, text: string): void {
  line.ascii(start);
  line.text(text);
}

function writeObject(start: string, object: object): void {
  line.ascii(start);
  line.json(JSON.stringify(object));
}

/** Writes who sent a request that was not authenticated. */
function writeCaller({ authorization, clientIp = '' }: RecordedExchange): void {
  if (authorization !== undefined) writeText(',"credential":', `sha256:${sha256(authorization)}`);
  writeText(',"client_ip":', clientIp);
}

function writeRequestBody(body: string | Uint8Array): void {
  if (body.length === 0) return;
  if (typeof body === 'string') writeText(',"body":', body);
  else if (isUtf8(body)) {
    line.ascii(',"body":');
    line.utf8(body);
  } else {
    const { buffer, byteOffset, byteLength } = body;
    writeText(',"body_base64":', Buffer.from(buffer, byteOffset, byteLength).toString('base64'));
  }
}
