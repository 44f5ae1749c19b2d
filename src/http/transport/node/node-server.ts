/**
 * The transport on Node's own HTTP server. It serves every control port, and the service on
 * machines that cannot load the native module. Statuses, bodies and limits equal those of the
 * native transport; docs/semantics.md lists where the parsers differ.
 */
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { realTimers } from '#io/event-loop.ts';
import { Answers } from '../answers.ts';
import { ArrivingBody, type Intake } from '../arriving-body.ts';
import { checkAddress, listenOn } from '../listening.ts';
import { waitUntilIdle } from '../pending-replies.ts';
import { ServedPort } from '../served-port.ts';
import type { PortService, Transport, TransportOptions } from '../transport.ts';
import { HeadLines, NodeOutlet, refuseSocket } from './node-reply.ts';
import {
  type Draft,
  hasRightHosts,
  RequestQueues,
  readHead,
  readUnusualMethod,
} from './node-request.ts';
import { PlainConnection, type PlainShared } from './plain-connection.ts';

// Silence is measured in real time, even if a test or `smstwin/clock` replaces the timers.
const { clearInterval, setInterval } = realTimers;

interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer | undefined;
  readonly bytesParsed?: number;
}

/** The event that this file emits on a request when the parser refuses the rest of its body. */
const bodyRefused = 'bodyRefused';

/** A silent connection is checked this many times before it is closed. */
const checksInTimeout = 10;

