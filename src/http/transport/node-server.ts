/**
 * The transport on Node's own HTTP server, for machines that cannot load the native module.
 * Statuses, bodies and limits equal the native one's; docs/semantics.md lists where the parsers
 * differ.
 */
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ArrivingBody, type Intake } from './arriving-body.ts';
import { NodeAnswers } from './node-answers.ts';
import { HeadLines, refuseSocket } from './node-reply.ts';
import { type Draft, hasItsHost, readHead, readUnusualMethod } from './node-request.ts';
import { Turns } from './node-turns.ts';
import { ServedPort } from './served-port.ts';
import {
  checkAddress,
  keepAliveSeconds,
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

export class NodeTransport implements Transport {
  readonly #port: ServedPort;
  readonly #answers: NodeAnswers;
  readonly #server: Server;
  readonly #turns = new Turns();
  readonly #refused = new WeakSet<Socket>();
  #closing: Promise<void> | undefined;

  constructor(serve: Serve, options: TransportOptions = {}) {
    this.#port = new ServedPort(serve, options);
    this.#answers = new NodeAnswers(this.#port, new HeadLines(keepAliveSeconds, this.#port.now));
    const { idleTimeoutMs } = this.#port;
    const server = createServer({
      maxHeaderSize: 16_384,
      headersTimeout: idleTimeoutMs,
      requestTimeout: idleTimeoutMs,
      keepAliveTimeout: idleTimeoutMs,
      connectionsCheckingInterval: 1_000,
      // Node's own refusal has no body, and Node accepts two Hosts.
      requireHostHeader: false,
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
    await quiet(() => this.#answers.hasPending, graceMs);
    this.#answers.clearDelays();
    this.#server.closeAllConnections();
    await closed;
  }

  #receive(incoming: IncomingMessage, response: ServerResponse): void {
    this.#answers.await(response);
    if (!hasItsHost(incoming)) {
      this.#answers.refuse(response, this.#port.replies.malformed);
      return;
    }
    const length = incoming.headers['content-length'];
    const size = length === undefined ? 0 : Number(length);
    const draft = readHead(incoming);
    if (size === 0 && incoming.headers['transfer-encoding'] === undefined) {
      this.#dispatch(draft, response);
      return;
    }
    let intake: Intake;
    try {
      intake = this.#port.intakeOf(draft);
    } catch (error) {
      this.#port.report(error);
      this.#answers.refuse(response, this.#port.replies.internalError);
      return;
    }
    if (size > intake.drainBytes) this.#answers.refuse(response, intake.over);
    else this.#collect(incoming, draft, response, new ArrivingBody(intake, this.#port.room));
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
      if (refusal !== undefined) this.#answers.refuse(response, refusal);
    });
    incoming.on('end', () => {
      if (response.headersSent || response.destroyed) return;
      if (body.isTooLong) {
        this.#answers.decline(response, body.intake.over);
        return;
      }
      draft.body = body.bytes;
      body.release();
      this.#dispatch(draft, response);
    });
    // The client left in the middle of its body; the response's `close` cleans up.
    incoming.on('error', () => {});
  }

  #dispatch(request: Draft, response: ServerResponse): void {
    const { serve } = this.#port;
    try {
      const reply = 'service' in serve ? serve.service(request) : serve.control(request);
      this.#answers.give(response, request, reply);
    } catch (error) {
      this.#answers.fail(response, error);
    }
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
    const { headersTooLarge, malformed } = this.#port.replies;
    if (code === 'HPE_INVALID_METHOD') {
      this.#serveUnusual(readUnusualMethod(rawPacket, bytesParsed, socket), socket);
      return;
    }
    const reply = code === 'HPE_HEADER_OVERFLOW' ? headersTooLarge : malformed;
    this.#port.answersItself('', reply);
    refuseSocket(socket, reply);
  }

  /** Answers in order and ends the connection, since a body would not be read. */
  #serveUnusual(unusual: IncomingMessage | undefined, socket: Socket): void {
    const incoming = unusual ?? new IncomingMessage(socket);
    const response = new ServerResponse(incoming);
    response.shouldKeepAlive = false;
    response.once('finish', () => socket.destroySoon());
    this.#turns.take(incoming, response, () => {
      response.assignSocket(socket);
      if (unusual === undefined) this.#answers.refuse(response, this.#port.replies.malformed);
      else this.#receive(unusual, response);
    });
  }
}
