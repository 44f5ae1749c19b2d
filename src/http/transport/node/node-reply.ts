/**
 * Writes replies on responses of Node's HTTP server. `write` leaves out the body, type and length
 * of 204 and 304; Node itself leaves out the body of a reply to HEAD.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ApiReply } from '#contract/request-and-reply.ts';
import { EventStream, eventStreamHeaders, eventStreamType } from '../event-stream.ts';
import { type HeadLines, linesOf } from '../head-lines.ts';
import type { Outlet } from '../outlet.ts';
import type { ServedPort } from '../served-port.ts';
import type { ControlRequest } from '../transport.ts';
import { jsonType, statusTexts } from '../transport-replies.ts';

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
    response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () =>
      response.socket?.destroySoon(),
    );
  }

  /** Writes the head. `length`: undefined if the reply has no body. */
  #head(
    status: number,
    length: number | undefined,
    contentType: string,
    headers: ApiReply['headers'],
    ends: boolean,
  ): void {
    const list = [...this.#lines.list(this.#response, ends)];
    if (length !== undefined) {
      list.push('content-type', headers?.['content-type'] ?? contentType);
      list.push('content-length', String(length));
    }
    for (const name in headers) {
      if (length === undefined || name !== 'content-type') list.push(name, headers[name] ?? '');
    }
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

  later(act: () => void): void {
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
