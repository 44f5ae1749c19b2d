/**
 * Writes replies on responses of Node's HTTP server. `write` omits the body, type and length of 204
 * and 304; Node omits the body of a reply to HEAD.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ApiReply } from '../service/messages.ts';
import type { Outlet } from './answers.ts';
import { EventStream, eventStreamHeaders, eventStreamType } from './event-stream.ts';
import type { ServedPort } from './served-port.ts';
import { statusTexts } from './status-texts.ts';
import { type ControlRequest, keepAliveSeconds } from './transport.ts';
import { jsonType } from './transport-replies.ts';

/** The headers of every reply: connection handling, the simulation's time, and the port's own. */
export class HeadLines {
  readonly #keepAlive = `timeout=${keepAliveSeconds}`;
  readonly #now: (() => number) | undefined;
  #second = Number.NaN;
  #date = '';

  readonly #ofPort: ReadonlyMap<string, string>;

  constructor({ now, headers }: Pick<ServedPort, 'now' | 'headers'>) {
    this.#now = now;
    this.#ofPort = new Map(Object.entries(headers));
  }

  set(response: ServerResponse, ends: boolean): void {
    response.setHeaders(this.#ofPort as Map<string, string>);
    if (ends) response.shouldKeepAlive = false;
    if (response.shouldKeepAlive) {
      // Otherwise Node adds its own `Keep-Alive`, with the whole timeout and no margin.
      response.setHeader('connection', 'keep-alive');
      response.setHeader('keep-alive', this.#keepAlive);
    } else response.setHeader('connection', 'close');
    if (this.#now === undefined) return;
    const second = Math.floor(this.#now() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#date = new Date(second * 1_000).toUTCString();
    }
    response.setHeader('date', this.#date);
  }
}

/** The outlet of a reply on a response of Node's HTTP server. */
export class NodeOutlet implements Outlet {
  readonly method: string;
  readonly path: string;
  readonly #response: ServerResponse;
  readonly #lines: HeadLines;

  constructor(request: ControlRequest, response: ServerResponse, lines: HeadLines) {
    this.method = request.method;
    this.path = request.path;
    this.#response = response;
    this.#lines = lines;
  }

  get isAnswered(): boolean {
    return this.#response.headersSent || this.#response.destroyed;
  }

  get isDone(): boolean {
    return this.#response.closed;
  }

  write(
    status: number,
    payload: string | Uint8Array,
    contentType: string,
    headers: ApiReply['headers'],
    ends: boolean,
  ): void {
    const response = this.#response;
    if (this.isAnswered) return;
    this.#lines.set(response, ends);
    const bodiless = status === 204 || status === 304;
    response.statusCode = status;
    if (!bodiless) {
      response.setHeader('content-type', contentType);
      response.setHeader('content-length', Buffer.byteLength(payload));
    }
    for (const name in headers) response.setHeader(name, headers[name] ?? '');
    if (bodiless) response.end();
    else response.end(payload);
  }

  truncate({ status, body, headers }: ApiReply): void {
    const response = this.#response;
    if (this.isAnswered) return;
    const bytes = Buffer.from(body);
    this.#lines.set(response, false);
    response.writeHead(status, {
      'content-type': jsonType,
      ...headers,
      'content-length': bytes.length,
    });
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.socket?.destroySoon());
  }

  drop(): void {
    this.#response.destroy();
  }

  reset(): void {
    const { socket } = this.#response;
    // Node cannot reset a connection with TLS; it throws.
    if (socket instanceof TLSSocket) socket.destroy();
    else socket?.resetAndDestroy();
  }

  openStream(ends: boolean, ended: (stream: EventStream) => void): EventStream | undefined {
    const response = this.#response;
    this.#lines.set(response, ends);
    response.writeHead(200, { 'content-type': eventStreamType, ...eventStreamHeaders });
    if (ends || this.method === 'HEAD') {
      response.end();
      return undefined;
    }
    const stream = new EventStream({
      write: (text) => response.write(text),
      end: () => response.end(),
      cut: () => response.destroy(),
    });
    response.on('drain', () => stream.resume());
    response.once('close', () => {
      ended(stream);
      stream.gone();
    });
    return stream;
  }

  later(act: () => void): void {
    if (!this.#response.destroyed) act();
  }

  onLeft(act: () => void): void {
    this.onClose(() => {
      if (!this.#response.headersSent) act();
    });
  }

  /** Calls `act` when the reply is out, or the client has left. */
  onClose(act: () => void): void {
    this.#response.once('close', act);
  }
}

/** Refuses bytes that never became a request. */
export function refuseSocket(
  socket: Socket,
  { status, body }: ApiReply,
  headers: ServedPort['headers'],
): void {
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status} ${statusTexts[status]}\r\ncontent-type: ${jsonType}\r\n${own.join('')}` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
