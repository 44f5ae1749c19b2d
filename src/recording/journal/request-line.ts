/**
 * Writes the journal's line for a request: a `RequestEntry` with its checksum. It writes bytes into
 * a buffer that is reused, without an object or a text in between, because these lines are most of
 * what a journal costs: building a text and encoding it takes twice the time.
 */
import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { isoTime } from '#contract/time.ts';
import { sha256 } from '#io/digest.ts';
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

  /** The bytes written since the last `clear`, from one of them on; valid until the next call. */
  from(start: number): Buffer {
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
    for (; scale >= 1; scale /= 10) {
      this.#bytes[this.#length++] = zero + (Math.floor(number / scale) % 10);
    }
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
const line = new JsonBytes();

/** Writes the lines of exchanges. The bytes are valid until the next call. */
export function requestLines(exchanges: readonly RecordedExchange[]): Buffer {
  line.clear();
  for (const exchange of exchanges) writeRequestLine(exchange);
  return line.from(0);
}

export function requestLine(exchange: RecordedExchange): string {
  return requestLines([exchange]).toString('utf8');
}

function writeRequestLine(exchange: RecordedExchange): void {
  const { status, reply = '', headers, delivery } = exchange;
  const { faultId, faultKind, repeats, sentHeaders } = exchange;
  const start = line.length;
  line.ascii('{"at":"');
  line.ascii(isoTime(exchange.atMs));
  writeRequestHead(exchange);
  // Not in `writeRequestHead`, which copies the head of the last send: these headers may differ.
  if (sentHeaders !== undefined) writeObject(',"headers":', sentHeaders);
  writeRequestBody(exchange.body ?? '');
  line.ascii('}');
  if (faultId !== undefined) writeText(',"fault_id":', faultId);
  if (faultKind !== undefined) writeText(',"fault":', faultKind);
  if (repeats !== undefined) line.ascii(`,"repeats":${repeats}`);
  line.ascii(',"reply":{"status":');
  line.digits(status);
  if (headers !== undefined) writeObject(',"headers":', headers);
  if (delivery !== undefined) writeObject(',"delivery":', delivery);
  if (isJson(exchange)) {
    line.ascii(jsonReply);
    line.json(reply);
  } else writeText(',"body":', reply);
  line.ascii('}');
  const checksum = crc32(line.from(start));
  line.ascii(checksumMember);
  line.digits(checksum);
  line.ascii('}\n');
}

/** True if a reply can be written as JSON: no fault touched it, and it is an object in one line. */
function isJson({ reply = '', isForced, delivery }: RecordedExchange): boolean {
  if (isForced || delivery !== undefined) return false;
  return reply.startsWith('{') && reply.endsWith('}') && !reply.includes('\n');
}

/** The head of the last plain POST that was written: most sends of a client have the same. */
let sendHead = { method: '', path: '', keyId: '', contentType: '', bytes: Buffer.alloc(0) };

/** Writes a request without its body. If `sendHead` has the same fields, copies its bytes. */
function writeRequestHead(exchange: RecordedExchange): void {
  const { method, path, query, keyId, contentType, contentEncoding, forwardedFor } = exchange;
  const isPlain = query === '' && contentEncoding === undefined && forwardedFor === undefined;
  const isLast = keyId === sendHead.keyId && contentType === sendHead.contentType;
  if (isPlain && isLast && path === sendHead.path && method === sendHead.method) {
    line.copy(sendHead.bytes);
    return;
  }
  const start = line.length;
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
  sendHead = { method, path, keyId, contentType, bytes: Buffer.from(line.from(start)) };
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
  if (typeof body === 'string' || isUtf8(body)) writeText(',"body":', textOf(body));
  else {
    const { buffer, byteOffset, byteLength } = body;
    const text = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    writeText(',"body_base64":', text);
  }
}
