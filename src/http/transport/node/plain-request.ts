/**
 * A *plain* request: a common method, a path, HTTP/1.1, one Host, and headers in the form that
 * clients usually write. This file reads its head, and must only accept what Node's parser accepts,
 * and read it as Node does: any other head is left to that parser. The reply leaves as one write,
 * without the streams of `node:http`.
 */
import type { Socket } from 'node:net';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { jsonType, type Outlet, statusTexts, type WrittenReply } from '../outlet.ts';
import { type HeadLines, resetSocket } from './node-reply.ts';

/** The connection of a plain request. */
export interface ReplyWriter {
  readonly clientIp: string;
  readonly socket: Socket;
  /** Called if the reply to the present request is known, but leaves later: serves the next one. */
  deferReply(): void;
  /** Writes the whole reply to a request. `ends`: the connection ends after it. */
  send(request: PlainRequest, text: string, isAscii: boolean, ends: boolean): void;
}

/** A plain request, and the outlet that writes its reply. */
export class PlainRequest implements ApiRequest, Outlet {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly forwardedFor: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  body: string | Uint8Array = '';
  readonly #connection: ReplyWriter;
  readonly #lines: HeadLines;
  /** Bytes of its head and its body. */
  readonly #size: number;
  #isHeld = false;
  #isAnswered = false;
  /** The lines of `HeadLines` at the time of the request, if its reply leaves later. */
  #headLines: string | undefined;
  #onLeft: (() => void) | undefined;

  constructor(
    connection: ReplyWriter,
    lines: HeadLines,
    { method, path, query, headers, length, size }: PlainHead,
  ) {
    this.#connection = connection;
    this.#lines = lines;
    this.#size = size + length;
    this.method = method;
    this.path = path;
    this.query = query;
    this.host = headers['host'] ?? '';
    this.authorization = headers['authorization'];
    this.contentType = headers['content-type'];
    this.contentEncoding = headers['content-encoding'];
    this.forwardedFor = headers['x-forwarded-for'];
    this.headers = headers;
  }

  get clientIp(): string {
    return this.#connection.clientIp;
  }

  hold({ body, delivery }: ApiReply, ends: boolean): number {
    this.#isHeld = true;
    const isWhole = delivery === undefined;
    if (isWhole) this.#headLines = this.#lines.text(ends);
    if (isWhole && !ends) this.#connection.deferReply();
    return this.#size + headCharacters + body.length;
  }

  get isAnswered(): boolean {
    return this.#isHeld || this.#isAnswered || this.#connection.socket.destroyed;
  }

