/**
 * The reverse proxy of `smstwin record`. It passes requests and replies on unchanged: names and
 * order of headers, bodies, chunks, trailers, `Expect`, and broken connections. Only `Host` is
 * replaced by the upstream's. Each connection of a client has one connection to the upstream, so
 * both open and close together. Node's own HTTP server and client keep headers as raw lists; proxy
 * libraries lower the case of a request's headers, join equal ones and drop trailers.
 */
import {
  ClientRequest,
  createServer,
  type Agent as HttpAgent,
  type IncomingMessage,
  type InformationEvent,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isHandled } from '#contract/fault-kinds.ts';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { matchRoute } from '#contract/routes.ts';
import { WayOut } from '#io/way-out.ts';
import type { TlsPair } from '#src/config/tls.ts';
import { type FaultSubject, headerIn, sentFieldsOf } from '#src/http/service/fault.ts';
import type { FaultEffect, Faults } from '#src/http/service/faults.ts';
import { errorNameOf, headersFor, type PassedExchange, pairsOf } from './passed-exchange.ts';
import { ProxiedExchange } from './proxied-exchange.ts';

export interface ProxyOptions {
  readonly upstream: URL;
  readonly faults: Faults;
  readonly tls?: TlsPair | undefined;
  /** The account that a credential stands for, as faults that match on an account name it. */
  readonly accountIdOf: (authorization: string) => string;
  readonly onExchange: (exchange: PassedExchange) => void;
}

/** An idle connection of a client is closed after this time. */
const idleMs = 75_000;
/** How long exchanges in flight may take when the proxy closes. */
const closeWithinMs = 3_000;
/** How long a reply that ends with its connection may take to be sent. */
const closeDelayMs = 50;
/** The longest head in bytes. Node's default, 16 KiB, would refuse heads that services accept. */
const longestHead = 1_048_576;

interface ClientConnection {
  readonly number: number;
  /** Has the one connection to the upstream that belongs to it. */
  readonly agent: HttpAgent;
  /** The number of exchanges that are not over: pipelining allows several. */
  openExchanges: number;
}

let lastConnectionNumber = 0;

