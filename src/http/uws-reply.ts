/**
 * Writing a reply on a raw uWebSockets.js response: whole, cut short, or as a stream of events.
 * 204 and 304 carry no length, HEAD carries the length of what GET would have sent, and only
 * `endWithoutBody()` leaves the connection usable: given a length, uWebSockets.js goes on waiting for a
 * body of ours, and disconnects at the next request. Header values are written unchecked: see `ApiReply`.
 * All of it expects to run corked: inside a native callback, or inside `cork`.
 */

import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { EventStream, eventStreamHeaders, eventStreamType } from './event-stream.ts';
import type { ApiReply } from './messages.ts';
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
    raw.end(payload, close);
  } else if (close) {
    raw.endWithoutBody(Buffer.byteLength(payload), true);
  } else {
    raw.writeHeader('content-length', String(Buffer.byteLength(payload)));
    raw.endWithoutBody();
  }
}

const statusLines: string[] = [];

function writeHead(
  raw: HttpResponse,
  status: number,
  contentType: string | undefined,
  headers: ApiReply['headers'],
): void {
  statusLines[status] ??= `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
  raw.writeStatus(statusLines[status]);
  if (contentType !== undefined && headers?.['content-type'] === undefined) {
    raw.writeHeader('content-type', contentType);
  }
  for (const name in headers) raw.writeHeader(name, headers[name] ?? '');
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
