/**
 * The transport on HyperExpress 6.18.0, and its only importer.
 * HyperExpress owns the listening socket, the one catch-all route and the request's head. Body and reply go
 * past its helpers to the raw uWebSockets.js response: `json()`, `send()` on 204 or HEAD and `shutdown()` each
 * crash, corrupt or cut something in this version, and a bare handler with `json()` costs more per request.
 * What that leans on: `onData` replaces HyperExpress' own receiver, and `completed` tells it we have answered.
 * Limits of the library that no handler can change: a reply must come in the same tick or a pipelining client
 * is disconnected; a client that half-closes gets no answer; 400, 431 and 505 for broken HTTP are its own HTML.
 * Of three Authorization headers the middle one is not seen.
 */

import uWS, { type ListenCallback } from 'uWebSockets.js';
import { type Request, type Response, Server } from 'hyper-express';
import type { ApiReply, ApiRequest, Delivery } from '../service/messages.ts';
import { ArrivingBody, BodyRoom, type Intake } from './arriving-body.ts';
import type { EventStream } from './event-stream.ts';
import {
  type ControlReply,
  type ControlRequest,
  type ControlService,
  checkAddress,
  defaultBodyLimitBytes,
  defaultDrainLimitBytes,
  defaultHeldLimitBytes,
  defaultMostDelayed,
  type EventsReply,
  explainRefusal,
  type Handle,
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
import {
  drop,
  HeadCount,
  openEventStream,
  truncate,
  writeEventStreamHead,
  writeReply,
} from './uws-reply.ts';
import { UwsRequest } from './uws-request.ts';

/** Why nothing of this file can be used: no build of the native server loads here. */
export const unusableNative = uWS.unusable;

export class HyperExpressTransport implements Transport {
  readonly #server = new Server({
    auto_close: false,
    trust_proxy: false,
    // Ours is the only limit: above its own, HyperExpress would never call the handler.
    max_body_length: Number.POSITIVE_INFINITY,
  });
  readonly #service: Handle | undefined;
  readonly #control: ControlService | undefined;
  readonly #replies: TransportReplies;
  readonly #intake: Intake;
  readonly #room: BodyRoom;
  readonly #onInternalError: ((error: unknown) => void) | undefined;
  /** Requests that wait: for their body, for a delay (its timer), or for the control handler. */
  readonly #pending = new Map<Response, NodeJS.Timeout | undefined>();
  /** The last one that waits for its body, which nearly always comes before another head: it spares the map. */
  #next: Response | undefined;
  #sweepAt = 4_096;
  readonly #heads = new HeadCount();
  readonly #mostDelayed: number;
  #delayed = 0;
  readonly #streams = new Set<EventStream>();
  #closing: Promise<void> | undefined;

  constructor(serve: Serve, options: TransportOptions = {}) {
    this.#service = 'service' in serve ? serve.service : undefined;
    this.#control = 'control' in serve ? serve : undefined;
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
    // A route of its own for each usual method: on the route for any, the method is read from the request.
    this.#server.get('/*', (request, response) => this.#receive(request, response, 'GET'));
    this.#server.post('/*', (request, response) => this.#receive(request, response, 'POST'));
    this.#server.any('/*', (request, response) => this.#receive(request, response, request.method));
    this.#server.set_error_handler((request, response, error) =>
      this.#fail(response, request.method, error),
    );
    bindExclusively(this.#server);
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
    this.#server.close();
    for (const stream of this.#streams) stream.finish();
    await quiet(() => {
      this.#sweep();
      return this.#pending.size > 0 || this.#next !== undefined;
    }, graceMs);
    for (const timer of this.#pending.values()) clearTimeout(timer);
    this.#pending.clear();
    this.#next = undefined;
    this.#server.uws_instance.close();
  }

  /** Forgets the requests whose clients went away. */
  #sweep(): void {
    if (this.#next?.completed) this.#next = undefined;
    for (const [response, timer] of this.#pending) {
      if (!response.completed) continue;
      if (timer !== undefined) this.#delayed--;
      clearTimeout(timer);
      this.#pending.delete(response);
    }
    this.#sweepAt = Math.max(4_096, 2 * this.#pending.size);
  }

  #receive(request: Request, response: Response, method: string): void {
    const { headers, raw } = request;
    const length = headers['content-length'];
    if (length === '' || headers['transfer-encoding'] === '') {
      // The parser takes what follows for the next request, and would serve it behind an answer.
      drop(response);
      return;
    }
    if (length !== undefined && raw.getHeader('content-length') !== length) {
      this.#refuse(response, method, this.#replies.conflictingLength);
      return;
    }
    const draft = new UwsRequest(method, request, response);
    const size = length === undefined ? 0 : Number(length);
    if (size === 0 && headers['transfer-encoding'] === undefined) {
      this.#dispatch(draft, response);
      return;
    }
    const intake = this.#control?.intake?.(draft) ?? this.#intake;
    if (size > intake.drainBytes) this.#refuse(response, method, intake.over);
    else this.#collect(draft, response, intake);
  }

  /** Nearly every body comes in one piece, of which the service is lent a view. */
  #collect(draft: UwsRequest, response: Response, intake: Intake): void {
    let body: ArrivingBody | undefined;
    if (this.#next !== undefined) this.#pend(this.#next);
    this.#next = response;
    response.raw.onData((chunk, isLast) => {
      if (response.completed) return;
      if (isLast && body === undefined && chunk.byteLength <= intake.limitBytes) {
        if (this.#service === undefined) draft.body = Buffer.from(new Uint8Array(chunk));
        else draft.lend(chunk);
        this.#dispatch(draft, response);
        return;
      }
      body ??= this.#arriving(response, intake);
      const refusal = body.take(new Uint8Array(chunk));
      if (refusal !== undefined) this.#refuse(response, draft.method, refusal);
      else if (isLast) this.#collected(draft, response, body);
    });
  }

  #pend(response: Response): void {
    if (!response.completed) this.#pending.set(response, undefined);
    if (this.#pending.size > this.#sweepAt) this.#sweep();
  }

  /** What is answered waits no longer. */
  #settle(response: Response): void {
    if (this.#next === response) this.#next = undefined;
    if (this.#pending.size > 0) this.#pending.delete(response);
  }

  #arriving(response: Response, intake: Intake): ArrivingBody {
    const body = new ArrivingBody(intake, this.#room);
    // In the place of HyperExpress' own handler, which tells us nothing.
    response.raw.onAborted(() => {
      response.completed = true;
      this.#settle(response);
      body.release();
    });
    return body;
  }

  #collected(draft: UwsRequest, response: Response, body: ArrivingBody): void {
    if (body.isTooLong) {
      this.#write(response, draft.method, body.intake.over);
      return;
    }
    draft.body = body.bytes;
    body.release();
    this.#dispatch(draft, response);
  }

  /** Nothing may be thrown from here: above it is native code, and the process would end. */
  #dispatch(request: UwsRequest, response: Response): void {
    try {
      if (this.#service !== undefined) this.#deliver(response, request, this.#service(request));
      else if (this.#control !== undefined)
        this.#answer(response, request, this.#control.control(request));
    } catch (error) {
      this.#fail(response, request.method, error);
    }
  }

  #answer(
    response: Response,
    request: ControlRequest,
    reply: ControlReply | Promise<ControlReply>,
  ): void {
    if (!(reply instanceof Promise)) {
      this.#deliver(response, request, reply);
      return;
    }
    this.#pending.set(response, undefined);
    reply.then(
      (late) => this.#later(response, request, () => this.#deliver(response, request, late)),
      (error: unknown) =>
        this.#later(response, request, () => this.#fail(response, request.method, error)),
    );
  }

  /** What is written outside of a native callback is corked by hand; a client that left is left alone. */
  #later(response: Response, request: ApiRequest, write: () => void): void {
    this.#settle(response);
    if (response.completed) return;
    response.raw.cork(() => {
      try {
        write();
      } catch (error) {
        this.#fail(response, request.method, error);
      }
    });
  }

  #deliver(response: Response, request: ControlRequest, reply: ControlReply): void {
    if (isEvents(reply)) {
      this.#stream(response, request.method, reply);
    } else if (isContent(reply)) {
      const { status, payload, contentType, headers } = contentOnWire(reply, request);
      this.#put(response, request.method, status, payload, contentType, headers);
    } else if (reply.delivery !== undefined) {
      this.#mistreat(response, request, reply, reply.delivery);
    } else {
      this.#write(response, request.method, reply);
    }
  }

  #write(response: Response, method: string, reply: ApiReply): void {
    this.#put(response, method, reply.status, reply.body, jsonType, reply.headers);
  }

  #put(
    response: Response,
    method: string,
    status: number,
    payload: string | Uint8Array,
    contentType: string,
    headers: ApiReply['headers'],
  ): void {
    this.#settle(response);
    const close = this.#closing !== undefined || (method === 'HEAD' && this.#heads.isLast());
    writeReply(response, method, status, payload, contentType, headers, close);
  }

  /** Answers before the body has arrived; what is still to come has no reader, so the connection ends. */
  #refuse(response: Response, method: string, reply: ApiReply): void {
    this.#settle(response);
    response.raw.onData(() => {});
    writeReply(response, method, reply.status, reply.body, jsonType, reply.headers, true);
  }

  #mistreat(response: Response, request: ApiRequest, reply: ApiReply, delivery: Delivery): void {
    const { delayMs = 0, cut } = delivery;
    const act = (): void => {
      if (cut === undefined) this.#write(response, request.method, reply);
      else this.#cut(response, request.method, reply, cut);
    };
    if (delayMs <= 0 || this.#delayed >= this.#mostDelayed) {
      act();
      return;
    }
    this.#delayed++;
    const timer = setTimeout(() => {
      this.#delayed--;
      this.#later(response, request, act);
    }, delayMs);
    this.#pending.set(response, timer);
  }

  #cut(response: Response, method: string, reply: ApiReply, cut: 'close' | 'truncate'): void {
    this.#settle(response);
    if (cut === 'close' || method === 'HEAD' || reply.body.length < 2) drop(response);
    else truncate(response, reply);
  }

  #stream(response: Response, method: string, reply: EventsReply): void {
    this.#settle(response);
    if (method === 'HEAD' || this.#closing !== undefined) {
      writeEventStreamHead(response, this.#closing !== undefined);
      return;
    }
    const stream = openEventStream(response, (ended) => this.#streams.delete(ended));
    this.#streams.add(stream);
    try {
      stream.start(reply);
    } catch (error) {
      this.#report(error);
      stream.finish();
    }
  }

  #fail(response: Response, method: string, error: unknown): void {
    this.#report(error);
    // A reply that broke while it was written has spoilt its connection.
    if (!response.completed) this.#write(response, method, this.#replies.internalError);
    else closeQuietly(response);
  }

  #report(error: unknown): void {
    try {
      this.#onInternalError?.(error);
    } catch {
      // Whoever is told of errors must not add one: above this is native code, and the process would end.
    }
  }
}

/** Without this a second instance on the same port succeeds, and the kernel splits the calls between them. */
function bindExclusively(server: Server): void {
  const app = server.uws_instance;
  const listen = app.listen.bind(app);
  const exclusive = (host: string, port: number, done: ListenCallback): typeof app =>
    listen(host, port, uWS.LIBUS_LISTEN_EXCLUSIVE_PORT, done);
  // HyperExpress itself offers an exclusive port on 0.0.0.0 alone; this is the one form it calls.
  Object.assign(app, { listen: exclusive });
}

function closeQuietly(response: Response): void {
  try {
    response.raw.close();
  } catch {
    // It was closed already.
  }
}
