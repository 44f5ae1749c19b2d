/**
 * The transport on Node's own HTTP server, for machines where the native module cannot be loaded.
 * Same statuses, bodies and limits as the HyperExpress one. What differs is the parser's doing:
 * unknown and lower-case methods, CONNECT and obsolete line folding are 400 here; HTTP/1.0, absolute-form
 * targets and chunk trailers are served; broken HTTP is answered in JSON instead of HTML; a pipelining
 * client waits for a delayed reply instead of being disconnected; IPv6 addresses are printed short.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiReply, Delivery } from '../service/messages.ts';
import { ArrivingBody, BodyRoom, type Intake } from './arriving-body.ts';
import type { EventStream } from './event-stream.ts';
import { cutShort, openEventStream, writeReply } from './node-reply.ts';
import {
  type ControlReply,
  type ControlRequest,
  checkAddress,
  defaultBodyLimitBytes,
  defaultDrainLimitBytes,
  defaultHeldLimitBytes,
  defaultMostDelayed,
  type EventsReply,
  idleTimeoutMs,
  listenError,
  plainIp,
  quiet,
  type Serve,
  type Transport,
  type TransportOptions,
} from './transport.ts';
import {
  contentOnWire,
  isContent,
  isEvents,
  jsonType,
  type TransportReplies,
  transportReplies,
} from './transport-replies.ts';

type Draft = { -readonly [K in keyof ControlRequest]: ControlRequest[K] };

/** The requests of one connection. */
interface Line {
  last: ServerResponse;
  /** How many wait for a reply before theirs. */
  waiting: number;
}
const mostInLine = 64;

function holdOrResume(socket: Socket, { waiting }: Line): void {
  if (waiting >= mostInLine) socket.pause();
  else socket.resume();
}

export class NodeTransport implements Transport {
  readonly #server: Server;
  readonly #serve: Serve;
  readonly #replies: TransportReplies;
  readonly #intake: Intake;
  readonly #room: BodyRoom;
  readonly #onInternalError: ((error: unknown) => void) | undefined;
  /** Every request without its whole reply, and the timer of a delayed one. */
  readonly #pending = new Map<ServerResponse, NodeJS.Timeout | undefined>();
  readonly #lines = new WeakMap<Socket, Line>();
  readonly #mostDelayed: number;
  #delayed = 0;
  readonly #streams = new Set<EventStream>();
  #closing: Promise<void> | undefined;

