/**
 * One exchange of the recording proxy, from its request to its report: how the service's reply, a
 * fault or an error of the connection answers it, and what of it is recorded.
 */
import {
  type IncomingMessage,
  type InformationEvent,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import {
  type ActingFault,
  type FaultFields,
  type FaultKindName,
  faultKinds,
  type UnhandledFault,
} from '#contract/fault-kinds.ts';
import { plainIp } from '#src/http/plain-ip.ts';
import { malformedBody, statedReply } from '#src/http/service/faults.ts';
import { resetSocket } from '#src/http/transport/node/node-reply.ts';
import { originForm } from '#src/http/transport/node/node-request.ts';
import {
  type Body,
  collectBody,
  errorNameOf,
  headersWithLength,
  longestRecordedBody,
  type PassedExchange,
  type PassedReply,
  pairsOf,
  writeReplyHead,
} from './passed-exchange.ts';

/** Errors of a connection that the upstream broke: the proxy then breaks that of the client. */
const brokenConnection = /^(?:ECONNRESET|EPIPE|HPE_.*)$/;

/** One exchange in flight. Calls `onExchange` exactly once, when the exchange ends for any reason. */
export class ProxiedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: string;
  /** Returns what has arrived of the request's body. */
  readonly requestBody: () => Body;
  /** The part of the request's body that was not sent to the service yet. */
  unsentBody: Readable;
  /** The fault that struck it; set before the exchange is answered. */
  fault: FaultKindName | undefined;
  readonly #clientIp: string;
  readonly #connection: number;
  readonly #sentMs = Date.now();
  readonly #startedMs = performance.now();
  readonly #onExchange: (exchange: PassedExchange) => void;
  #reply: PassedReply | undefined;
  #isReported = false;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    connection: number,
    onExchange: (exchange: PassedExchange) => void,
  ) {
    this.request = request;
    this.response = response;
    this.target = originForm(request.url ?? '/');
    this.#onExchange = onExchange;
    // A socket that has closed does not know its address.
    this.#clientIp = plainIp(request.socket.remoteAddress ?? '');
    this.#connection = connection;
    this.requestBody = collectBody(request);
    this.unsentBody = request;
    response.once('close', () =>
      this.#report(response.writableFinished ? undefined : 'the client closed the connection'),
    );
    response.on('error', (error) => this.fail(error));
  }

  /** Wraps a handler of events: if Node refuses to pass something on, only the exchange ends. */
  guarded<Given extends unknown[]>(handle: (...given: Given) => void): (...given: Given) => void {
    return (...given) => {
      try {
        handle(...given);
      } catch (error) {
        this.fail(error as NodeJS.ErrnoException, { what: 'what came cannot be passed on' });
      }
    };
  }

  /** Holds the body back. Calls `whenHeld` once the body has ended, or is too long to hold. */
  holdBody(whenHeld: () => void): void {
    let isHeld = false;
    const callOnce = () => {
      if (!isHeld) whenHeld();
      isHeld = true;
    };
    this.request.once('end', this.guarded(callOnce));
    // The request pauses when the held part has grown to the bound.
    this.request.once('pause', this.guarded(callOnce));
    this.unsentBody = this.request.pipe(new PassThrough({ highWaterMark: longestRecordedBody }));
  }

  /**
   * Passes an interim reply on. Writes most of them itself, because Node can send only a few. A
   * client of HTTP/1.0 does not know interim replies, and gets none.
   */
  inform({ statusCode, statusMessage, rawHeaders }: InformationEvent): void {
    const { request, response } = this;
    if (request.httpVersion === '1.0' || response.headersSent) return;
    if (statusCode === 100) {
      response.writeContinue();
      return;
    }
    const lines = pairsOf(rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`;
    // A pipelined reply has no socket before its turn.
    if (response.socket !== null) response.socket.write(head, 'latin1');
    else response.once('socket', (socket: Socket) => socket.write(head, 'latin1'));
  }

  /** Passes the reply of the service on. */
  answer(reply: IncomingMessage): void {
    const { response } = this;
    writeReplyHead(response, reply);
    const replyBody = collectBody(reply);
    const finish = () => {
      response.addTrailers(pairsOf(reply.rawTrailers));
      this.#keepReply(reply, replyBody());
    };
    this.#whenEnded(reply, finish);
    reply.pipe(response);
  }

  /** Waits for the whole reply of the service, and then applies the fault in place of it. */
  answerWithReplyFault(
    reply: IncomingMessage,
    { kind }: Exclude<ActingFault, UnhandledFault>,
  ): void {
    const replyBody = collectBody(reply);
    const strike = () => {
      const body = replyBody();
      this.#keepReply(reply, body);
      const bytes = typeof body === 'number' ? Buffer.alloc(0) : body;
      const effects = {
        // The connection stays open until the client closes it or the proxy stops.
        hang: () => this.#report('the fault left it unanswered'),
        close: () => void this.response.destroy(),
        truncate: () => this.#truncate(reply, bytes),
        malformed: () => this.#malform(reply, bytes),
      };
      effects[faultKinds[kind].reply]();
    };
    this.#whenEnded(reply, strike);
  }

  /**
   * Calls `act` when the reply has ended. Ends the exchange if it breaks off instead, or has done so
   * already, while a fault delayed it.
   */
  #whenEnded(reply: IncomingMessage, act: () => void): void {
    reply.on('end', this.guarded(act));
    const endIfBroken = () => {
      if (reply.complete) return;
      this.#report('the reply broke off');
      this.response.destroy();
    };
    if (reply.destroyed) endIfBroken();
    else reply.on('close', endIfBroken);
  }

  #truncate(reply: IncomingMessage, bytes: Buffer): void {
    const { response } = this;
    if (bytes.length < 2) {
      response.destroy();
      return;
    }
    writeReplyHead(response, reply, headersWithLength(reply, bytes.length));
    const half = bytes.subarray(0, Math.floor(bytes.length / 2));
    response.write(half, () => response.socket?.destroySoon());
  }

  #malform(reply: IncomingMessage, bytes: Buffer): void {
    const malformedBytes = Buffer.from(malformedBody(bytes.toString('latin1')), 'latin1');
    writeReplyHead(this.response, reply, headersWithLength(reply, malformedBytes.length));
    this.response.end(malformedBytes);
  }

  /** Applies a fault that keeps the request from the service. */
  answerInPlaceOfService(fault: UnhandledFault): void {
    const effects = {
      close: () => void this.response.destroy(),
      reset: () => resetSocket(this.request.socket),
      hang: () => this.#report('the fault kept it from the service'),
    };
    if (fault.kind !== 'status') {
      effects[faultKinds[fault.kind].reply]();
      return;
    }
    const { status, body, headers = {} } = forcedReply(fault);
    const lines = Object.entries({ 'content-type': 'application/json', ...headers });
    const bytes = Buffer.from(body);
    this.response.writeHead(status, [...lines.flat(), 'content-length', String(bytes.length)]);
    this.response.end(bytes);
    this.#reply = { status, headers: lines, body: bytes };
  }

  /** Reports the exchange as cut, because the recorder stops. It is not answered any more. */
  stop(): void {
    this.#report('the recorder stopped');
  }

  /**
   * Ends the exchange because of an error. `what`: what failed; default: reaching the upstream.
   * `reason`: the error in words.
   */
  fail(
    error: NodeJS.ErrnoException,
    {
      what,
      reason = errorNameOf(error),
    }: { readonly what?: string; readonly reason?: string } = {},
  ): void {
    const { response } = this;
    const { code = '' } = error;
    if (response.destroyed || response.writableEnded) return;
    this.#report(what === undefined ? reason : `${what}: ${reason}`);
    if (response.headersSent || brokenConnection.test(code)) response.destroy();
    else this.#answerText(502, `${what ?? 'the upstream cannot be reached'}: ${reason}`);
  }

  /** The service switched to another protocol, which has no exchanges to record. */
  refuseUpgrade(): void {
    this.#report('the service switched protocols');
    this.#answerText(501, 'the service switched protocols, which cannot be recorded');
  }

  #answerText(status: number, text: string): void {
    const headers = { 'content-type': 'text/plain', connection: 'close' };
    this.response.writeHead(status, STATUS_CODES[status], headers);
    this.response.end(`smstwin record: ${text}\n`);
  }

  #keepReply({ statusCode: status = 0, rawHeaders, complete }: IncomingMessage, body: Body) {
    if (complete) this.#reply = { status, headers: pairsOf(rawHeaders), body };
  }

  #report(failure: string | undefined): void {
    if (this.#isReported) return;
    this.#isReported = true;
    const { request, target, requestBody, fault } = this;
    this.#onExchange({
      sentMs: this.#sentMs,
      steadyMs: [this.#startedMs, performance.now()],
      connection: this.#connection,
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

/** A forced 429 asks for a wait of one second, unless the fault has headers of its own. */
function forcedReply(fault: FaultFields['status']): ReturnType<typeof statedReply> {
  if (fault.status !== 429 || fault.headers !== undefined) return statedReply(fault);
  const detail = 'Request was throttled. Expected available in 1 second.';
  return { ...statedReply({ body: { detail }, ...fault }), headers: { 'retry-after': '1' } };
}
