/**
 * Writes the journal's line for a request: a `RequestEntry` with its checksum. It writes bytes into
 * a buffer that is reused, without an object or a text in between, because these lines are most of
 * what a journal costs: building a text and encoding it takes twice the time.
 */

import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { isoTime } from '#contract/time.ts';
import { sha256 } from '#io/digest.ts';
import { checksumEnd } from '#judging/evidence/journal-checksum.ts';
import { jsonReply } from '#judging/evidence/journal-line.ts';
import type { RecordedExchange } from '../recorded-exchange.ts';

/** The buffer shrinks to this length at `clear`. */
const startBytes = 131_072;
/** JSON makes at most this many bytes of one UTF-16 unit: `\u0000`. */
const maxBytesPerUnit = 6;

const quote = 0x22;
const backslash = 0x5c;
const firstPrintable = 0x20;
/** Bytes from here on need an escape or several bytes: the slow path handles such a text. */
const firstSpecial = 0x7f;

export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(startBytes);
  #length = 0;

  /** The bytes written since the last `clear`. They are valid until the next one. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > startBytes) this.#bytes = Buffer.allocUnsafeSlow(startBytes);
  }

  /** Writes bytes as they are. */
  copy(source: Uint8Array): void {
    this.#reserve(source.length);
    this.#bytes.set(source, this.#length);
    this.#length += source.length;
  }

  /** Writes ASCII as it is. */
  ascii(text: string): void {
    this.#reserve(text.length);
    const bytes = this.#bytes;
    const start = this.#length;
    for (let i = 0; i < text.length; i++) bytes[start + i] = text.charCodeAt(i);
    this.#length = start + text.length;
  }

  /** Writes a text that is JSON already. */
  json(text: string): void {
    this.#reserve(3 * text.length);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Writes a text as a JSON string, with quotes and escapes. */
  text(text: string): void {
    this.#reserve(maxBytesPerUnit * text.length + 2);
    const bytes = this.#bytes;
    let end = this.#length;
    bytes[end++] = quote;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < firstPrintable || unit >= firstSpecial) {
        this.json(JSON.stringify(text));
        return;
      }
      if (unit === quote || unit === backslash) bytes[end++] = backslash;
      bytes[end++] = unit;
    }
    bytes[end++] = quote;
    this.#length = end;
  }

  /** Writes UTF-8 bytes as a JSON string. */
  utf8(source: Uint8Array): void {
    this.#reserve(2 * source.length + 2);
    const bytes = this.#bytes;
    let end = this.#length;
    bytes[end++] = quote;
    for (let i = 0; i < source.length; i++) {
      const byte = source[i] as number;
      if (byte < firstPrintable || byte >= firstSpecial) {
        this.text(Buffer.from(source).toString('utf8'));
        return;
      }
      if (byte === quote || byte === backslash) bytes[end++] = backslash;
      bytes[end++] = byte;
    }
    bytes[end++] = quote;
    this.#length = end;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(2 * needed);
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** One buffer for all journals, since lines are written one by one. */
const line = new JsonBytes();

/** The line of an exchange. The bytes are valid until the next call. */
export function requestLine(exchange: RecordedExchange): Buffer {
  const { status, reply = '', headers, delivery, traceparent } = exchange;
  line.clear();
  line.ascii('{"at":"');
  line.ascii(isoTime(exchange.atMs));
  writeRequestHead(exchange);
  // No part of the head, which is the same for most sends.
  if (traceparent !== undefined) writeText(',"traceparent":', traceparent);
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
