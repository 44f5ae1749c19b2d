/**
 * The reverse proxy of `smstwin record`. It passes requests and replies on unchanged: names and
 * order of headers, bodies, chunks, trailers, `Expect`, and broken connections. Only `Host` is
 * replaced by the upstream's. Each connection of a client has one connection to the upstream, so
 * both open and close together. Node's own HTTP server and client keep headers as raw lists; proxy
 * libraries lower the case of a request's headers, join equal ones and drop trailers.
 */
import type { ClientRequest, IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer, Agent as HttpAgent, request as httpRequest } from 'node:http';
import {
  createServer as createTlsServer,
  Agent as HttpsAgent,
  request as httpsRequest,
} from 'node:https';
import type { Socket } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import type { TlsPair } from '../config/tls.ts';
import type { FaultKind, FaultSubject } from '../http/service/fault.ts';
import { recipientOf } from '../http/service/fault.ts';
import { type Faults, forced, isHandled, malformed, type Strike } from '../http/service/faults.ts';
import { matchRoute } from '../http/service/routes.ts';
import { plainIp } from '../http/transport/transport.ts';

/** An exchange that went through the proxy, as it is recorded. */
export interface PassedExchange {
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly clientIp: string;
  readonly method: string;
  readonly target: string;
  readonly requestHeaders: readonly Header[];
  readonly requestBody: Body;
  /** Undefined if no whole reply came. */
  readonly reply: PassedReply | undefined;
  /** Why no whole reply came, or why the client did not see it. */
  readonly failure: string | undefined;
  readonly fault: FaultKind['kind'] | undefined;
}

export interface PassedReply {
  readonly status: number;
  readonly headers: readonly Header[];
  readonly body: Body;
}

export type Header = readonly [name: string, value: string];

/** A body, or its length in bytes if it is too long to keep. */
export type Body = Buffer | number;

export interface ProxyOptions {
  readonly upstream: URL;
  readonly faults: Faults;
  readonly tls?: TlsPair | undefined;
  /** The name of a credential, for faults that match on an account. */
  readonly nameOf: (authorization: string) => string;
  readonly onExchange: (exchange: PassedExchange) => void;
}

/** In bytes. Longer bodies pass, but only their length is recorded. */
export const longestRecordedBody = 1_048_576;
/** An idle connection of a client is closed after this time. */
const idleMs = 75_000;
/** How long exchanges in flight may take when the proxy closes. */
const closeWithinMs = 3_000;
/** How long a reply that ends with its connection may take to be sent. */
const closeDelayMs = 50;
/** In bytes; Node's default of 16 KiB would refuse heads that the service accepts. */
const longestHead = 1_048_576;
/** Errors of a connection that the upstream broke: the proxy breaks the client's, too. */
const brokenConnection = /^(?:ECONNRESET|EPIPE|HPE_.*)$/;

/** How many exchanges are open on each connection of a client: pipelining allows several. */
const openExchanges = new WeakMap<Socket, number>();

function changeOpenExchanges(socket: Socket, change: number): void {
  openExchanges.set(socket, (openExchanges.get(socket) ?? 0) + change);
}

