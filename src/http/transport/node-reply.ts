/**
 * Writes a reply on a response of Node's HTTP server: whole, truncated, or as a stream of events.
 * The counterpart of `uws-reply.ts`; Node omits the body of HEAD and 304 and the length of 204.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiReply } from '../service/messages.ts';
import { EventStream, eventStreamHeaders, eventStreamType } from './event-stream.ts';
import { statusTexts } from './status-texts.ts';
import { jsonType } from './transport-replies.ts';

/** The headers of every reply: connection handling, and the simulation's time. */
export class HeadLines {
  readonly #keepAlive: string;
  readonly #now: (() => number) | undefined;
  #second = Number.NaN;
  #date = '';

  constructor(keepAliveSeconds: number, now: (() => number) | undefined) {
    this.#keepAlive = `timeout=${keepAliveSeconds}`;
    this.#now = now;
  }

  set(response: ServerResponse): void {
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

export function writeReply(
  response: ServerResponse,
  status: number,
  payload: string | Uint8Array,
  contentType: string,
  headers: ApiReply['headers'],
): void {
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

export function cutShort(
  response: ServerResponse,
  reply: ApiReply,
  cut: 'close' | 'truncate' | 'reset',
): void {
  const bytes = Buffer.from(reply.body);
  if (cut === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  if (cut === 'close' || response.req.method === 'HEAD' || bytes.length < 2) {
    response.socket?.destroy();
    return;
  }
  response.writeHead(reply.status, {
    'content-type': jsonType,
    ...reply.headers,
    'content-length': bytes.length,
  });
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.socket?.destroySoon());
}

/** Undefined if only the head is sent. `ended` is called once, when the connection is over. */
export function openEventStream(
  response: ServerResponse,
  isHeadOnly: boolean,
  ended: (stream: EventStream) => void,
): EventStream | undefined {
  response.writeHead(200, { 'content-type': eventStreamType, ...eventStreamHeaders });
  if (isHeadOnly) {
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

/** Refuses bytes that never became a request. */
export function refuseSocket(socket: Socket, { status, body }: ApiReply): void {
  const reason = statusTexts[status];
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: ${jsonType}\r\ncontent-length: ` +
      `${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
