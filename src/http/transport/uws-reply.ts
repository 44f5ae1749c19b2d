/**
 * Writes a whole reply on a raw uWebSockets.js response. 204 and 304 carry no length. HEAD carries
 * the length of GET's body; only `endWithoutBody()` without arguments leaves its connection usable.
 * Header values are written unchecked: see `ApiReply`. Everything runs corked: inside a native
 * callback, or inside `cork`.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { ApiReply } from '../service/messages.ts';
import { statusTexts } from './status-texts.ts';
import { keepAliveSeconds } from './transport.ts';
import { jsonType } from './transport-replies.ts';

/**
 * The `Connection` header of a head: keep-alive, close, or absent where uWebSockets.js writes
 * `close` itself.
 */
export type Connection = 'keep' | 'close' | 'unsaid';

export function writeReply(
  raw: HttpResponse,
  method: string,
  status: number,
  payload: string | Uint8Array,
  contentType: string,
  headers: ApiReply['headers'],
  connection: Connection,
): void {
  if (status === 204 || status === 304) {
    writeHead(raw, status, undefined, headers, connection === 'keep' ? 'keep' : 'close');
    raw.endWithoutBody();
    return;
  }
  const ends = connection === 'unsaid';
  writeHead(raw, status, contentType, headers, connection);
  if (method !== 'HEAD') {
    if (ends) raw.end(payload, true);
    else endUnlessBehind(raw, payload);
  } else if (ends) {
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

/** Announces the whole body and writes half of it. */
export function writeHalf(raw: HttpResponse, { status, body, headers }: ApiReply): void {
  const bytes = Buffer.from(body);
  writeHead(raw, status, jsonType, headers, 'keep');
  raw.tryEnd(bytes.subarray(0, bytes.length >> 1), bytes.length);
}

/** Ends the connection of a response that may already be closed. */
export function closeQuietly(raw: HttpResponse): void {
  try {
    raw.close();
  } catch {
    // Already closed.
  }
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
