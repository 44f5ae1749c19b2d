/**
 * Serves a connection of Node's server as long as its requests are plain: see `plain-head.ts`.
 * `node:http` takes three times as long for such a request, as it makes two streams for each. The
 * first bytes that are anything else are handed over to `node:http`, with the connection. A test
 * compares the replies of both ways byte for byte.
 */
import type { Socket } from 'node:net';
// Not the global one, which a test may fake: a client is slow in real time.
import { performance } from 'node:perf_hooks';
import type { ApiReply, ApiRequest } from '../service/messages.ts';
import type { Answers, Outlet } from './answers.ts';
import { ArrivingBody } from './arriving-body.ts';
import { type HeadLines, resetSocket } from './node-reply.ts';
import { type PlainFields, plainStart, readPlainFields } from './plain-head.ts';
import type { ServedPort } from './served-port.ts';
import { statusTexts } from './status-texts.ts';
import { plainIp } from './transport.ts';
import { jsonType } from './transport-replies.ts';

/** What all connections of a port share. */
export interface PlainLane {
  readonly port: ServedPort;
  readonly answers: Answers;
  readonly lines: HeadLines;
  readonly open: Set<PlainConnection>;
  /** `node:http` takes the connection. */
  readonly handOver: (socket: Socket) => void;
}

/** Below Node's limit for a head, which counts other bytes. */
const mostHeadBytes = 8_192;
/** Bytes behind a request whose reply is due; then the client has to wait. */
const mostWaitingBytes = 65_536;

export class PlainConnection {
  readonly #lane: PlainLane;
  readonly #socket: Socket;
  /** The address of the client, once it was asked for. */
  #clientIp: string | undefined;
  /** The headers of the last request, which most clients repeat. */
  #lastText = '';
  #lastFields: PlainFields | undefined;
  /** The request whose reply is due. */
  #current: PlainRequest | undefined;
  /** The body of `#current`, while it arrives. */
  #body: ArrivingBody | undefined;
  #missingBytes = 0;
  #bodyUntilMs = 0;
  /** Bytes that wait for the reply before them. */
  #waiting: Buffer | undefined;
  #isOver = false;

