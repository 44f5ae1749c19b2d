/**
 * A request from HyperExpress, and the outlet of its reply.
 * The head is copied, because uWebSockets.js frees it when the native callback returns. The address
 * is read on demand, before the reply: reading it costs more than everything else, and calls with a
 * valid key do not need it.
 * A reply that ends its connection is written once uWebSockets.js has parsed the whole packet.
 * Requests behind it then end the connection; after a reply they would be served.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
// Not the global one, which a test may fake.
import { setImmediate } from 'node:timers';
import type { ApiReply, ApiRequest } from '../service/messages.ts';
import type { Outlet } from './answers.ts';
import { statusTexts } from './status-texts.ts';
import { keepAliveSeconds, plainIp } from './transport.ts';
import { jsonType } from './transport-replies.ts';

/**
 * uWebSockets.js does not show the backlog of a client that only sends HEAD requests. So one in so
 * many, at random, ends its connection, which frees the backlog of a client that does not read.
 */
const lastHeadOneIn = 2_048;

/** `close` among the options of a `Connection` header. */
const closeOption = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

/** The part of HyperExpress' request that is used. */
interface Head {
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  readonly path_query: string;
  readonly raw: HttpRequest;
}

/** The part of HyperExpress' response that is used. `completed`: answered or aborted. */
interface Response {
  completed: boolean;
  readonly raw: HttpResponse;
}

export class UwsRequest implements ApiRequest, Outlet {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly forwardedFor: string | undefined;
  /** True if the client asked to close the connection. */
  readonly isLast: boolean;
  /** True if uWebSockets.js closes the connection by itself: after any `Connection` of 5 characters. */
  readonly #isClosedByServer: boolean;
  readonly #response: Response;
  #body: string | Uint8Array = '';
  #lent: ArrayBuffer | undefined;
  #clientIp: string | undefined;
  /** True once a reply waits for the end of the packet. */
  #isWaiting = false;

  constructor(method: string, { headers, path, path_query, raw }: Head, response: Response) {
    const authorization = headers['authorization'];
    const single = authorization !== undefined && raw.getHeader('authorization') === authorization;
    this.method = method;
    this.path = path;
    // Undefined, contrary to its type, if the target has no question mark.
    this.query = path_query ?? '';
    this.host = headers['host'];
    this.authorization = single ? authorization : undefined;
    this.contentType = headers['content-type'];
    this.contentEncoding = headers['content-encoding'];
    this.forwardedFor = headers['x-forwarded-for'];
    const connection = headers['connection'];
    this.#isClosedByServer = connection?.length === 5;
    this.isLast =
      connection !== undefined &&
      (this.#isClosedByServer ||
        closeOption.test(connection) ||
        // Of several headers, `headers` holds the last one, and `getHeader` finds the first.
        closeOption.test(raw.getHeader('connection')));
    this.#response = response;
  }

  /**
   * Takes a body that is valid until the native callback returns. Its view is made on first read.
   */
  lend(chunk: ArrayBuffer): void {
    this.#lent = chunk;
  }

  get body(): string | Uint8Array {
    if (this.#lent !== undefined) this.body = Buffer.from(this.#lent);
    return this.#body;
  }

  set body(body: string | Uint8Array) {
    this.#body = body;
    this.#lent = undefined;
  }

  get clientIp(): string {
    this.#clientIp ??= plainIp(
      Buffer.from(this.#response.raw.getRemoteAddressAsText()).toString('latin1'),
    );
    return this.#clientIp;
  }

  get isAnswered(): boolean {
    return this.#isWaiting || this.#response.completed;
  }

  get isDone(): boolean {
    return this.#response.completed;
  }

  write(
    status: number,
    payload: string | Uint8Array,
    contentType: string,
    headers: ApiReply['headers'],
    ends: boolean,
  ): void {
    if (this.isAnswered) return;
    const isLastHead = this.method === 'HEAD' && Math.random() * lastHeadOneIn < 1;
    if (!ends && !this.isLast && !isLastHead) {
      this.#response.completed = true;
      const { raw } = this.#response;
      writeReply(raw, this.method, status, payload, contentType, headers, 'keep');
      return;
    }
    this.#isWaiting = true;
    const connection = this.#isClosedByServer ? 'close' : 'unsaid';
    setImmediate(() =>
      this.later(() => {
        this.#response.completed = true;
        const { raw } = this.#response;
        writeReply(raw, this.method, status, payload, contentType, headers, connection);
      }),
    );
  }

  truncate(reply: ApiReply): void {
    if (this.isAnswered) return;
    this.#isWaiting = true;
    writeHalf(this.#response.raw, reply);
    // After the surrounding cork has sent the first half.
    setImmediate(() => this.drop());
  }

  drop(): void {
    this.#response.completed = true;
    closeQuietly(this.#response.raw);
  }

  /** uWebSockets.js cannot reset a connection. */
  reset(): void {
    this.drop();
  }

  /** The native server serves no streams: the control port is Node's. */
  openStream(): undefined {
    return undefined;
  }

  /** Outside a native callback, so it corks explicitly. */
  later(act: () => void): void {
    if (!this.#response.completed) this.#response.raw.cork(act);
  }

  /** Replaces HyperExpress' own handler, which does not report the end. */
  onLeft(act: () => void): void {
    this.#response.raw.onAborted(() => {
      this.#response.completed = true;
      act();
    });
  }

  /** Takes the body as it arrives; a chunk is valid during the call. */
  onBody(take: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#response.raw.onData((chunk, isLast) => {
      if (!this.isAnswered) take(chunk, isLast);
    });
  }
}

/**
 * The `Connection` header of a head: keep-alive, close, or absent where uWebSockets.js writes
 * `close` itself.
 */
type Connection = 'keep' | 'close' | 'unsaid';

/**
 * Writes a whole reply. 204 and 304 carry no length. HEAD carries the length of GET's body; only
 * `endWithoutBody()` without arguments leaves its connection usable. Header values are written
 * unchecked: see `ApiReply`. Runs corked: inside a native callback, or inside `cork`.
 */
function writeReply(
  raw: HttpResponse,
  method: string,
  status: number,
  payload: string | Uint8Array,
  contentType: string,
  headers: ApiReply['headers'],
  connection: Connection,
): void {
  if (status === 204 || status === 304) {
    // uWebSockets.js is not asked to close here, so it does not write `close` itself.
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
function writeHalf(raw: HttpResponse, { status, body, headers }: ApiReply): void {
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
