/**
 * Writes the journal's line for a request: a `RequestEntry` with its checksum. It writes bytes into
 * a buffer that is reused, without an object or a text in between, because these lines are most of
 * what a journal costs: building a text and encoding it takes twice the time.
 */
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { isoTime } from '#contract/time.ts';
import { checksumMember, jsonReply } from '#judging/evidence/journal-line.ts';
import { type RecordedExchange, textOf } from '../recorded-exchange.ts';

/** The buffer shrinks to this length at `clear`. */
const startBytes = 131_072;
/** The most bytes of one UTF-16 unit: in a JSON string, as in `\u0000`; and in UTF-8. */
const maxBytesInString = 6;
const maxBytesInUtf8 = 3;
/** The digits of the largest 32-bit number. */
const maxDigits = 10;

const quote = 0x22;
const zero = 0x30;
const backslash = 0x5c;
const firstPrintable = 0x20;
/** Bytes from here on need an escape or several bytes: the slow path handles such a text. */
const firstSpecial = 0x7f;

class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(startBytes);
  #length = 0;

  /** The bytes from this offset on. They are valid until the next call of any method. */
  since(start: number): Buffer {
    return this.#bytes.subarray(start, this.#length);
  }

  /** How many bytes were written since the last `clear`. */
  get length(): number {
    return this.#length;
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

  /** Writes an unsigned 32-bit number. With `String` it would take as long as the CRC-32. */
  digits(number: number): void {
    this.#reserve(maxDigits);
    let scale = 1;
    while (scale * 10 <= number) scale *= 10;
    for (; scale >= 1; scale /= 10)
      this.#bytes[this.#length++] = zero + (Math.floor(number / scale) % 10);
  }

  /** Writes a text that is JSON already. */
  json(text: string): void {
    this.#reserve(maxBytesInUtf8 * text.length);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Writes a text as a JSON string, with quotes and escapes. */
  text(text: string): void {
    this.#reserve(maxBytesInString * text.length + 2);
    const bytes = this.#bytes;
    let end = this.#length;
    bytes[end++] = quote;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < firstPrintable || unit >= firstSpecial) {
        // `#length` is still at the start, so this overwrites what the loop has written.
        this.json(JSON.stringify(text));
        return;
      }
      if (unit === quote || unit === backslash) bytes[end++] = backslash;
      bytes[end++] = unit;
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

/** One buffer for all journals, since they are written one by one. */
const buffer = new JsonBytes();

/** Writes the lines of exchanges. The bytes are valid until the next call. */
export function requestLines(exchanges: readonly RecordedExchange[]): Buffer {
  buffer.clear();
  for (const exchange of exchanges) writeRequestLine(exchange);
  return buffer.since(0);
}

export function requestLine(exchange: RecordedExchange): string {
  return requestLines([exchange]).toString('utf8');
}

function writeRequestLine(exchange: RecordedExchange): void {
  const { status, reply = '', headers, delivery } = exchange;
  const { faultId, faultKind, repeats, sentHeaders } = exchange;
  const start = buffer.length;
  buffer.ascii('{"at":"');
  buffer.ascii(isoTime(exchange.atMs));
  writeRequestHead(exchange);
  // Here and not in `writeRequestHead`: that copies the head of the last send, whose headers may
  // differ.
  if (sentHeaders !== undefined) writeObjectMember(',"headers":', sentHeaders);
  writeRequestBody(exchange.body ?? '');
  buffer.ascii('}');
  if (faultId !== undefined) writeMember(',"fault_id":', faultId);
  if (faultKind !== undefined) writeMember(',"fault":', faultKind);
  if (repeats !== undefined) buffer.ascii(`,"repeats":${repeats}`);
  buffer.ascii(',"reply":{"status":');
  buffer.digits(status);
  if (headers !== undefined) writeObjectMember(',"headers":', headers);
  if (delivery !== undefined) writeObjectMember(',"delivery":', delivery);
  if (canWriteAsJson(exchange)) {
    buffer.ascii(jsonReply);
    buffer.json(reply);
  } else writeMember(',"body":', reply);
  buffer.ascii('}');
  const checksum = crc32(buffer.since(start));
  buffer.ascii(checksumMember);
  buffer.digits(checksum);
  buffer.ascii('}\n');
}

/** True if a reply can be written as JSON: no fault touched it, and it is an object in one line. */
function canWriteAsJson({ reply = '', isForced, delivery }: RecordedExchange): boolean {
  if (isForced || delivery !== undefined) return false;
  return reply.startsWith('{') && reply.endsWith('}') && !reply.includes('\n');
}

/** The head of the last plain POST that was written: most sends of a client have the same. */
let lastSendHead = { method: '', path: '', keyId: '', contentType: '', bytes: Buffer.alloc(0) };

/** Writes a request without its body. If `lastSendHead` has the same fields, copies its bytes. */
function writeRequestHead(exchange: RecordedExchange): void {
  const { method, path, query, keyId, contentType, contentEncoding, forwardedFor } = exchange;
  const isPlain = query === '' && contentEncoding === undefined && forwardedFor === undefined;
  const isLast = keyId === lastSendHead.keyId && contentType === lastSendHead.contentType;
  if (isPlain && isLast && path === lastSendHead.path && method === lastSendHead.method) {
    buffer.copy(lastSendHead.bytes);
    return;
  }
  const start = buffer.length;
  buffer.ascii('","request":{"method":');
  buffer.text(method);
  writeMember(',"path":', path);
  if (query !== '') writeMember(',"query":', query);
  if (keyId === undefined) writeCaller(exchange);
  else writeMember(',"key_id":', keyId);
  if (forwardedFor !== undefined) writeMember(',"forwarded_for":', forwardedFor);
  if (contentType !== undefined) writeMember(',"content_type":', contentType);
  if (contentEncoding !== undefined) writeMember(',"content_encoding":', contentEncoding);
  if (!isPlain || method !== 'POST' || keyId === undefined || contentType === undefined) return;
  lastSendHead = { method, path, keyId, contentType, bytes: Buffer.from(buffer.since(start)) };
}

/** `opening`: the comma and the name of the member, such as `,"path":`. */
function writeMember(opening: string, text: string): void {
  buffer.ascii(opening);
  buffer.text(text);
}

function writeObjectMember(opening: string, object: object): void {
  buffer.ascii(opening);
  buffer.json(JSON.stringify(object));
}

/** Writes who sent a request that was not authenticated. */
function writeCaller({ authorization, clientIp = '' }: RecordedExchange): void {
  if (authorization !== undefined)
    writeMember(',"credential":', `sha256:${hash('sha256', authorization)}`);
  writeMember(',"client_ip":', clientIp);
}

function writeRequestBody(body: string | Uint8Array): void {
  if (body.length === 0) return;
  if (typeof body === 'string' || isUtf8(body)) writeMember(',"body":', textOf(body));
  else {
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64');
    writeMember(',"body_base64":', text);
  }
}