  constructor(serve: Serve, options: TransportOptions = {}) {
    this.#serve = serve;
    const limitBytes = options.bodyLimitBytes ?? defaultBodyLimitBytes;
    const drainBytes = options.drainLimitBytes ?? defaultDrainLimitBytes;
    this.#onInternalError = options.onInternalError;
    const replies = transportReplies(serve, limitBytes);
    this.#replies = replies;
    this.#intake = {
      limitBytes,
      drainBytes,
      get over() {
        return replies.tooLarge;
      },
    };
    this.#mostDelayed = options.mostDelayed ?? defaultMostDelayed;
    this.#room = new BodyRoom(options.heldLimitBytes ?? defaultHeldLimitBytes, replies);
    const server = createServer({
      maxHeaderSize: 16_384,
      headersTimeout: idleTimeoutMs,
      requestTimeout: idleTimeoutMs,
      keepAliveTimeout: idleTimeoutMs,
      connectionsCheckingInterval: 1_000,
      // Node's own refusal has no body; ours is JSON, and of two Hosts too.
      requireHostHeader: false,
    });
    server.on('request', (request, response) => this.#inTurn(request, response));
    // uWebSockets.js does not know other expectations than 100-continue either, and serves the request.
    server.on('checkExpectation', (request, response) => this.#inTurn(request, response));
    // Without a listener Node would close the connection and say nothing.
    server.on('connect', (_, socket) => this.#malformed(new Error('CONNECT'), socket as Socket));
    server.on('clientError', (error, socket) => this.#malformed(error, socket as Socket));
    // Of all that is not read, not of all that is silent: an event stream may be.
    server.setTimeout(idleTimeoutMs, (socket) => {
      if (socket.writableLength > 0) socket.destroy();
    });
    // Node would leave out what comes after the first 1,000; `maxHeaderSize` bounds them all.
    server.maxHeadersCount = 0;
    this.#server = server;
  }

  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      checkAddress(port, host);
      const refused = (error: Error): void => reject(listenError(error, port, host));
      this.#server.once('error', refused);
      this.#server.listen({ port, host, exclusive: true }, () => {
        this.#server.off('error', refused);
        const address = this.#server.address();
        resolve(address !== null && typeof address === 'object' ? address.port : port);
      });
    });
  }

  close(graceMs = 5_000): Promise<void> {
    this.#closing ??= this.#drain(graceMs);
    return this.#closing;
  }

  async #drain(graceMs: number): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const stream of this.#streams) stream.finish();
    await quiet(() => this.#pending.size > 0, graceMs);
    for (const timer of this.#pending.values()) clearTimeout(timer);
    this.#server.closeAllConnections();
    await closed;
  }

  /**
   * A client may ask on before it has read. Node would make all those replies and keep them; so the next request is
   * looked at when the reply before it is out, and from a connection where many wait nothing more is read meanwhile.
   */
  #inTurn(incoming: IncomingMessage, response: ServerResponse): void {
    const { socket } = incoming;
    const line = this.#lines.get(socket);
    if (line === undefined || line.last.closed) {
      this.#lines.set(socket, { last: response, waiting: 0 });
      this.#receive(incoming, response);
      return;
    }
    line.waiting++;
    // Not at once: at the end of each request, Node itself reads on.
    if (line.waiting >= mostInLine) process.nextTick(() => holdOrResume(socket, line));
    line.last.once('close', () => {
      line.waiting--;
      holdOrResume(socket, line);
      if (!response.destroyed && !socket.destroyed) this.#receive(incoming, response);
    });
    line.last = response;
  }

  #receive(incoming: IncomingMessage, response: ServerResponse): void {
    this.#pending.set(response, undefined);
    response.once('close', () => {
      this.#clearDelay(response);
      this.#pending.delete(response);
    });
    if (!hasItsHost(incoming)) {
      this.#put(response, this.#replies.malformed, true);
      return;
    }
    const length = incoming.headers['content-length'];
    const size = length === undefined ? 0 : Number(length);
    const draft = read(incoming);
    if (size === 0 && incoming.headers['transfer-encoding'] === undefined) {
      this.#dispatch(draft, response);
      return;
    }
    const intake = this.#intakeOf(draft, response);
    if (intake === undefined) return;
    if (size > intake.drainBytes) this.#put(response, intake.over, true);
    else this.#collect(incoming, draft, response, new ArrivingBody(intake, this.#room));
  }

  /** Undefined where the handler broke; that is answered then. */
  #intakeOf(draft: Draft, response: ServerResponse): Intake | undefined {
    if ('service' in this.#serve) return this.#intake;
    try {
      return this.#serve.intake?.(draft) ?? this.#intake;
    } catch (error) {
      this.#fail(response, error);
      return undefined;
    }
  }

  #collect(
    incoming: IncomingMessage,
    draft: Draft,
    response: ServerResponse,
    body: ArrivingBody,
  ): void {
    response.once('close', () => body.release());
    incoming.on('data', (chunk: Buffer) => {
      if (response.headersSent || response.destroyed) return;
      const refusal = body.take(chunk);
      if (refusal !== undefined) this.#put(response, refusal, true);
    });
    incoming.on('end', () => {
      if (response.headersSent || response.destroyed) return;
      if (body.isTooLong) {
        this.#put(response, body.intake.over, false);
        return;
      }
      draft.body = body.bytes;
      body.release();
      this.#dispatch(draft, response);
    });
    // A client that leaves in the middle of its body; the response's `close` cleans up.
    incoming.on('error', () => {});
  }

  #dispatch(request: Draft, response: ServerResponse): void {
    try {
      if ('service' in this.#serve) {
        this.#deliver(response, request, this.#serve.service(request));
        return;
      }
      const reply = this.#serve.control(request);
      if (reply instanceof Promise) this.#await(response, request, reply);
      else this.#deliver(response, request, reply);
    } catch (error) {
      this.#fail(response, error);
    }
  }

  #await(response: ServerResponse, request: ControlRequest, reply: Promise<ControlReply>): void {
    reply
      .then((late) => {
        if (!response.destroyed) this.#deliver(response, request, late);
      })
      .catch((error: unknown) => this.#fail(response, error));
  }

  #deliver(response: ServerResponse, request: ControlRequest, reply: ControlReply): void {
    if (isEvents(reply)) {
      this.#stream(response, reply);
    } else if (isContent(reply)) {
      const { status, payload, contentType, headers } = contentOnWire(reply, request);
      writeReply(response, status, payload, contentType, headers, this.#closing !== undefined);
    } else if (reply.delivery !== undefined) {
      this.#mistreat(response, reply, reply.delivery);
    } else {
      this.#put(response, reply, false);
    }
  }

  #put(response: ServerResponse, reply: ApiReply, close: boolean): void {
    const last = close || this.#closing !== undefined;
    writeReply(response, reply.status, reply.body, jsonType, reply.headers, last);
  }

  #mistreat(response: ServerResponse, reply: ApiReply, { delayMs = 0, cut }: Delivery): void {
    const act = (): void => {
      this.#clearDelay(response);
      if (response.destroyed) return;
      if (cut === undefined) this.#put(response, reply, false);
      else cutShort(response, reply, cut);
    };
    if (delayMs <= 0 || this.#delayed >= this.#mostDelayed) act();
    else {
      this.#delayed++;
      this.#pending.set(response, setTimeout(act, delayMs));
    }
  }

  #clearDelay(response: ServerResponse): void {
    const timer = this.#pending.get(response);
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#pending.set(response, undefined);
    this.#delayed--;
  }

  #stream(response: ServerResponse, reply: EventsReply): void {
    const last = this.#closing !== undefined;
    const stream = openEventStream(response, last, (ended) => this.#streams.delete(ended));
    if (stream === undefined) return;
    this.#streams.add(stream);
    try {
      stream.start(reply);
    } catch (error) {
      this.#report(error);
      stream.finish();
    }
  }

  #fail(response: ServerResponse, error: unknown): void {
    this.#report(error);
    if (response.headersSent) response.destroy();
    else if (!response.destroyed) this.#put(response, this.#replies.internalError, false);
  }

  #report(error: unknown): void {
    try {
      this.#onInternalError?.(error);
    } catch {
      // Whoever is told of errors must not end the process.
    }
  }

  /** What Node's parser refuses never becomes a request; silence is not answered, as in uWebSockets.js. */
  #malformed(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!socket.writable || error.code === 'ECONNRESET' || error.code?.endsWith('_TIMEOUT')) {
      socket.destroy();
      return;
    }
    const { headersTooLarge, malformed } = this.#replies;
    const { status, body } = error.code === 'HPE_HEADER_OVERFLOW' ? headersTooLarge : malformed;
    const reason = status === 431 ? 'Request Header Fields Too Large' : 'Bad Request';
    socket.end(
      `HTTP/1.1 ${status} ${reason}\r\ncontent-type: ${jsonType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      () => socket.destroy(),
    );
  }
}

/** One Host, as HTTP/1.1 asks; before it there was none. */
function hasItsHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/** Node joins or drops what is sent twice, so everything is read from the raw list: the last one counts. */
function read(incoming: IncomingMessage): Draft {
  const headers: Record<string, string> = {};
  let authorizations = 0;
  const raw = incoming.rawHeaders;
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const value = raw[at + 1] ?? '';
    if (name === 'authorization' && headers['authorization'] !== value) authorizations += 1;
    headers[name] = value;
  }
  const url = originForm(incoming.url ?? '');
  const mark = url.indexOf('?');
  return {
    method: incoming.method ?? '',
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    authorization: authorizations === 1 ? headers['authorization'] : undefined,
    contentType: headers['content-type'],
    clientIp: plainIp(incoming.socket.remoteAddress ?? ''),
    forwardedFor: headers['x-forwarded-for'],
    body: '',
    headers,
  };
}

/** A client may name the whole address as its target, as to a proxy. */
function originForm(target: string): string {
  const scheme = /^https?:\/\/[^/?]*/i.exec(target)?.[0];
  if (scheme === undefined) return target;
  const rest = target.slice(scheme.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}