  get isDone(): boolean {
    const { socket } = this.#connection;
    return socket.destroyed || (this.#isAnswered && socket.writableLength === 0);
  }

  write(reply: WrittenReply, ends: boolean): void {
    if (this.#isAnswered || this.#connection.socket.destroyed) return;
    this.#isAnswered = true;
    const { status } = reply;
    const body = typeof reply.body === 'string' ? reply.body : Buffer.from(reply.body).toString();
    const length = Buffer.byteLength(body);
    const isBodiless = status === 204 || status === 304;
    const head = this.#head(reply, isBodiless ? undefined : length, ends);
    const text = isBodiless || this.method === 'HEAD' ? head : head + body;
    this.#connection.send(this, text, length === body.length, ends);
  }

  /** The status line and all headers. `length`: undefined if the reply has no body. */
  #head(
    { status, contentType = jsonType, headers }: WrittenReply,
    length: number | undefined,
    ends: boolean,
  ): string {
    const phrase = statusTexts[status] ?? 'unknown';
    let head = `HTTP/1.1 ${status} ${phrase}\r\n${this.#headLines ?? this.#lines.text(ends)}`;
    if (length !== undefined) {
      const type = headers?.['content-type'] ?? contentType;
      head += `content-type: ${type}\r\ncontent-length: ${length}\r\n`;
    }
    for (const name in headers) {
      if (name !== 'content-type' || length === undefined) head += `${name}: ${headers[name]}\r\n`;
    }
    return `${head}\r\n`;
  }

  truncate(reply: ApiReply): void {
    if (this.#isAnswered || this.#connection.socket.destroyed) return;
    this.#isAnswered = true;
    const bytes = Buffer.from(reply.body);
    const head = this.#head(reply, bytes.length, false);
    const half = bytes.subarray(0, Math.floor(bytes.length / 2));
    const { socket } = this.#connection;
    socket.write(Buffer.concat([Buffer.from(head), half]));
    socket.destroySoon();
  }

  drop(): void {
    this.#connection.socket.destroy();
  }

  reset(): void {
    resetSocket(this.#connection.socket);
  }

  corked(act: () => void): void {
    if (!this.#connection.socket.destroyed) act();
  }

  onLeft(act: () => void): void {
    this.#onLeft = act;
  }

  /** Called when the connection has closed. */
  leave(): void {
    if (!this.#isAnswered) this.#onLeft?.();
  }
}

export interface PlainHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The length of the body in bytes; 0 without one. */
  readonly length: number;
  readonly lines: string;
  /** Bytes up to the end of the empty line. */
  readonly size: number;
  /** These bytes, if a body follows: then the next request may have the same head. */
  readonly copy: Buffer | undefined;
}

/** About how many characters the head of a reply has. */
const headCharacters = 256;
/** A longer head is left to Node, whose limit of 16 KiB counts other bytes than this one. */
const longestHeadBytes = 8_192;
const endOfHead = '\r\n\r\n';

/** The first line of a plain request, as method, path and query. */
const plainRequestLine =
  /^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (\/[\w\-.~%!$&'()*+,;=:@/]*)(?:\?([\w\-.~%!$&'()*+,;=:@/?]*))? HTTP\/1\.1$/;
/** A header whose value is printable ASCII, with at most one space before it. */
const headerLine = /^([A-Za-z][A-Za-z0-9-]*): ?([!-~](?:[ -~]*[!-~])?|)$/;
/** Headers that change what the request is, or how its body is read: never plain. */
const unplainHeaders = new Set([
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Headers that are an error, or mean something else, when they are sent twice. */
const singleHeaders = new Set(['host', 'content-length', 'authorization', 'connection']);

/** A longer length is left to Node's parser. */
const plainLength = /^\d{1,8}$/;

/** Reads the head at `offset`; undefined if it is not plain. `last`: that of the last request. */
export function readPlainHead(
  bytes: Buffer,
  offset: number,
  last: PlainHead | undefined,
): PlainHead | undefined {
  if (last?.copy?.equals(bytes.subarray(offset, offset + last.size))) return last;
  const text = bytes.toString('latin1', offset, offset + longestHeadBytes);
  const headEnd = text.indexOf(endOfHead);
  const lineEnd = text.indexOf('\r\n');
  // The head is incomplete or too long (-1), or has no headers.
  if (headEnd <= lineEnd) return undefined;
  const parts = plainRequestLine.exec(text.slice(0, lineEnd));
  const lines = text.slice(lineEnd + 2, headEnd);
  const fields = lines === last?.lines ? last : readPlainFields(lines);
  if (parts === null || fields === undefined) return undefined;
  const [, method = '', path = '', query = ''] = parts;
  const { headers, length } = fields;
  const size = headEnd + endOfHead.length;
  const copy = length > 0 ? Buffer.from(bytes.subarray(offset, offset + size)) : undefined;
  return { method, path, query, headers, length, lines, size, copy };
}

/** Reads the lines of the headers; returns undefined if the request is not plain. */
function readPlainFields(text: string): Pick<PlainHead, 'headers' | 'length'> | undefined {
  // An object of the same shape for most requests of a client: faster than one without a prototype.
  const headers: Record<string, string> = {};
  for (const line of text.split('\r\n')) {
    const parts = headerLine.exec(line);
    if (parts === null) return undefined;
    const [, written = '', value = ''] = parts;
    const name = written.toLowerCase();
    const isDuplicate = singleHeaders.has(name) && Object.hasOwn(headers, name);
    if (isDuplicate || unplainHeaders.has(name)) return undefined;
    // A later duplicate replaces an earlier one, as in `node-request.ts`.
    headers[name] = value;
  }
  const { host, connection = 'keep-alive' } = headers;
  const length = headers['content-length'] ?? '0';
  const isPlain = plainLength.test(length) && connection.toLowerCase() === 'keep-alive';
  if (host === undefined || !isPlain) return undefined;
  return { headers, length: Number(length) };
}
