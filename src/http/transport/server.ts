/**
 * The transport on HyperExpress 6.18.0, and its only importer.
 * HyperExpress owns the listening socket, the catch-all routes and the head of the request. Body
 * and reply use the raw uWebSockets.js response, because HyperExpress' own helpers are slower and
 * wrong: `json()` accepts malformed bodies, `send()` corrupts 204 and HEAD, `shutdown()` cuts
 * running requests. It relies on two internals: `onData` replaces HyperExpress' receiver, and
 * `completed` marks a response as answered. docs/semantics.md lists what the native parser answers
 * by itself.
 */

import uWS, { type HttpRequest, type HttpResponse, type ListenCallback } from 'uWebSockets.js';
import { type Request, type Response, Server } from 'hyper-express';
import { ArrivingBody, type Intake } from './arriving-body.ts';
import { ServedPort } from './served-port.ts';
import {
  checkAddress,
  explainRefusal,
  quiet,
  type Serve,
  type Transport,
  type TransportOptions,
} from './transport.ts';
import { UwsAnswers } from './uws-answers.ts';
import { closeQuietly, drop } from './uws-reply.ts';
import { UwsRequest } from './uws-request.ts';

/** Why no native build loads on this machine; undefined if one does. */
export const unusableNative = uWS.unusable;

export class HyperExpressTransport implements Transport {
  readonly #server = new Server({
    auto_close: false,
    trust_proxy: false,
    // Disables HyperExpress' own limit, above which it never calls the handler.
    max_body_length: Number.POSITIVE_INFINITY,
  });
  readonly #port: ServedPort;
  readonly #answers: UwsAnswers;
  /** The method of a request on the any-method route, in its original case. */
  #unusualMethod = '';
  #closing: Promise<void> | undefined;

  constructor(serve: Serve, options: TransportOptions = {}) {
    this.#port = new ServedPort(serve, options);
    this.#answers = new UwsAnswers(this.#port);
    this.#patch();
    // Common methods have their own routes: reading the method of a request costs a native call.
    this.#server.get('/*', (request, response) => this.#receive(request, response, 'GET'));
    this.#server.post('/*', (request, response) => this.#receive(request, response, 'POST'));
    this.#server.any('/*', (request, response) =>
      this.#receive(request, response, this.#unusualMethod),
    );
    this.#server.set_error_handler((_, response, error) => {
      this.#port.report(error);
      closeQuietly(response);
    });
  }

  /** Changes two calls from HyperExpress to uWebSockets.js. */
  #patch(): void {
    const app = this.#server.uws_instance;
    const listen = app.listen.bind(app);
    const any = app.any.bind(app);
    Object.assign(app, {
      // Otherwise a second instance on the same port succeeds, and the kernel splits the
      // connections between them. HyperExpress offers an exclusive port only on 0.0.0.0.
      listen: (host: string, port: number, done: ListenCallback) =>
        listen(host, port, uWS.LIBUS_LISTEN_EXCLUSIVE_PORT, done),
      // HyperExpress converts the method to upper case, but methods are case-sensitive.
      any: (
        pattern: string,
        handler: (response: HttpResponse, request: HttpRequest) => void,
      ): unknown =>
        any(pattern, (response, request) => {
          this.#unusualMethod = request.getCaseSensitiveMethod();
          handler(response, request);
        }),
    });
  }

  async listen(port: number, host: string): Promise<number> {
    checkAddress(port, host);
    try {
      await this.#server.listen(port, host);
    } catch {
      // HyperExpress rejects with a bare string that names no cause.
      throw await explainRefusal(port, host);
    }
    return this.#server.port;
  }

  close(graceMs = 5_000): Promise<void> {
    this.#closing ??= this.#drain(graceMs);
    return this.#closing;
  }

  async #drain(graceMs: number): Promise<void> {
    const { pending } = this.#answers;
    this.#server.close();
    this.#answers.startClosing();
    await quiet(() => pending.hasAny, graceMs);
    pending.clear();
    this.#server.uws_instance.close();
  }

  #receive(incoming: Request, response: Response, method: string): void {
    const { headers, raw } = incoming;
    const length = headers['content-length'];
    if (length === '' || headers['transfer-encoding'] === '') {
      // The parser would take the body for the next request and serve it after a reply.
      drop(response);
      return;
    }
    const request = new UwsRequest(method, incoming, response);
    if (length !== undefined && raw.getHeader('content-length') !== length) {
      this.#answers.refuse(request, this.#port.replies.conflictingLength);
      return;
    }
    const size = length === undefined ? 0 : Number(length);
    if (size === 0 && headers['transfer-encoding'] === undefined) this.#dispatch(request);
    else this.#receiveBody(request, size);
  }

  #receiveBody(request: UwsRequest, size: number): void {
    let intake: Intake;
    try {
      intake = this.#port.intakeOf(request);
    } catch (error) {
      this.#port.report(error);
      this.#answers.refuse(request, this.#port.replies.internalError);
      return;
    }
    if (size > intake.drainBytes) this.#answers.refuse(request, intake.over);
    else this.#collect(request, intake);
  }

  /**
   * Nearly every body is one piece. The service gets a view of it; the control port gets a copy.
   */
  #collect(request: UwsRequest, intake: Intake): void {
    const { response } = request;
    let body: ArrivingBody | undefined;
    this.#answers.pending.awaitBody(response);
    response.raw.onData((chunk, isLast) => {
      if (response.completed) return;
      if (isLast && body === undefined && chunk.byteLength <= intake.limitBytes) {
        if ('service' in this.#port.serve) request.lend(chunk);
        else request.body = Buffer.from(new Uint8Array(chunk));
        this.#dispatch(request);
        return;
      }
      body ??= this.#arriving(request, intake);
      const refusal = body.take(new Uint8Array(chunk));
      if (refusal !== undefined) this.#answers.refuse(request, refusal);
      else if (isLast) this.#collected(request, body);
    });
  }

  #arriving({ response }: UwsRequest, intake: Intake): ArrivingBody {
    const body = new ArrivingBody(intake, this.#port.room);
    // Replaces HyperExpress' own handler, which does not report the end.
    response.raw.onAborted(() => {
      response.completed = true;
      this.#answers.pending.settle(response);
      body.release();
    });
    return body;
  }

  #collected(request: UwsRequest, body: ArrivingBody): void {
    if (body.isTooLong) {
      this.#answers.decline(request, body.intake.over);
      return;
    }
    request.body = body.bytes;
    body.release();
    this.#dispatch(request);
  }

  #dispatch(request: UwsRequest): void {
    const { serve } = this.#port;
    try {
      if ('service' in serve) this.#answers.deliver(request, serve.service(request));
      else this.#answers.give(request, serve.control(request));
    } catch (error) {
      this.#answers.fail(request, error);
    }
  }
}
