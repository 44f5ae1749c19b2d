/**
 * Requests of Node's HTTP server. Their heads are read as the native transport does, duplicate
 * headers and unknown methods included. Pipelined ones start one after the other.
 */
import { IncomingMessage, METHODS, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { plainIp } from '../../plain-ip.ts';
import type { ControlRequest } from '../transport.ts';

/** A request whose body is still to come. */
export type Draft = { -readonly [K in keyof ControlRequest]: ControlRequest[K] };

/**
 * Reads the raw list of headers, because Node joins or drops duplicates; here the last one counts,
 * as on the native transport.
 */
export function readHead(incoming: IncomingMessage): Draft {
  const headers: Record<string, string> = {};
  let authorizationChanges = 0;
  const raw = incoming.rawHeaders;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase();
    const value = raw[index + 1] ?? '';
    if (name === 'authorization' && headers[name] !== value) authorizationChanges++;
    headers[name] = value;
  }
  const url = originForm(incoming.url ?? '');
  const mark = url.indexOf('?');
  return {
    method: incoming.method ?? '',
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    host: headers['host'],
    authorization: authorizationChanges === 1 ? headers['authorization'] : undefined,
    contentType: headers['content-type'],
    contentEncoding: headers['content-encoding'],
    clientIp: plainIp(incoming.socket.remoteAddress ?? ''),
    forwardedFor: headers['x-forwarded-for'],
    body: '',
    headers,
  };
}

/** True if the request has exactly one `Host`; in HTTP/1.0 it may also have none. */
export function hasRightHosts({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === 'host') hosts++;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/** Path and query of a target, which is an absolute URL if the client takes this for a proxy. */
export function originForm(target: string): string {
  const scheme = /^https?:\/\/[^/?]*/i.exec(target)?.[0];
  if (scheme === undefined) return target;
  const path = target.slice(scheme.length);
  return path.startsWith('/') ? path : `/${path}`;
}

/**
 * A request line with any method, and its header lines, up to the empty line. `plain-request.ts`
 * cannot read these: it takes only heads that Node's parser would take, too.
 */
const unusualHead =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP\/(1\.[01])((?:\r\n[^\r\n]+)*)\r\n\r\n/;

/**
 * Reads the head of a request whose method Node's parser refuses, such as `get` or `FOO`: the
 * handler decides about methods. `parsedBytes`: how far the parser read the packet. Undefined if
 * the packet does not hold the whole head.
 */
export function readUnusualMethod(
  packet: Buffer | undefined,
  parsedBytes: number,
  socket: Socket,
): IncomingMessage | undefined {
  if (packet === undefined) return undefined;
  const start = parsedBytes === 0 ? 0 : packet.lastIndexOf('\n', parsedBytes) + 1;
  const parts = unusualHead.exec(packet.toString('latin1', start));
  if (parts === null) return undefined;
  const [, method = '', url = '', version = '', lines = ''] = parts;
  // Then `start` is wrong: the body of the request before, which ends without a line break, would
  // count as a part of this method.
  if (parsedBytes > start + method.length || METHODS.includes(method)) return undefined;
  const incoming = new IncomingMessage(socket);
  incoming.method = method;
  incoming.url = url;
  incoming.httpVersion = version;
  for (const line of lines.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (colon < 1) return undefined;
    incoming.rawHeaders.push(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return incoming;
}

/** A connection with this many waiting requests is paused. */
const mostWaiting = 64;

/** The newest request of a connection with its response, and how many requests wait. */
interface Queue {
  /** A response is `destroyed` once it is written. */
  lastResponse: ServerResponse;
  lastRequest: IncomingMessage;
  /** The number of requests that wait for an earlier reply. */
  waiting: number;
}

type Start = (incoming: IncomingMessage, response: ServerResponse) => void;

/**
 * Starts the pipelined requests of a connection one after the other, each when the reply before it
 * is written. Node would start them all at once, and buffer the replies of a client that does not
 * read.
 */
export class RequestQueues {
  readonly #queues = new WeakMap<Socket, Queue>();

  /** Calls `start` once all earlier replies of the connection are written. */
  take(incoming: IncomingMessage, response: ServerResponse, start: Start): void {
    const { socket } = incoming;
    const queue = this.#queues.get(socket);
    // The reply before ended the connection: what was pipelined behind it is dropped.
    if (queue?.lastResponse.destroyed && !queue.lastResponse.shouldKeepAlive) return;
    if (queue === undefined || queue.lastResponse.destroyed) {
      this.#queues.set(socket, { lastResponse: response, lastRequest: incoming, waiting: 0 });
      start(incoming, response);
      return;
    }
    queue.waiting++;
    // In the next tick, because Node resumes the socket at the end of each request.
    if (queue.waiting >= mostWaiting)
      process.nextTick(() => queue.waiting >= mostWaiting && socket.pause());
    const previous = queue.lastResponse;
    previous.once('close', () => {
      queue.waiting--;
      // Only then: Node pauses the socket itself while a client does not read.
      if (queue.waiting === mostWaiting - 1) socket.resume();
      // The previous reply may have ended the connection.
      if (!previous.shouldKeepAlive) return;
      if (!response.destroyed && !socket.destroyed) start(incoming, response);
    });
    queue.lastResponse = response;
    queue.lastRequest = incoming;
  }

  /** The request of this connection whose body is still arriving. */
  arrivingOn(socket: Socket): IncomingMessage | undefined {
    const queue = this.#queues.get(socket);
    return queue === undefined || queue.lastResponse.destroyed || queue.lastRequest.complete
      ? undefined
      : queue.lastRequest;
  }

  /** Calls `act` once all replies of this connection are written. */
  afterAll(socket: Socket, act: () => void): void {
    const queue = this.#queues.get(socket);
    if (queue === undefined || queue.lastResponse.destroyed) act();
    else queue.lastResponse.once('close', act);
  }

  /** True if all replies of this connection are written. */
  isIdle(socket: Socket): boolean {
    return this.#queues.get(socket)?.lastResponse.destroyed ?? true;
  }
}
