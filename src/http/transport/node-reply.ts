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
  readonly #now: (() => number) | undefined;
  readonly #ofPort: readonly string[];
  #second = Number.NaN;
  #keeping: readonly string[] = [];
  #ending: readonly string[] = [];
  #texts: readonly [keeping: string, ending: string] = ['', ''];

  constructor({ now, headers }: Pick<ServedPort, 'now' | 'headers'>) {
    this.#now = now;
    this.#ofPort = Object.entries(headers).flat();
  }

  /** Names and values in turn, as `writeHead` takes them. */
  raw(response: ServerResponse, ends: boolean): readonly string[] {
    this.#update();
    if (ends) response.shouldKeepAlive = false;
    return response.shouldKeepAlive ? this.#keeping : this.#ending;
  }

  /** As lines. */
  text(ends: boolean): string {
    this.#update();
    return this.#texts[ends ? 1 : 0];
  }

  /** Every second, as the date changes. */
  #update(): void {
    const second = this.#now === undefined ? 0 : Math.floor(this.#now() / 1_000);
    if (second === this.#second) return;
    this.#second = second;
    // Without a clock, Node writes the machine's date.
    const date = this.#now === undefined ? [] : ['date', new Date(second * 1_000).toUTCString()];
    // Otherwise Node adds its own `Keep-Alive`, with the whole timeout and no margin.
    const keep = ['connection', 'keep-alive', 'keep-alive', `timeout=${keepAliveSeconds}`];
    this.#keeping = [...this.#ofPort, ...keep, ...date];
    this.#ending = [...this.#ofPort, 'connection', 'close', ...date];
    this.#texts = [linesOf(this.#keeping), linesOf(this.#ending)];
  }
}

function linesOf(raw: readonly string[]): string {
  return raw.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
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
    return this.#response.destroyed;
  }

  write(
    status: number,
    payload: string | Uint8Array,
    contentType: string,
    headers: ApiReply['headers'],
    ends: boolean,
  ): void {
    if (this.isAnswered) return;
    const isBodiless = status === 204 || status === 304;
    const length = isBodiless ? undefined : Buffer.byteLength(payload);
    this.#head(status, length, contentType, headers, ends);
    this.#response.end(isBodiless ? undefined : payload);
  }

  truncate({ status, body, headers }: ApiReply): void {
    if (this.isAnswered) return;
    const bytes = Buffer.from(body);
    const response = this.#response;
    this.#head(status, bytes.length, jsonType, headers, false);
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.socket?.destroySoon());
  }

  #head(
    status: number,
    length: number | undefined,
    contentType: string,
    headers: ApiReply['headers'],
    ends: boolean,
  ): void {
    const raw = [...this.#lines.raw(this.#response, ends)];
    if (length !== undefined) {
      raw.push('content-type', headers?.['content-type'] ?? contentType);
      raw.push('content-length', String(length));
    }
    for (const name in headers) {
      if (length === undefined || name !== 'content-type') raw.push(name, headers[name] ?? '');
    }
    this.#response.writeHead(status, raw);
  }

  drop(): void {
    this.#response.destroy();
  }

  reset(): void {
    const { socket } = this.#response;
    if (socket !== null) resetSocket(socket);
  }

  openStream(ends: boolean, ended: (stream: EventStream) => void): EventStream | undefined {
    const response = this.#response;
    const own = { 'content-type': eventStreamType, ...eventStreamHeaders };
    response.writeHead(200, [...this.#lines.raw(response, ends), ...Object.entries(own).flat()]);
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

/** Node cannot reset a connection with TLS; it throws. */
export function resetSocket(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
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