export class RecordingProxy {
  readonly server: Server;
  readonly #options: ProxyOptions;
  readonly #way: WayOut;
  readonly #connections = new WeakMap<Socket, ClientConnection>();
  /** True if a fault matches on the recipient, which is in the body. */
  readonly #needsBody: boolean;
  /** Connections to the upstream whose end closes a client's. */
  readonly #paired = new WeakSet<Socket>();
  /** Exchanges that `onExchange` was not called for yet. */
  readonly #unreported = new Set<ProxiedExchange>();

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#way = new WayOut(options.upstream);
    this.#needsBody = options.faults.list.some(
      ({ spec: { match } }) => (match.to ?? match.text) !== undefined,
    );
    const { tls } = options;
    const bounds = {
      requestTimeout: 0,
      keepAliveTimeout: idleMs,
      maxHeaderSize: longestHead,
      // The service answers a request without a host.
      requireHostHeader: false,
    };
    const server =
      tls === undefined ? createServer(bounds) : createTlsServer({ ...bounds, ...tls });
    // Without listeners Node answers the last two itself.
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      server.on(event, (request, response) => this.#take(request, response));
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
    const connection = this.#connectionOf(request.socket);
    const exchange = new ProxiedExchange(request, response, connection.number, (passed) => {
      this.#unreported.delete(exchange);
      onExchange(passed);
    });
    this.#unreported.add(exchange);
    connection.openExchanges++;
    response.once('close', () => {
      connection.openExchanges--;
    });
    response.sendDate = false;
    const passOn = (body: ApiRequest['body']) =>
      this.#pass(exchange, faults.effectOn(this.#subjectOf(exchange, body)));
    const begin = () => {
      if (!this.#needsBody) {
        passOn('');
        return;
      }
      if (request.headers.expect !== undefined) response.writeContinue();
      exchange.holdBody(() => {
        const body = exchange.requestBody();
        passOn(typeof body === 'number' ? '' : body);
      });
    };
    exchange.guarded(begin)();
  }

  #subjectOf({ request, target }: ProxiedExchange, body: ApiRequest['body']): FaultSubject {
    const [path = ''] = target.split('?', 1);
    const { authorization } = request.headers;
    const accountId = authorization === undefined ? '' : this.#options.accountIdOf(authorization);
    const endpoint = matchRoute(path)?.route.endpoint;
    const sent = sentFieldsOf(body);
    return { endpoint, accountId, ...sent, header: (name) => headerIn(request.headers, name) };
  }

  #pass(exchange: ProxiedExchange, { acting, delayMs }: FaultEffect): void {
    exchange.fault = acting?.kind ?? (delayMs > 0 ? 'delay' : undefined);
    const afterDelay = (act: () => void) => {
      if (delayMs > 0) setTimeout(exchange.guarded(act), delayMs);
      else act();
    };
    if (!isHandled(acting)) {
      exchange.unsentBody.resume();
      afterDelay(() => exchange.answerInPlaceOfService(acting));
      return;
    }
    const outgoing = this.#send(exchange);
    const answer = (reply: IncomingMessage) => {
      const refusal = this.#way.refusal(reply.statusCode);
      if (refusal !== undefined) throw new Error(refusal);
      afterDelay(() =>
        acting === undefined
          ? exchange.answer(reply)
          : exchange.answerWithReplyFault(reply, acting),
      );
    };
    const refuseUpgrade = (_: IncomingMessage, socket: Duplex) => {
      socket.destroy();
      exchange.refuseUpgrade();
    };
    outgoing.on('response', exchange.guarded(answer));
    outgoing.on('upgrade', exchange.guarded(refuseUpgrade));
    const inform = (event: InformationEvent) => exchange.inform(event);
    outgoing.on('information', exchange.guarded(inform));
    outgoing.on('error', (error) =>
      exchange.fail(error, { reason: this.#way.reason(errorNameOf(error)) }),
    );
    exchange.response.once('close', () => {
      if (!exchange.response.writableFinished) outgoing.destroy();
    });
  }

  #send(exchange: ProxiedExchange): ClientRequest {
    const { request, target, unsentBody } = exchange;
    const { upstream } = this.#options;
    const path = target === '*' ? target : upstream.pathname.replace(/\/$/, '') + target;
    const way = this.#way.request(path);
    const outgoing = new PassedRequest({
      ...way,
      method: request.method,
      maxHeaderSize: longestHead,
      headers: [...headersFor(upstream, request), ...Object.entries(way.headers).flat()],
      agent: this.#connectionOf(request.socket).agent,
      setHost: false,
    });
    outgoing.once('socket', (socket) => this.#endTogether(socket, request.socket));
    const endBody = () => outgoing.addTrailers(pairsOf(request.rawTrailers));
    unsentBody.on('end', exchange.guarded(endBody));
    request.once('close', () => {
      if (!request.complete) outgoing.destroy();
    });
    unsentBody.pipe(outgoing);
    return outgoing;
  }

  #connectionOf(client: Socket): ClientConnection {
    const known = this.#connections.get(client);
    if (known !== undefined) return known;
    const agent = this.#way.agent({ keepAlive: true, maxSockets: 1 });
    client.once('close', () => agent.destroy());
    const connection = { number: ++lastConnectionNumber, agent, openExchanges: 0 };
    this.#connections.set(client, connection);
    return connection;
  }

  /** Closes an idle connection of a client when the upstream has closed its own. */
  #endTogether(socket: Socket, client: Socket): void {
    if (this.#paired.has(socket)) return;
    this.#paired.add(socket);
    socket.once('close', () => {
      // The end of this connection may be the end of a reply, which must be sent first.
      setTimeout(() => {
        const hasOpenExchange = this.#connectionOf(client).openExchanges > 0;
        if (!client.destroyed && !hasOpenExchange) client.end();
      }, closeDelayMs).unref();
    });
  }
}

/**
 * A request without a body that gets no `Transfer-Encoding` either: Node sets this property of each
 * request by its method, and adds the header if it is true.
 */
class PassedRequest extends ClientRequest {}
Object.defineProperty(PassedRequest.prototype, 'useChunkedEncodingByDefault', {
  get: () => false,
  set: () => {},
});