export class RecordingProxy {
  readonly server: Server;
  readonly #options: ProxyOptions;
  /** By connection of a client: the agent with its one connection to the upstream. */
  readonly #agents = new WeakMap<Socket, HttpAgent>();
  /** True if a fault matches on the recipient, which is in the body. */
  readonly #needsRecipient: boolean;
  /** Connections to the upstream whose end closes a client's. */
  readonly #paired = new WeakSet<Socket>();
  /** Exchanges that `onExchange` has not got. */
  readonly #unreported = new Set<ProxiedExchange>();

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#needsRecipient = options.faults.list.some(({ spec }) => spec.match.to !== undefined);
    const { tls } = options;
    const bounds = { requestTimeout: 0, keepAliveTimeout: idleMs, maxHeaderSize: longestHead };
    const server =
      tls === undefined ? createServer(bounds) : createTlsServer({ ...bounds, ...tls });
    const take = (request: IncomingMessage, response: ServerResponse) =>
      this.#take(request, response);
    server.on('request', take);
    // Without listeners Node answers these itself.
    server.on('checkContinue', take);
    server.on('checkExpectation', take);
    server.maxHeadersCount = 0;
    this.server = server;
  }

  /** Waits `closeWithinMs` at most for exchanges in flight, and reports all others as cut. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeIdleConnections();
    const timer = setTimeout(() => {
      for (const exchange of this.#unreported) exchange.stop();
      this.server.closeAllConnections();
    }, closeWithinMs);
    await closed;
    clearTimeout(timer);
    // The last exchanges are reported as their connections end.
    await new Promise((resolve) => setImmediate(resolve));
    for (const exchange of this.#unreported) exchange.stop();
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const { faults, onExchange } = this.#options;
    const exchange = new ProxiedExchange(request, response, (passed) => {
      this.#unreported.delete(exchange);
      onExchange(passed);
    });
    this.#unreported.add(exchange);
    response.sendDate = false;
    const passOn = (recipient: string) =>
      this.#pass(exchange, faults.strike(this.#subjectOf(exchange, recipient)));
    if (!this.#needsRecipient) {
      passOn('');
      return;
    }
    if (request.headers.expect !== undefined) response.writeContinue();
    exchange.holdBody(() => {
      const body = exchange.requestBody();
      passOn(typeof body === 'number' ? '' : recipientOf(body));
    });
  }

  #subjectOf({ request, target }: ProxiedExchange, to: string): FaultSubject {
    const [path = ''] = target.split('?', 1);
    const { authorization } = request.headers;
    const accountId = authorization === undefined ? '' : this.#options.nameOf(authorization);
    return { endpoint: matchRoute(path)?.route.endpoint, accountId, to };
  }

  #pass(exchange: ProxiedExchange, { acting, delayMs }: Strike): void {
    exchange.fault = acting?.kind ?? (delayMs > 0 ? 'delay' : undefined);
    const afterDelay = (act: () => void) => {
      if (delayMs > 0) setTimeout(act, delayMs);
      else act();
    };
    if (!isHandled(acting)) {
      exchange.unsentBody.resume();
      afterDelay(() => exchange.answerWithFault(acting));
      return;
    }
    const outgoing = this.#send(exchange);
    outgoing.on('response', (reply) =>
      afterDelay(() =>
        acting === undefined ? exchange.answer(reply) : exchange.applyFault(reply, acting),
      ),
    );
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy();
      exchange.refuseUpgrade();
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => exchange.failed(error));
    exchange.response.once('close', () => {
      if (!exchange.response.writableFinished) outgoing.destroy();
    });
  }

  #send({ request, response, target, unsentBody }: ProxiedExchange): ClientRequest {
    const { upstream } = this.#options;
    const send = upstream.protocol === 'https:' ? httpsRequest : httpRequest;
    const outgoing = send({
      host: upstream.hostname.replace(/^\[|\]$/g, ''),
      port: upstream.port,
      method: request.method,
      path: target === '*' ? target : upstream.pathname.replace(/\/$/, '') + target,
      maxHeaderSize: longestHead,
      headers: withHost(request.rawHeaders, upstream.host),
      agent: this.#agentOf(request.socket, upstream),
      setHost: false,
    });
    outgoing.on('continue', () => response.writeContinue());
    outgoing.on('information', ({ statusCode, headers }) => {
      if (statusCode === 102) response.writeProcessing();
      else if (statusCode === 103 && headers['link'] !== undefined)
        response.writeEarlyHints(headers as Record<string, string | string[]>);
    });
    outgoing.once('socket', (socket) => this.#endTogether(socket, request.socket));
    unsentBody.on('end', () => outgoing.addTrailers(pairsOf(request.rawTrailers)));
    request.once('close', () => {
      if (!request.complete) outgoing.destroy();
    });
    unsentBody.pipe(outgoing);
    return outgoing;
  }

  #agentOf(socket: Socket, { protocol }: URL): HttpAgent {
    const known = this.#agents.get(socket);
    if (known !== undefined) return known;
    const options = { keepAlive: true, maxSockets: 1 };
    const agent = protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
    this.#agents.set(socket, agent);
    socket.once('close', () => agent.destroy());
    return agent;
  }

  /** Closes an idle connection of a client when the upstream has closed its own. */
  #endTogether(socket: Socket, client: Socket): void {
    if (this.#paired.has(socket)) return;
    this.#paired.add(socket);
    socket.once('close', () => {
      // The end of this connection may be the end of a reply, which must be sent first.
      setTimeout(() => {
        if (!client.destroyed && !openExchanges.get(client)) client.end();
      }, closeDelayMs).unref();
    });
  }
}

