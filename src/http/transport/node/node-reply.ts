/**
 * Writes replies on responses of Node's HTTP server. `write` leaves out the body, type and length
 * of 204 and 304; Node itself leaves out the body of a reply to HEAD. `HeadLines` has the headers
 * that all replies of a port share, also for `plain-request.ts`.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ApiReply } from '#contract/request-and-reply.ts';
import { EventStream, eventStreamHeaders, eventStreamType } from '../event-stream.ts';
import { jsonType, type Outlet, statusTexts, type WrittenReply } from '../outlet.ts';
import type { ServedPort } from '../served-port.ts';
import { type ControlRequest, keepAliveSeconds } from '../transport.ts';

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
    return this.#response.destroyed;
  }

  write(reply: WrittenReply, ends: boolean): void {
    if (this.isAnswered) return;
    const { status, body } = reply;
    const isBodiless = status === 204 || status === 304;
    this.#head(reply, isBodiless ? undefined : Buffer.byteLength(body), ends);
    this.#response.end(isBodiless ? undefined : body);
  }

  truncate(reply: ApiReply): void {
    if (this.isAnswered) return;
    const bytes = Buffer.from(reply.body);
    const response = this.#response;
    this.#head(reply, bytes.length, false);
    response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () =>
      response.socket?.destroySoon(),
    );
  }

  /** Writes the head. `length`: undefined if the reply has no body. */
  #head(
    { status, contentType = jsonType, headers }: WrittenReply,
    length: number | undefined,
    ends: boolean,
  ): void {
    const list = [...this.#lines.list(this.#response, ends)];
    if (length !== undefined) {
      list.push('content-type', headers?.['content-type'] ?? contentType);
      list.push('content-length', String(length));
    }
    for (const name in headers)
      if (length === undefined || name !== 'content-type') list.push(name, headers[name] ?? '');
    this.#response.writeHead(status, list);
  }

  drop(): void {
    this.#response.destroy();
  }

  reset(): void {
    const { socket } = this.#response;
    if (socket !== null) resetSocket(socket);
  }

  openStream(ends: boolean, onEnded: (stream: EventStream) => void): EventStream | undefined {
    const response = this.#response;
    const headers = { 'content-type': eventStreamType, ...eventStreamHeaders };
    const list = [...this.#lines.list(response, ends), ...Object.entries(headers).flat()];
    response.writeHead(200, list);
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
      onEnded(stream);
      stream.stop();
    });
    return stream;
  }

  corked(act: () => void): void {
    if (!this.#response.destroyed) act();
  }

  onLeft(act: () => void): void {
    this.onClose(() => {
      if (!this.#response.headersSent) act();
    });
  }

  /** Calls `act` once the reply is written, or the client has left. */
  onClose(act: () => void): void {
    this.#response.once('close', act);
  }
}

/**
 * The headers that all replies of a port have: connection handling, the simulated date, and the
 * port's own. They are built once for each second and not for each reply.
 */
export class HeadLines {
  readonly #now: (() => number) | undefined;
  readonly #portHeaders: readonly string[];
  /** The second, of simulated time, for which the following fields were built. */
  #second = Number.NaN;
  /** The headers if the connection stays open, and if it ends: names and values in turn. */
  #keepHeaders: readonly string[] = [];
  #endHeaders: readonly string[] = [];
  /** These two lists as lines of a head. */
  #keepText = '';
  #endText = '';

  constructor({ now, headers }: Pick<ServedPort, 'now' | 'headers'>) {
    this.#now = now;
    this.#portHeaders = Object.entries(headers).flat();
  }

  /** Names and values in turn, for `writeHead`. `ends`: also makes Node close the connection. */
  list(response: ServerResponse, ends: boolean): readonly string[] {
    this.#update();
    if (ends) response.shouldKeepAlive = false;
    return response.shouldKeepAlive ? this.#keepHeaders : this.#endHeaders;
  }

  /** The lines of a head. `ends`: the connection is to end. */
  text(ends: boolean): string {
    this.#update();
    return ends ? this.#endText : this.#keepText;
  }

  #update(): void {
    const second = this.#now === undefined ? 0 : Math.floor(this.#now() / 1_000);
    if (second === this.#second) return;
    this.#second = second;
    // Without a simulated clock, Node adds the real date.
    const date = this.#now === undefined ? [] : ['date', new Date(second * 1_000).toUTCString()];
    // Otherwise Node adds its own `Keep-Alive`, with the whole timeout and no margin.
    const keep = ['connection', 'keep-alive', 'keep-alive', `timeout=${keepAliveSeconds}`];
    this.#keepHeaders = [...this.#portHeaders, ...keep, ...date];
    this.#endHeaders = [...this.#portHeaders, 'connection', 'close', ...date];
    this.#keepText = linesOf(this.#keepHeaders);
    this.#endText = linesOf(this.#endHeaders);
  }
}

/** Lines of a head. `headers`: names and values in turn. */
function linesOf(headers: readonly string[]): string {
  return headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
}

/** Resets a connection, or ends it if it has TLS: Node would throw. */
export function resetSocket(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

/** Writes a refusal of bytes that never became a request, and ends the connection. */
export function refuseSocket(
  socket: Socket,
  { status, body }: ApiReply,
  headers: ServedPort['headers'],
): void {
  const lines = linesOf(Object.entries(headers).flat());
  socket.end(
    `HTTP/1.1 ${status} ${statusTexts[status]}\r\ncontent-type: ${jsonType}\r\n${lines}` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