export class NodeTransport implements Transport {
  readonly #port: ServedPort;
  readonly #answers: Answers;
  readonly #lines: HeadLines;
  readonly #server: Server;
  /** The open connections that `node:http` has not taken over. */
  readonly #plain = new Set<PlainConnection>();
  readonly #queues = new RequestQueues();
  /** Connections of which bytes were refused: their further errors are ignored. */
  readonly #refused = new WeakSet<Socket>();
  /** Requests that the parser refused after their head. */
  readonly #malformedRequests = new WeakSet<IncomingMessage>();
  #checks: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(serve: PortService, options: TransportOptions = {}) {
    this.#port = new ServedPort(serve, options);
    this.#answers = new Answers(this.#port);
    this.#lines = new HeadLines(this.#port);
    this.#server = createNodeServer(this.#port.idleTimeoutMs, options.tls);
    this.#handleEvents(this.#server);
    if ('service' in serve)
      this.#servePlainly(options.tls === undefined ? 'connection' : 'secureConnection');
  }

  #handleEvents(server: Server): void {
    // A handshake that fails gets no reply: there is no connection to write it on.
    server.on('tlsClientError', (_, socket: Socket) => {
      this.#refused.add(socket);
      socket.destroy();
    });
    const receive = this.#receive.bind(this);
    server.on('request', (request, response) => this.#queues.take(request, response, receive));
    // uWebSockets.js also serves requests with expectations other than 100-continue.
    server.on('checkExpectation', (request, response) =>
      this.#queues.take(request, response, receive),
    );
    // Without a listener Node closes the connection without a reply.
    server.on('connect', (_, socket) => this.#refuse(new Error('CONNECT'), socket as Socket));
    server.on('clientError', (error, socket) => this.#refuse(error, socket as Socket));
    // With this listener, Node leaves it to us to close silent connections: idle ones, and those
    // whose client does not read. Event streams and delayed replies stay open.
    server.setTimeout(this.#port.idleTimeoutMs, (socket) => {
      if (this.#queues.isIdle(socket) || socket.writableLength > 0) socket.destroy();
    });
  }

  /** Gives each new connection to a `PlainConnection`, which may hand it over to `node:http`. */
  #servePlainly(connected: 'connection' | 'secureConnection'): void {
    const server = this.#server;
    const nodeListeners = server.listeners(connected);
    server.removeAllListeners(connected);
    const shared: PlainShared = {
      port: this.#port,
      answers: this.#answers,
      lines: this.#lines,
      open: this.#plain,
      handOver: (socket) => {
        for (const listener of nodeListeners) listener.call(server, socket);
      },
    };
    server.on(connected, (socket: Socket) => new PlainConnection(shared, socket));
  }

  async listen(port: number, host: string): Promise<number> {
    checkAddress(port, host);
    const intervalMs = this.#port.idleTimeoutMs / checksInTimeout;
    this.#checks ??= setInterval(() => {
      for (const connection of this.#plain) connection.checkSilence(intervalMs);
    }, intervalMs).unref();
    return listenOn(this.#server, port, host);
  }

  close(graceMs = 5_000): Promise<void> {
    this.#closing ??= this.#drain(graceMs);
    return this.#closing;
  }

  async #drain(graceMs: number): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#answers.startClosing();
    await waitUntilIdle(() => this.#answers.isBusy, graceMs);
    this.#answers.pending.clear();
    for (const { socket } of this.#plain) socket.destroy();
    clearInterval(this.#checks);
    this.#server.closeAllConnections();
    await closed;
  }

  /** Serves a request that is the next of its connection, or refuses it by its head. */
  #receive(incoming: IncomingMessage, response: ServerResponse): void {
    const draft = readHead(incoming);
    const outlet = new NodeOutlet(draft, response, this.#lines);
    this.#answers.pending.add(outlet);
    const encoding = incoming.headers['transfer-encoding'];
    const isLengthUnclear =
      encoding !== undefined &&
      (encoding.toLowerCase() !== 'chunked' || incoming.httpVersion === '1.0');
    const isMalformed = this.#malformedRequests.has(incoming);
    if (isMalformed || isLengthUnclear || !hasRightHosts(incoming)) {
      this.#answers.refuse(outlet, this.#port.reply('malformed'));
      return;
    }
    const length = incoming.headers['content-length'];
    const size = length === undefined ? 0 : Number(length);
    if (size === 0 && encoding === undefined) {
      this.#answers.serve(outlet, draft);
      return;
    }
    let intake: Intake;
    try {
      intake = this.#port.intakeOf(draft);
    } catch (error) {
      this.#port.report(error);
      this.#answers.refuse(outlet, this.#port.reply('internalError'));
      return;
    }
    if (size > intake.drainBytes) this.#answers.refuse(outlet, this.#port.tooLong(intake));
    else this.#collect(incoming, draft, outlet, new ArrivingBody(intake, this.#port.room));
  }

  /** Serves the request once its body has arrived. */
  #collect(incoming: IncomingMessage, draft: Draft, outlet: NodeOutlet, body: ArrivingBody): void {
    outlet.onClose(() => body.release());
    incoming.on('data', (chunk: Buffer) => this.#answers.take(outlet, body, chunk));
    incoming.on('end', () => this.#answers.arrived(outlet, draft, body));
    incoming.once(bodyRefused, () => this.#answers.refuse(outlet, this.#port.reply('malformed')));
    // Emitted if the client leaves in the middle of its body. `close` follows and cleans up.
    incoming.on('error', () => {});
  }

  /** Answers bytes that Node's parser refuses. A timeout gets no answer, as in uWebSockets.js. */
  #refuse(error: ParserError, socket: Socket): void {
    const { code, rawPacket, bytesParsed = 0 } = error;
    // The parser reports an error for each further packet of such a connection.
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    if (!socket.writable || code === 'ECONNRESET' || code?.endsWith('_TIMEOUT')) {
      socket.destroy();
      return;
    }
    if (code === 'HPE_INVALID_METHOD') {
      this.#serveUnusualMethod(readUnusualMethod(rawPacket, bytesParsed, socket), socket);
      return;
    }
    const arriving = this.#queues.arrivingOn(socket);
    if (arriving !== undefined) {
      this.#malformedRequests.add(arriving);
      arriving.emit(bodyRefused);
      return;
    }
    const reply = this.#port.reply(
      code === 'HPE_HEADER_OVERFLOW' ? 'headersTooLarge' : 'malformed',
    );
    this.#queues.afterAll(socket, () => {
      // An earlier reply may have ended the connection.
      if (!socket.writable) return;
      this.#port.reportOwnReply('', reply);
      refuseSocket(socket, reply, this.#port.headers);
    });
  }

  /**
   * Serves a request with a method that Node's parser does not know, after the replies before it.
   * `request`: undefined if its head could not be read. Ends the connection: no body can be read.
   */
  #serveUnusualMethod(request: IncomingMessage | undefined, socket: Socket): void {
    const incoming = request ?? new IncomingMessage(socket);
    const response = new ServerResponse(incoming);
    response.shouldKeepAlive = false;
    response.once('finish', () => socket.destroySoon());
    this.#queues.take(incoming, response, () => {
      response.assignSocket(socket);
      if (request === undefined) this.#malformedRequests.add(incoming);
      this.#receive(incoming, response);
    });
  }
}

function createNodeServer(idleTimeoutMs: number, tls: TransportOptions['tls']): Server {
  const limits = {
    maxHeaderSize: 16_384,
    headersTimeout: idleTimeoutMs,
    requestTimeout: idleTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    connectionsCheckingInterval: 1_000,
    // `#receive` checks `Host`: Node's own refusal has no body, and Node accepts two hosts.
    requireHostHeader: false,
  };
  const server =
    tls === undefined
      ? createServer(limits)
      : createTlsServer({ ...limits, cert: tls.cert, key: tls.key });
  // Node would drop all headers after the first 1,000; `maxHeaderSize` bounds them instead.
  server.maxHeadersCount = 0;
  return server;
}
