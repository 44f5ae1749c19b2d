/**
 * A request from HyperExpress, and the outlet that writes its reply on the raw uWebSockets.js
 * response. The constructor copies the head, because uWebSockets.js frees it when the native
 * callback returns. The client's address is read on demand, because that costs more than everything
 * else and a request with a valid key does not need it.
 */
import type { HttpRequest } from 'uWebSockets.js';
// Not the global one, which a test may fake.
import { setImmediate } from 'node:timers';
import type { Request as HyperRequest, Response as HyperResponse } from 'hyper-express';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { plainIp } from '../../plain-ip.ts';
import type { Outlet, WrittenReply } from '../outlet.ts';
import { closeQuietly, writeHalf, writeReply } from './uws-reply.ts';

/**
 * A HEAD reply ends its connection by chance: one in this number, divided by the HEAD requests in a
 * row. A client that sends HEAD requests and never reads makes uWebSockets.js buffer the replies
 * without showing how many; closing the connection frees them. It costs the replies to all requests
 * of the packet, so it must stay unlikely for a client that only sends a HEAD among others.
 */
const headsPerClose = 131_072;
/** In a longer row of HEAD requests, it is not more likely: one in 2,048. */
const longestRow = 64;
/**
 * The last requests that were HEAD requests, without another one among them. One count for all
 * clients will do: another client's request makes a close less likely for a moment, and a client
 * that never reads fills memory only as long as its HEAD requests are most of all.
 */
let headsInARow = 0;

/** Finds `close` in the list of options of a `Connection` header. */
const closeOption = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

/**
 * What `headers` does not show of the head that was read last, because it holds the last of several
 * headers of one name. One object for all requests: a request reads it while its head is current.
 */
const lastHead = {
  authorization: '',
  /** How many values of `Authorization` differ from the one before; 1 if all are equal. */
  authorizations: 0,
  contentLength: '',
  contentLengths: 0,
  /** True if any `Connection` asks for the end of the connection. */
  asksToClose: false,
};

type TakeHeader = (name: string, value: string) => void;
let takeHeader: TakeHeader = () => {};

function noteHeader(name: string, value: string): void {
  const head = lastHead;
  if (name === 'authorization') {
    if (head.authorizations === 0 || value !== head.authorization) head.authorizations++;
    head.authorization = value;
  } else if (name === 'content-length') {
    if (head.contentLengths === 0 || value !== head.contentLength) head.contentLengths++;
    head.contentLength = value;
  } else if (name === 'connection') {
    head.asksToClose ||= closeOption.test(value);
  }
  takeHeader(name, value);
}

const notedPrototypes = new WeakSet<object>();

/**
 * Notes the headers of all requests of this kind as HyperExpress reads them by `forEach`: reading
 * them once more would cost more than the rest of the head. Call it before HyperExpress reads.
 */
export function noteHeads(request: HttpRequest): void {
  const prototype: HttpRequest = Object.getPrototypeOf(request);
  if (notedPrototypes.has(prototype)) return;
  notedPrototypes.add(prototype);
  const { forEach } = prototype;
  prototype.forEach = function (this: HttpRequest, take: TakeHeader) {
    takeHeader = take;
    lastHead.authorizations = 0;
    lastHead.contentLengths = 0;
    lastHead.asksToClose = false;
    forEach.call(this, noteHeader);
  };
}

type Head = Pick<HyperRequest, 'headers' | 'path' | 'path_query'>;
/** `completed`: true once the reply is written or the client has left. HyperExpress reads it too. */
type Response = Pick<HyperResponse, 'completed' | 'raw'>;

