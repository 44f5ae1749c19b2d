/**
 * The transport on Node's own HTTP server, for machines that cannot load the native module.
 * Statuses, bodies and limits equal the native one's; docs/semantics.md lists where the parsers
 * differ.
 */
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { Answers } from './answers.ts';
import { ArrivingBody, type Intake } from './arriving-body.ts';
import { HeadLines, NodeOutlet, refuseSocket } from './node-reply.ts';
import { type Draft, hasItsHost, readHead, readUnusualMethod } from './node-request.ts';
import { Turns } from './node-turns.ts';
import { PlainConnection, type PlainLane } from './plain-connection.ts';
import { ServedPort } from './served-port.ts';
import {
  checkAddress,
  listenError,
  quiet,
  type Serve,
  type Transport,
  type TransportOptions,
} from './transport.ts';

/** What Node's parser reports. */
interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer | undefined;
  readonly bytesParsed?: number;
}

/** Emitted by a request whose body the parser refuses. */
const broken = 'broken';

export class NodeTransport implements Transport {
  readonly #port: ServedPort;
  readonly #answers: Answers;
  readonly #lines: HeadLines;
  readonly #server: Server;
  readonly #plain = new Set<PlainConnection>();
  readonly #turns = new Turns();
  readonly #refused = new WeakSet<Socket>();
  /** Requests whose rest the parser refused. */
  readonly #broken = new WeakSet<IncomingMessage>();
  #closing: Promise<void> | undefined;

  constructor(serve: Serve, options: TransportOptions = {}) {
    this.#port = new ServedPort(serve, options);
    this.#answers = new Answers(this.#port);
    this.#lines = new HeadLines(this.#port);
    const { idleTimeoutMs } = this.#port;
    const limits = {
      maxHeaderSize: 16_384,
      headersTimeout: idleTimeoutMs,
      requestTimeout: idleTimeoutMs,
      keepAliveTimeout: idleTimeoutMs,
      connectionsCheckingInterval: 1_000,
      // Node's own refusal has no body, and Node accepts two Hosts.
      requireHostHeader: false,
    };
    const { tls } = options;
    const server =
      tls === undefined
        ? createServer(limits)
        : createTlsServer({ ...limits, cert: tls.cert, key: tls.key });
    // A handshake that fails gets no reply: there is no connection to write it on.
    server.on('tlsClientError', (_, socket: Socket) => {
      this.#refused.add(socket);
      socket.destroy();
    });
    const receive = this.#receive.bind(this);
    server.on('request', (request, response) => this.#turns.take(request, response, receive));
    // uWebSockets.js also serves requests with expectations other than 100-continue.
    server.on('checkExpectation', (request, response) =>
      this.#turns.take(request, response, receive),
    );
    // Without a listener Node closes the connection without a reply.
    server.on('connect', (_, socket) => this.#malformed(new Error('CONNECT'), socket as Socket));
    server.on('clientError', (error, socket) => this.#malformed(error, socket as Socket));
    // With a listener, Node closes nothing itself, not even idle connections after
    // `keepAliveTimeout`. Silent event streams and delayed replies stay open; unread replies do
    // not.
    server.setTimeout(idleTimeoutMs, (socket) => {
      if (this.#turns.isIdle(socket) || socket.writableLength > 0) socket.destroy();
    });
    // Node would drop all headers after the first 1,000; `maxHeaderSize` bounds them instead.
    server.maxHeadersCount = 0;
    this.#server = server;
    if ('service' in serve) {
      this.#servePlainly(tls === undefined ? 'connection' : 'secureConnection');
    }
  }

  /** Puts `PlainConnection` before `node:http`, which otherwise takes each new connection. */
  #servePlainly(connected: 'connection' | 'secureConnection'): void {
    const server = this.#server;
    const takers = server.listeners(connected);
    server.removeAllListeners(connected);
    const lane: PlainLane = {
      port: this.#port,
      answers: this.#answers,
      lines: this.#lines,
      open: this.#plain,
      handOver: (socket) => {
        for (const take of takers) take.call(server, socket);
      },
    };
    server.on(connected, (socket: Socket) => new PlainConnection(lane, socket));
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
    this.#answers.startClosing();
    await quiet(() => this.#answers.pending.hasAny, graceMs);
    this.#answers.pending.clear();
    for (const { socket } of this.#plain) socket.destroy();
    this.#server.closeAllConnections();
    await closed;
  }

  #receive(incoming: IncomingMessage, response: ServerResponse): void {
    const draft = readHead(incoming);
    const outlet = new NodeOutlet(draft, response, this.#lines);
    this.#answers.pending.add(outlet);
    const encoding = incoming.headers['transfer-encoding'];
    const isUnclear =
      encoding !== undefined &&
      (encoding.toLowerCase() !== 'chunked' || incoming.httpVersion === '1.0');
    if (isUnclear || !hasItsHost(incoming) || this.#broken.has(incoming)) {
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

  #collect(incoming: IncomingMessage, draft: Draft, outlet: NodeOutlet, body: ArrivingBody): void {
    outlet.onClose(() => body.release());
    incoming.on('data', (chunk: Buffer) => this.#answers.take(outlet, body, chunk));
    incoming.on('end', () => this.#answers.arrived(outlet, draft, body));
    // The parser refused the rest of this body.
    incoming.once(broken, () => this.#answers.refuse(outlet, this.#port.reply('malformed')));
    // The client left in the middle of its body; `close` cleans up.
    incoming.on('error', () => {});
  }

  /** Answers what Node's parser refuses. A timeout gets no answer, as in uWebSockets.js. */
  #malformed(error: ParserError, socket: Socket): void {
    const { code, rawPacket, bytesParsed = 0 } = error;
    // Further packets of a refused connection are errors too.
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    if (!socket.writable || code === 'ECONNRESET' || code?.endsWith('_TIMEOUT')) {
      socket.destroy();
      return;
    }
    if (code === 'HPE_INVALID_METHOD') {
      this.#serveUnusual(readUnusualMethod(rawPacket, bytesParsed, socket), socket);
      return;
    }
    const arriving = this.#turns.arrivingOn(socket);
    if (arriving !== undefined) {
      this.#broken.add(arriving);
      arriving.emit(broken);
      return;
    }
    const reply = this.#port.reply(
      code === 'HPE_HEADER_OVERFLOW' ? 'headersTooLarge' : 'malformed',
    );
    this.#turns.afterAll(socket, () => {
      // The reply before may have ended the connection.
      if (!socket.writable) return;
      this.#port.answersItself('', reply);
      refuseSocket(socket, reply, this.#port.headers);
    });
  }

  /** Answers in order and ends the connection, since a body would not be read. */
  #serveUnusual(unusual: IncomingMessage | undefined, socket: Socket): void {
    const incoming = unusual ?? new IncomingMessage(socket);
    const response = new ServerResponse(incoming);
    response.shouldKeepAlive = false;
    response.once('finish', () => socket.destroySoon());
    this.#turns.take(incoming, response, () => {
      response.assignSocket(socket);
      if (unusual === undefined) this.#broken.add(incoming);
      this.#receive(incoming, response);
    });
  }
}
