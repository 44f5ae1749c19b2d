/**
 * Writing a reply on a response of Node's HTTP server: whole, cut short, or as a stream of events.
 * The twin of `uws-reply.ts`; Node itself leaves out the body of HEAD and 304 and the length of 204.
 */
import type { ServerResponse } from 'node:http';
import type { ApiReply } from '../service/messages.ts';
import { EventStream, eventStreamHeaders, eventStreamType } from './event-stream.ts';
import { jsonType } from './transport-replies.ts';

export function writeReply(
  response: ServerResponse,
  status: number,
  payload: string | Uint8Array,
  contentType: string,
  headers: ApiReply['headers'],
  close: boolean,
): void {
  const bodiless = status === 204 || status === 304;
  response.statusCode = status;
  if (!bodiless) {
    response.setHeader('content-type', contentType);
    response.setHeader('content-length', Buffer.byteLength(payload));
  }
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
  if (close) response.setHeader('connection', 'close');
  if (bodiless) response.end();
  else response.end(payload);
}

export function cutShort(
  response: ServerResponse,
  reply: ApiReply,
  cut: 'close' | 'truncate',
): void {
  const bytes = Buffer.from(reply.body);
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

/** Undefined where only the head was asked for. `ended` is called once, when the connection is over. */
export function openEventStream(
  response: ServerResponse,
  closing: boolean,
  ended: (stream: EventStream) => void,
): EventStream | undefined {
  response.writeHead(200, {
    'content-type': eventStreamType,
    ...eventStreamHeaders,
    ...(closing && { connection: 'close' }),
  });
  if (closing || response.req.method === 'HEAD') {
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