export class UwsRequest implements ApiRequest, Outlet {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly forwardedFor: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * True if the body comes in chunks. uWebSockets.js takes any two bytes behind the last chunk for
   * its line end, so it would serve trailers as a request.
   */
  readonly isChunked: boolean;
  /** True if there is no `Content-Length`, or if all of them are equal. */
  readonly isLengthClear: boolean;
  /** True if the client asked for the end of the connection, or if the body comes in chunks. */
  readonly endsConnection: boolean;
  /**
   * True if uWebSockets.js closes the connection without being asked: it takes any `Connection` of
   * five characters for `close`.
   */
  readonly #isClosedByNative: boolean;
  readonly #response: Response;
  #body: string | Uint8Array = '';
  /** The native memory that holds the body; it replaces `#body` until the body is read. */
  #lentBody: ArrayBuffer | undefined;
  #clientIp: string | undefined;
  /**
   * True once there is a reply that ends the connection. Its writing, at least in part, waits until
   * uWebSockets.js has parsed the whole packet. If the packet holds another request, uWebSockets.js
   * closes the connection before the reply; written earlier, the reply would not keep that request
   * from being served.
   */
  #isReplyDeferred = false;

  constructor(method: string, { headers, path, path_query }: Head, response: Response) {
    this.method = method;
    this.path = path;
    // Undefined, contrary to its type, if the target has no question mark.
    this.query = path_query ?? '';
    this.host = headers['host'];
    this.authorization = lastHead.authorizations === 1 ? headers['authorization'] : undefined;
    this.contentType = headers['content-type'];
    this.contentEncoding = headers['content-encoding'];
    this.forwardedFor = headers['x-forwarded-for'];
    this.headers = headers;
    this.#isClosedByNative = headers['connection']?.length === 5;
    this.isChunked = headers['transfer-encoding'] !== undefined;
    this.isLengthClear = lastHead.contentLengths <= 1;
    this.endsConnection = this.isChunked || this.#isClosedByNative || lastHead.asksToClose;
    this.#response = response;
  }

  /** Sets a body that is valid until the native callback returns. A read creates its view. */
  lendBody(chunk: ArrayBuffer): void {
    this.#lentBody = chunk;
  }

  get body(): string | Uint8Array {
    if (this.#lentBody !== undefined) this.body = Buffer.from(this.#lentBody);
    return this.#body;
  }

  set body(body: string | Uint8Array) {
    this.#body = body;
    this.#lentBody = undefined;
  }

  get clientIp(): string {
    this.#clientIp ??= plainIp(
      Buffer.from(this.#response.raw.getRemoteAddressAsText()).toString('latin1'),
    );
    return this.#clientIp;
  }

  get isAnswered(): boolean {
    return this.#isReplyDeferred || this.#response.completed;
  }

  get isDone(): boolean {
    return this.#response.completed;
  }

  write(reply: WrittenReply, ends: boolean): void {
    if (this.isAnswered) return;
    headsInARow = this.method === 'HEAD' ? Math.min(headsInARow + 1, longestRow) : 0;
    const isLastHead = headsInARow > 0 && Math.random() * headsPerClose < headsInARow;
    if (!ends && !this.endsConnection && !isLastHead) {
      this.#response.completed = true;
      writeReply(this.#response.raw, this.method, reply, 'keep');
      return;
    }
    this.#isReplyDeferred = true;
    const connection = this.#isClosedByNative ? 'close' : 'native_close';
    setImmediate(() =>
      this.corked(() => {
        this.#response.completed = true;
        writeReply(this.#response.raw, this.method, reply, connection);
      }),
    );
  }

  truncate(reply: ApiReply): void {
    if (this.isAnswered) return;
    this.#isReplyDeferred = true;
    writeHalf(this.#response.raw, reply);
    // The half leaves when the surrounding cork ends; the connection must outlive that.
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

  /** Makes the writes of `act` leave together, as uWebSockets.js does in its callbacks. */
  corked(act: () => void): void {
    if (!this.#response.completed) this.#response.raw.cork(act);
  }

  /** Replaces the handler of HyperExpress, which would keep the event to itself. */
  onLeft(act: () => void): void {
    this.#response.raw.onAborted(() => {
      this.#response.completed = true;
      act();
    });
  }

  /** Calls `take` with each piece of the body; a piece is valid during the call. */
  onBody(take: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#response.raw.onData((chunk, isLast) => {
      if (!this.isAnswered) take(chunk, isLast);
    });
  }
}