/** One exchange, from its request to its report. Reports itself once, when it ends in any way. */
class ProxiedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: string;
  /** What has arrived of the request's body. */
  readonly requestBody: () => Body;
  /** The request's body, as far as the service has not got it. */
  unsentBody: Readable;
  /** The fault that struck it; set before the exchange is answered. */
  fault: FaultKind['kind'] | undefined;
  readonly #clientIp: string;
  readonly #sentMs = Date.now();
  readonly #startedMs = performance.now();
  readonly #onExchange: (exchange: PassedExchange) => void;
  #reply: PassedReply | undefined;
  #isReported = false;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    onExchange: (exchange: PassedExchange) => void,
  ) {
    this.request = request;
    this.response = response;
    this.target = originForm(request.url ?? '/');
    this.#onExchange = onExchange;
    // A socket that has closed does not know its address.
    this.#clientIp = plainIp(request.socket.remoteAddress ?? '');
    this.requestBody = collectBody(request);
    this.unsentBody = request;
    changeOpenExchanges(request.socket, 1);
    response.once('close', () => {
      changeOpenExchanges(request.socket, -1);
      this.#report(response.writableFinished ? undefined : 'the client closed the connection');
    });
  }

  /** Keeps the body back. Calls `whenHeld` once it has ended, or is too long to keep. */
  holdBody(whenHeld: () => void): void {
    let isHeld = false;
    const callOnce = () => {
      if (!isHeld) whenHeld();
      isHeld = true;
    };
    this.request.once('end', callOnce);
    // The request pauses when the held part has grown to the bound.
    this.request.once('pause', callOnce);
    this.unsentBody = this.request.pipe(new PassThrough({ highWaterMark: longestRecordedBody }));
  }

  /** Passes the service's reply on. */
  answer(reply: IncomingMessage): void {
    const { response } = this;
    this.#writeHead(reply, reply.rawHeaders);
    const replyBody = collectBody(reply);
    reply.on('end', () => {
      response.addTrailers(pairsOf(reply.rawTrailers));
      this.#keepReply(reply, replyBody());
    });
    reply.on('close', () => {
      if (reply.complete) return;
      this.#report('the reply broke off');
      response.destroy();
    });
    reply.pipe(response);
  }

  /** Waits for the whole reply of the service, and then applies the fault in place of it. */
  applyFault(reply: IncomingMessage, { kind }: FaultKind): void {
    const replyBody = collectBody(reply);
    reply.on('end', () => {
      const body = replyBody();
      this.#keepReply(reply, body);
      const bytes = typeof body === 'number' ? Buffer.alloc(0) : body;
      switch (kind) {
        case 'hang':
          // The connection stays open; only `close` or the client ends it.
          this.#report('the fault left it unanswered');
          break;
        case 'lost_response':
          this.response.destroy();
          break;
        case 'truncate':
          this.#truncate(reply, bytes);
          break;
        default:
          this.#malform(reply, bytes);
      }
    });
  }

  #truncate(reply: IncomingMessage, bytes: Buffer): void {
    const { response } = this;
    if (bytes.length < 2) {
      response.destroy();
      return;
    }
    this.#writeHead(reply, headersWithLength(reply, bytes.length));
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.socket?.destroySoon());
  }

  #malform(reply: IncomingMessage, bytes: Buffer): void {
    const malformedBytes = Buffer.from(malformed(bytes.toString('latin1')), 'latin1');
    this.#writeHead(reply, headersWithLength(reply, malformedBytes.length));
    this.response.end(malformedBytes);
  }

  /** Applies a fault that keeps the request from the service. */
  answerWithFault(fault: FaultKind): void {
    const { response, request } = this;
    if (fault.kind === 'refuse') response.destroy();
    else if (fault.kind === 'reset') request.socket.resetAndDestroy();
    else if (fault.kind === 'lost_request') this.#report('the fault kept it from the service');
    else if (fault.kind === 'status') {
      const { status, body, headers = {} } = forcedReply(fault);
      const lines = Object.entries({ 'content-type': 'application/json', ...headers });
      const bytes = Buffer.from(body);
      response.writeHead(status, [...lines.flat(), 'content-length', String(bytes.length)]);
      response.end(bytes);
      this.#reply = { status, headers: lines, body: bytes };
    }
  }

  /** Reports the exchange as cut, because the recorder stops. */
  stop(): void {
    this.#report('the recorder stopped');
  }

  /** Handles an error of the connection to the upstream. */
  failed({ code = '', message }: NodeJS.ErrnoException): void {
    const { response } = this;
    if (response.destroyed || response.writableEnded) return;
    this.#report(code === '' ? message : code);
    if (response.headersSent || brokenConnection.test(code)) {
      response.destroy();
      return;
    }
    this.#answerText(502, `the upstream cannot be reached: ${code === '' ? message : code}`);
  }

  /** The service switched to another protocol, which has no exchanges to record. */
  refuseUpgrade(): void {
    this.#report('the service switched protocols');
    this.#answerText(501, 'the service switched protocols, which cannot be recorded');
  }

  #answerText(status: number, text: string): void {
    this.response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' });
    this.response.end(`smstwin record: ${text}\n`);
  }

  #writeHead({ statusCode = 0, statusMessage = '' }: IncomingMessage, headers: string[]): void {
    const { response } = this;
    // Node would add these if the service left them out.
    for (const name of ['connection', 'transfer-encoding'])
      if (!pairsOf(headers).some(([present]) => isNamed(present, name)))
        response.removeHeader(name);
    response.writeHead(statusCode, statusMessage, headers);
  }

  #keepReply({ statusCode: status = 0, rawHeaders, complete }: IncomingMessage, body: Body) {
    if (complete) this.#reply = { status, headers: pairsOf(rawHeaders), body };
  }

  /** Reports the exchange, once. */
  #report(failure: string | undefined): void {
    if (this.#isReported) return;
    this.#isReported = true;
    const { request, target, requestBody, fault } = this;
    this.#onExchange({
      sentMs: this.#sentMs,
      answeredMs: this.#sentMs + Math.ceil(performance.now() - this.#startedMs),
      clientIp: this.#clientIp,
      method: request.method ?? '',
      target,
      requestHeaders: pairsOf(request.rawHeaders),
      requestBody: requestBody(),
      reply: this.#reply,
      failure,
      fault,
    });
  }
}

