/**
 * The line of a request in a journal, with its reply and its checksum: a `RequestEntry`. It is
 * written as bytes, without a value or a text in between, because it is most of what a journal
 * costs.
 */
import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { isoTime } from '../sim/iso-time.ts';
import { sha256 } from './digest.ts';
import { checksumEnd } from './journal-checksum.ts';
import { JsonBytes } from './json-bytes.ts';
import type { RecordedExchange } from './recorded-exchange.ts';

/** Lines are written one by one, so all journals share it. */
const line = new JsonBytes();

/** Valid until the next call. */
export function requestLine(exchange: RecordedExchange): Buffer {
  const { method, path, query, keyId, contentType, contentEncoding, forwardedFor } = exchange;
  const { status, reply = '', headers, delivery } = exchange;
  line.clear();
  line.ascii('{"at":"');
  line.ascii(isoTime(exchange.atMs));
  line.ascii('","request":{"method":');
  line.text(method);
  line.ascii(',"path":');
  line.text(path);
  if (query !== '') field(',"query":', query);
  if (keyId === undefined) caller(exchange);
  else field(',"key_id":', keyId);
  if (forwardedFor !== undefined) field(',"forwarded_for":', forwardedFor);
  if (contentType !== undefined) field(',"content_type":', contentType);
  if (contentEncoding !== undefined) field(',"content_encoding":', contentEncoding);
  body(exchange.body ?? '');
  line.ascii('},"reply":{"status":');
  line.ascii(String(status));
  field(',"body":', reply);
  if (headers !== undefined) value(',"headers":', headers);
  if (delivery !== undefined) value(',"delivery":', delivery);
  line.ascii('}');
  line.ascii(checksumEnd(crc32(line.bytes)));
  return line.bytes;
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
