/** Writes replies on the raw response of uWebSockets.js, with as few native calls as it allows. */
import type { HttpResponse } from 'uWebSockets.js';
// Not the global one, which a test may fake.
import { setImmediate } from 'node:timers';
import type { ApiReply } from '#contract/request-and-reply.ts';
import { jsonType, statusTexts, type WrittenReply } from '../outlet.ts';
import { keepAliveSeconds } from '../transport.ts';

/**
 * What a reply does to its connection. `keep`: it stays open, and the head says `keep-alive`.
 * `close`: the head says `close`; uWebSockets.js closes it because of the request's own header.
 * `native_close`: uWebSockets.js is made to close it, and writes `close` itself.
 */
type ConnectionEnd = 'keep' | 'close' | 'native_close';

/**
 * Writes a whole reply. Call it only while uWebSockets.js collects writes: in a native callback, or
 * in `cork`. 204 and 304 have no length. HEAD has the length of GET's body. `ApiReply` promises
 * header values that need no check.
 */
export function writeReply(
  raw: HttpResponse,
  method: string,
  { status, body, contentType = jsonType, headers }: WrittenReply,
  connection: ConnectionEnd,
): void {
  const isNativeClose = connection === 'native_close';
  if (status === 204 || status === 304) {
    // `endWithoutBody` cannot close: the head ends itself, and the cork sends it before the close.
    const end = isNativeClose ? `${connectionLines.close}\r\n` : '';
    writeHead(raw, status, undefined, headers, connection, end);
    if (isNativeClose) setImmediate(() => closeQuietly(raw));
    else raw.endWithoutBody();
    return;
  }
  writeHead(raw, status, contentType, headers, connection);
  if (method !== 'HEAD') {
    if (isNativeClose) raw.end(body, true);
    else endOrWait(raw, body);
  } else if (isNativeClose) {
    raw.endWithoutBody(Buffer.byteLength(body), true);
  } else {
    // Given a length, `endWithoutBody` would leave the connection unusable.
    raw.writeHeader('content-length', String(Buffer.byteLength(body)));
    raw.endWithoutBody();
  }
}

/** A reply up to this length is short: it seldom checks whether the client reads. */
const longestShortReply = 16_384;
/** The average number of short replies before one, chosen at random, checks. */
const shortRepliesPerCheck = 64;

/**
 * Ends a reply with `end`, or with `tryEnd`, which checks whether the client reads its replies. If
 * it does not, the rest of this one waits here, and uWebSockets.js disconnects the client as soon
 * as it sends more requests. `end` would buffer their replies without a bound. A check costs a tenth
 * of a whole GET, so only some short replies check. They are chosen at random, so that no client can
 * avoid the check.
 */
function endOrWait(raw: HttpResponse, payload: string | Uint8Array): void {
  if (payload.length <= longestShortReply && Math.random() * shortRepliesPerCheck >= 1) {
    raw.end(payload, false);
    return;
  }
  const size = Buffer.byteLength(payload);
  const [, isDone] = raw.tryEnd(payload, size);
  if (isDone) return;
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  // A reply that waits needs a handler, and a client that leaves now needs no more.
  raw.onAborted(() => {});
  raw.onWritable((offset) => raw.tryEnd(bytes.subarray(offset), size)[0]);
}

/** Announces the length of the whole body, and writes half of it. */
export function writeHalf(raw: HttpResponse, { status, body, headers }: ApiReply): void {
  const bytes = Buffer.from(body);
  writeHead(raw, status, jsonType, headers, 'keep');
  raw.tryEnd(bytes.subarray(0, Math.floor(bytes.length / 2)), bytes.length);
}

/** Ends the connection of a response that may already be closed. */
export function closeQuietly(raw: HttpResponse): void {
  try {
    raw.close();
  } catch {
    // Already closed.
  }
}

const connectionLines = {
  keep: `\r\nconnection: keep-alive\r\nkeep-alive: timeout=${keepAliveSeconds}`,
  close: '\r\nconnection: close',
  native_close: '',
} as const satisfies Record<ConnectionEnd, string>;

/** Writes the whole head in one native call: a call costs more than joining the texts. */
function writeHead(
  raw: HttpResponse,
  status: number,
  contentType: string | undefined,
  headers: ApiReply['headers'],
  connection: ConnectionEnd,
  end = '',
): void {
  const type = headers?.['content-type'] === undefined ? contentType : undefined;
  let head = jsonHeads[status];
  if (type !== jsonType || connection !== 'keep' || head === undefined) {
    head = headOf(status, type, connection);
    if (type === jsonType && connection === 'keep') jsonHeads[status] = head;
  }
  for (const name in headers) head += `\r\n${name}: ${headers[name]}`;
  raw.writeStatus(head + end);
}

/** The heads of JSON replies that keep their connection, by status. */
const jsonHeads: string[] = [];

function headOf(
  status: number,
  contentType: string | undefined,
  connection: ConnectionEnd,
): string {
  const type = contentType === undefined ? '' : `\r\ncontent-type: ${contentType}`;
  return `${status} ${statusTexts[status] ?? 'unknown'}${type}${connectionLines[connection]}`;
}