/** Copies a body as it passes, up to a bound; returns a function that gives what has passed. */
function collectBody(message: IncomingMessage): () => Body {
  let chunks: Buffer[] = [];
  let length = 0;
  message.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length <= longestRecordedBody) chunks.push(chunk);
    else chunks = [];
  });
  return () => (length > longestRecordedBody ? length : Buffer.concat(chunks));
}

/** A forced 429 asks for a wait of one second, unless the fault has headers of its own. */
function forcedReply(fault: Extract<FaultKind, { kind: 'status' }>): ReturnType<typeof forced> {
  if (fault.status !== 429 || fault.headers !== undefined) return forced(fault);
  const detail = 'Request was throttled. Expected available in 1 second.';
  return { ...forced({ body: { detail }, ...fault }), headers: { 'retry-after': '1' } };
}

function withHost(headers: readonly string[], host: string): string[] {
  return pairsOf(headers).flatMap(([name, value]) => [name, isNamed(name, 'host') ? host : value]);
}

/** The headers of a reply, for a body of this length. */
function headersWithLength({ rawHeaders }: IncomingMessage, length: number): string[] {
  const others = pairsOf(rawHeaders).filter(
    ([name]) => !/^(?:content-length|transfer-encoding|content-encoding)$/i.test(name),
  );
  return [...others.flat(), 'Content-Length', String(length)];
}

function isNamed(name: string, wanted: string): boolean {
  return name.toLowerCase() === wanted;
}

/** Pairs from Node's flat list, in which names and values alternate. */
function pairsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : [],
  );
}

/** The path and query of a target: clients of forward proxies send an absolute URL. */
function originForm(target: string): string {
  if (target.startsWith('/') || target === '*' || !URL.canParse(target)) return target;
  const { pathname, search } = new URL(target);
  return `${pathname}${search}`;
}
