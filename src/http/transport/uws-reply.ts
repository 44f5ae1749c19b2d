/**
 * Writing a reply on a raw uWebSockets.js response: whole, cut short, or as a stream of events.
 * 204 and 304 carry no length, HEAD carries the length of what GET would have sent, and only
 * `endWithoutBody()` leaves the connection usable: given a length, uWebSockets.js goes on waiting for a
 * body of ours, and disconnects at the next request. Header values are written unchecked: see `ApiReply`.
 * All of it expects to run corked: inside a native callback, or inside `cork`.
 */

import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import type { ApiReply } from '../service/messages.ts';
import { EventStream, eventStreamHeaders, eventStreamType } from './event-stream.ts';
import { jsonType } from './transport-replies.ts';

/** HyperExpress' response, as far as it concerns us. `completed` is true once it is answered or aborted. */
export interface Outgoing {
  completed: boolean;
  readonly raw: HttpResponse;
}

export function writeReply(
  response: Outgoing,
  method: string,
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
    writeHead(raw, status, undefined, headers);
    if (close) raw.writeHeader('connection', 'close');
    raw.endWithoutBody();
    return;
  }
  writeHead(raw, status, contentType, headers);
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

/** A reply that is longer is always looked at; of the others, by chance, one in so many. */
const shortReply = 16_384;
const lookedAtOneIn = 64;

/**
 * Ends a reply, all of it at once unless the client is behind with what was written before. Then the rest waits here,
 * and a client that asks on without reading is disconnected by uWebSockets.js: `end` would hold its replies back
 * without a bound, and without a word. To look costs a tenth of a read, so it is not done at every reply; by chance,
 * so that nobody can count on not being looked at.
 */
function endUnlessBehind(raw: HttpResponse, payload: string | Uint8Array): void {
  if (payload.length <= shortReply && Math.random() * lookedAtOneIn >= 1) {
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
 * Nothing tells how far behind a client is that asks for heads alone. So one in some thousands ends its connection,
 * and with it goes what waits for a client that does not read.
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

/** All in one call, as what is written as status goes out as it stands: a call costs more than its text. */
function writeHead(
  raw: HttpResponse,
  status: number,
  contentType: string | undefined,
  headers: ApiReply['headers'],
): void {
  let head = statusLine(status, headers?.['content-type'] === undefined ? contentType : undefined);
  for (const name in headers) head += `\r\n${name}: ${headers[name]}`;
  raw.writeStatus(head);
}

const statusLines: string[] = [];
const jsonStatusLines: string[] = [];

/** With the header that nearly always follows it. */
function statusLine(status: number, contentType: string | undefined): string {
  const plain = statusLines[status] ?? `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
  statusLines[status] = plain;
  if (contentType === undefined) return plain;
  if (contentType !== jsonType) return `${plain}\r\ncontent-type: ${contentType}`;
  jsonStatusLines[status] ??= `${plain}\r\ncontent-type: ${jsonType}`;
  return jsonStatusLines[status];
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
  writeHead(response.raw, reply.status, jsonType, reply.headers);
  response.raw.tryEnd(bytes.subarray(0, bytes.length >> 1), bytes.length);
  // Not before the cork around us has let the half go out.
  setImmediate(() => drop(response));
}

/** Starts the response of an event stream; `ended` is called once, when the connection is over. */
export function openEventStream(
  response: Outgoing,
  ended: (stream: EventStream) => void,
): EventStream {
  const raw = response.raw;
  writeHead(raw, 200, eventStreamType, eventStreamHeaders);
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
  // In the place of HyperExpress' own handler, which tells us nothing. It also runs after `cut`.
  raw.onAborted(() => {
    response.completed = true;
    ended(stream);
    stream.gone();
  });
  raw.onWritable(() => {
    // uWebSockets.js empties its buffer only as part of a write of ours: an empty comment is one.
    if (raw.write(':\n')) stream.resume();
    return true;
  });
  return stream;
}

/** The head of an event stream, for HEAD. */
export function writeEventStreamHead(response: Outgoing, close: boolean): void {
  response.completed = true;
  writeHead(response.raw, 200, eventStreamType, eventStreamHeaders);
  if (close) response.raw.writeHeader('connection', 'close');
  response.raw.endWithoutBody();
}
