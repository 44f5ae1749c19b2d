/**
 * Writes a reply on a raw uWebSockets.js response: whole, cut short, or as a stream of events. 204
 * and 304 carry no length. HEAD carries the length of GET's body; only `endWithoutBody()` without
 * arguments leaves its connection usable. Header values are written unchecked: see `ApiReply`.
 * Everything runs corked: inside a native callback, or inside `cork`.
 */

import type { HttpResponse } from 'uWebSockets.js';
// Not the global one, which a test may fake.
import { setImmediate } from 'node:timers';
import type { ApiReply } from '../service/messages.ts';
import { EventStream, eventStreamHeaders, eventStreamType } from './event-stream.ts';
import { statusTexts } from './status-texts.ts';
import { keepAliveSeconds } from './transport.ts';
import { jsonType } from './transport-replies.ts';

/** The part of HyperExpress' response that is used. `completed`: answered or aborted. */
export interface Outgoing {
  completed: boolean;
  readonly raw: HttpResponse;
}

/** The parts of a request that shape its reply. */
export interface Asked {
  readonly method: string;
  /** The client asked to close the connection, and uWebSockets.js will, without a header. */
  readonly isLast: boolean;
  readonly response: Outgoing;
}

export function writeReply(
  { method, isLast, response }: Asked,
  status: number,
  payload: string | Uint8Array,
  contentType: string,
  headers: ApiReply['headers'],
  close: boolean,
): void {
  if (response.completed) return;
  response.completed = true;
  const raw = response.raw;
  if (status === 204 || status === 304) {
    writeHead(raw, status, undefined, headers, isLast || close ? 'close' : 'keep');
    raw.endWithoutBody();
    return;
  }
  // If the server closes, uWebSockets.js writes the header itself.
  writeHead(raw, status, contentType, headers, isLast ? 'close' : close ? 'unsaid' : 'keep');
  if (method !== 'HEAD') {
    if (close) raw.end(payload, true);
    else endUnlessBehind(raw, payload);
  } else if (close) {
    raw.endWithoutBody(Buffer.byteLength(payload), true);
  } else {
    raw.writeHeader('content-length', String(Buffer.byteLength(payload)));
    raw.endWithoutBody();
  }
}

/** Longer replies always check for a slow reader; shorter ones check at random. */
const shortReply = 16_384;
const checkedOneIn = 64;

/**
 * Ends a reply, unless the client has not read earlier ones. The rest of the reply then waits here,
 * and uWebSockets.js disconnects a client that sends more requests without reading; `end` would
 * buffer its replies without a bound. A check costs a tenth of a read, so short replies are checked
 * at random, which no client can predict.
 */
function endUnlessBehind(raw: HttpResponse, payload: string | Uint8Array): void {
  if (payload.length <= shortReply && Math.random() * checkedOneIn >= 1) {
    raw.end(payload, false);
    return;
  }
  const size = Buffer.byteLength(payload);
  const [, isDone] = raw.tryEnd(payload, size);
  if (isDone) return;
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  raw.onAborted(() => {});
  raw.onWritable((offset) => raw.tryEnd(bytes.subarray(offset), size)[0]);
}

/**
 * uWebSockets.js does not show the backlog of a client that only sends HEAD requests. So one in
 * some thousands ends its connection, which frees the backlog of a client that does not read.
 */
export class HeadCount {
  #left = HeadCount.#some();

  isLast(): boolean {
    this.#left--;
    if (this.#left > 0) return false;
    this.#left = HeadCount.#some();
    return true;
  }

  static #some(): number {
    return 2_048 + Math.floor(Math.random() * 4_096);
  }
}

/** The `Connection` header of a head: keep-alive, close, or absent. */
type Connection = 'keep' | 'close' | 'unsaid';

const connectionLines = {
  keep: `\r\nconnection: keep-alive\r\nkeep-alive: timeout=${keepAliveSeconds}`,
  close: '\r\nconnection: close',
  unsaid: '',
} as const satisfies Record<Connection, string>;

/** Writes the whole head in one native call, which costs more than the text. */
function writeHead(
  raw: HttpResponse,
  status: number,
  contentType: string | undefined,
  headers: ApiReply['headers'],
  connection: Connection,
): void {
  const type = headers?.['content-type'] === undefined ? contentType : undefined;
  let head = jsonHeads[status];
  if (type !== jsonType || connection !== 'keep' || head === undefined) {
    head = headOf(status, type, connection);
    if (type === jsonType && connection === 'keep') jsonHeads[status] = head;
  }
  for (const name in headers) head += `\r\n${name}: ${headers[name]}`;
  raw.writeStatus(head);
}

/** The heads of common replies, by status. */
const jsonHeads: string[] = [];

function headOf(status: number, contentType: string | undefined, connection: Connection): string {
  const type = contentType === undefined ? '' : `\r\ncontent-type: ${contentType}`;
  return `${status} ${statusTexts[status] ?? 'Unknown'}${type}${connectionLines[connection]}`;
}

/** Ends the connection without a byte. */
export function drop(response: Outgoing): void {
  if (response.completed) return;
  response.completed = true;
  response.raw.close();
}

/** Announces the whole body, sends half of it, and ends the connection. */
export function truncate(response: Outgoing, reply: ApiReply): void {
  const bytes = Buffer.from(reply.body);
  writeHead(response.raw, reply.status, jsonType, reply.headers, 'keep');
  response.raw.tryEnd(bytes.subarray(0, bytes.length >> 1), bytes.length);
  // After the surrounding cork has sent the first half.
  setImmediate(() => drop(response));
}

/** Ends the connection of a response that may already be closed. */
export function closeQuietly(response: Outgoing): void {
  try {
    response.raw.close();
  } catch {
    // Already closed.
  }
}

/** Starts an event stream; `ended` is called once, when the connection is over. */
export function openEventStream(
  response: Outgoing,
  ended: (stream: EventStream) => void,
): EventStream {
  const raw = response.raw;
  writeHead(raw, 200, eventStreamType, eventStreamHeaders, 'unsaid');
  const stream = new EventStream({
    write: (text) => {
      let ready = true;
      raw.cork(() => {
        ready = raw.write(text);
      });
      return ready;
    },
    end: () => {
      if (response.completed) return;
      response.completed = true;
      raw.cork(() => raw.end(undefined, true));
      ended(stream);
    },
    cut: () => drop(response),
  });
  // Replaces HyperExpress' own handler, which does not report the end. Also runs after `cut`.
  raw.onAborted(() => {
    response.completed = true;
    ended(stream);
    stream.gone();
  });
  raw.onWritable(() => {
    // uWebSockets.js flushes its buffer only during a write, so this writes an empty comment.
    if (raw.write(':\n')) stream.resume();
    return true;
  });
  return stream;
}

/** The head of an event stream, for HEAD. */
export function writeEventStreamHead(response: Outgoing, close: boolean): void {
  response.completed = true;
  writeHead(response.raw, 200, eventStreamType, eventStreamHeaders, close ? 'close' : 'keep');
  response.raw.endWithoutBody();
}