  constructor(lane: PlainLane, socket: Socket) {
    this.#lane = lane;
    this.#socket = socket;
    lane.open.add(this);
    socket.on('data', this.#onData).on('end', this.#onEnd).on('drain', this.#onDrain);
    socket.on('close', this.#onClose).on('error', ignore);
    socket.setTimeout(lane.port.idleTimeoutMs, this.#onTimeout);
  }

  get clientIp(): string {
    this.#clientIp ??= plainIp(this.#socket.remoteAddress ?? '');
    return this.#clientIp;
  }

  get socket(): Socket {
    return this.#socket;
  }

  /** Writes the whole reply of a request, or the last bytes of the connection. */
  send(request: PlainRequest, text: string, isAscii: boolean, ends: boolean): void {
    const socket = this.#socket;
    socket.write(text, isAscii ? 'latin1' : 'utf8');
    if (ends) {
      this.#isOver = true;
      socket.destroySoon();
    }
    if (this.#current !== request) return;
    this.#current = undefined;
    this.#body?.release();
    this.#body = undefined;
    if (this.#waiting !== undefined) process.nextTick(this.#onDrain);
  }

  get #isBusy(): boolean {
    return this.#isOver || this.#current !== undefined || this.#socket.writableNeedDrain;
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#waiting === undefined) this.#read(bytes);
    else this.#wait(Buffer.concat([this.#waiting, bytes]));
  };

  readonly #onDrain = (): void => {
    const waiting = this.#waiting;
    if (this.#socket.destroyed || waiting === undefined || this.#isBusy) return;
    this.#waiting = undefined;
    this.#socket.resume();
    this.#read(waiting);
  };

  #wait(bytes: Buffer): void {
    this.#waiting = bytes;
    if (bytes.length > mostWaitingBytes) this.#socket.pause();
  }

  #read(bytes: Buffer): void {
    let at = 0;
    if (this.#body !== undefined) at = this.#takeBody(this.#body, bytes);
    // The replies to several requests of one packet leave as one.
    let isCorked = false;
    while (at < bytes.length && !this.#isBusy) {
      const next = this.#start(bytes, at);
      if (next < 0) {
        if (isCorked) this.#socket.uncork();
        this.#handOver(bytes.subarray(at));
        return;
      }
      at = next;
      if (at < bytes.length && !isCorked) {
        isCorked = true;
        this.#socket.cork();
      }
    }
    if (isCorked) this.#socket.uncork();
    if (at < bytes.length && !this.#isOver) this.#wait(Buffer.from(bytes.subarray(at)));
  }

  /** Serves the request at `at`. Returns where the next one starts; -1: this one is not plain. */
  #start(bytes: Buffer, at: number): number {
    const text = bytes.toString('latin1', at, at + mostHeadBytes);
    const headEnd = text.indexOf('\r\n\r\n');
    const lineEnd = text.indexOf('\r\n');
    if (headEnd <= lineEnd) return -1;
    const parts = plainStart.exec(text.slice(0, lineEnd));
    const fields = this.#fieldsOf(text.slice(lineEnd + 2, headEnd));
    if (parts === null || fields === undefined) return -1;
    const { port, answers } = this.#lane;
    const { length } = fields;
    if (length > port.intake.limitBytes) return -1;
    const [, method = '', path = '', query = ''] = parts;
    const request = new PlainRequest(this, this.#lane.lines, method, path, query, fields);
    this.#current = request;
    const bodyAt = at + headEnd + 4;
    const end = bodyAt + length;
    if (end <= bytes.length) {
      // A view of what arrived: valid during the call.
      if (length > 0) request.body = bytes.subarray(bodyAt, end);
      answers.serve(request, request);
      return end;
    }
    answers.pending.add(request);
    this.#body = new ArrivingBody(port.intake, port.room);
    this.#missingBytes = length;
    this.#bodyUntilMs = performance.now() + port.idleTimeoutMs;
    return bodyAt + this.#takeBody(this.#body, bytes.subarray(bodyAt));
  }

  #fieldsOf(text: string): PlainFields | undefined {
    if (text !== this.#lastText) {
      this.#lastText = text;
      this.#lastFields = readPlainFields(text);
    }
    return this.#lastFields;
  }

  /** Returns how many of the bytes belong to the body. */
  #takeBody(body: ArrivingBody, bytes: Buffer): number {
    const request = this.#current;
    if (request === undefined) return 0;
    const taken = Math.min(this.#missingBytes, bytes.length);
    if (performance.now() > this.#bodyUntilMs) this.#socket.destroy();
    this.#missingBytes -= taken;
    const { answers } = this.#lane;
    answers.take(request, body, bytes.subarray(0, taken));
    if (this.#missingBytes > 0 || request.isAnswered) return taken;
    this.#body = undefined;
    answers.arrived(request, request, body);
    return taken;
  }

  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    this.#isOver = true;
    this.#lane.open.delete(this);
    socket.off('data', this.#onData).off('end', this.#onEnd).off('drain', this.#onDrain);
    socket.off('close', this.#onClose).off('error', ignore);
    socket.setTimeout(0, this.#onTimeout);
    socket.pause();
    socket.unshift(bytes);
    this.#lane.handOver(socket);
    socket.resume();
  }

  readonly #onTimeout = (): void => {
    const isDelayed = this.#current !== undefined && this.#body === undefined;
    if (!isDelayed || this.#socket.writableLength > 0) this.#socket.destroy();
  };

  /** The client sends no more. Node's parser refuses half a body, and then so does this. */
  readonly #onEnd = (): void => {
    if (this.#body !== undefined && this.#current !== undefined) {
      this.#lane.answers.refuse(this.#current, this.#lane.port.reply('malformed'));
    }
    if (this.#socket.writable) this.#socket.end();
  };

  readonly #onClose = (): void => {
    this.#isOver = true;
    this.#lane.open.delete(this);
    this.#body?.release();
    this.#current?.leave();
  };
}

/** `close` follows. */
function ignore(): void {}

/** A request, and the outlet of its reply. */
class PlainRequest implements ApiRequest, Outlet {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly forwardedFor: string | undefined;
  body: string | Uint8Array = '';
  readonly #connection: PlainConnection;
  readonly #lines: HeadLines;
  #isAnswered = false;
  #onLeft: (() => void) | undefined;

  constructor(
    connection: PlainConnection,
    lines: HeadLines,
    method: string,
    path: string,
    query: string,
    fields: PlainFields,
  ) {
    this.#connection = connection;
    this.#lines = lines;
    this.method = method;
    this.path = path;
    this.query = query;
    this.host = fields.host;
    this.authorization = fields.authorization;
    this.contentType = fields.contentType;
    this.contentEncoding = fields.contentEncoding;
    this.forwardedFor = fields.forwardedFor;
  }

  get clientIp(): string {
    return this.#connection.clientIp;
  }

  get isAnswered(): boolean {
    return this.#isAnswered || this.#connection.socket.destroyed;
  }

  get isDone(): boolean {
    const { destroyed, writableLength } = this.#connection.socket;
    return destroyed || (this.#isAnswered && writableLength === 0);
  }

  write(
    status: number,
    payload: string | Uint8Array,
    contentType: string,
    headers: ApiReply['headers'],
    ends: boolean,
  ): void {
    if (this.isAnswered) return;
    this.#isAnswered = true;
    const body = typeof payload === 'string' ? payload : Buffer.from(payload).toString();
    const length = Buffer.byteLength(body);
    const isBodiless = status === 204 || status === 304;
    const head = this.#head(status, isBodiless ? undefined : contentType, length, headers, ends);
    const text = isBodiless || this.method === 'HEAD' ? head : head + body;
    this.#connection.send(this, text, length === body.length, ends);
  }

  #head(
    status: number,
    contentType: string | undefined,
    length: number,
    headers: ApiReply['headers'],
    ends: boolean,
  ): string {
    let head = `HTTP/1.1 ${status} ${statusTexts[status] ?? 'unknown'}\r\n${this.#lines.text(ends)}`;
    if (contentType !== undefined) {
      const type = headers?.['content-type'] ?? contentType;
      head += `content-type: ${type}\r\ncontent-length: ${length}\r\n`;
    }
    for (const name in headers) {
      if (name !== 'content-type' || contentType === undefined) {
        head += `${name}: ${headers[name]}\r\n`;
      }
    }
    return `${head}\r\n`;
  }

  truncate({ status, body, headers }: ApiReply): void {
    if (this.isAnswered) return;
    this.#isAnswered = true;
    const bytes = Buffer.from(body);
    const head = this.#head(status, jsonType, bytes.length, headers, false);
    const half = bytes.subarray(0, bytes.length >> 1);
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

  /** The service has no streams of events. */
  openStream(): undefined {
    return undefined;
  }

  later(act: () => void): void {
    if (!this.#connection.socket.destroyed) act();
  }

  onLeft(act: () => void): void {
    this.#onLeft = act;
  }

  /** The connection has closed. */
  leave(): void {
    if (!this.#isAnswered) this.#onLeft?.();
  }
}
