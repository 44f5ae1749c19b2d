/**
 * Sends the handler's answer on a native response: now or delayed, whole or truncated by a fault,
 * or as a stream of events. Everything runs corked: inside a native callback, or inside `cork`.
 * Nothing may throw, because native code calls it and the process would end.
 */
import type { ApiReply, Delivery } from '../service/messages.ts';
import type { EventStream } from './event-stream.ts';
import type { ServedPort } from './served-port.ts';
import type { ControlReply, EventsReply } from './transport.ts';
import { contentOnWire, isContent, isEvents, jsonType } from './transport-replies.ts';
import { PendingReplies } from './uws-pending.ts';
import {
  closeQuietly,
  drop,
  HeadCount,
  openEventStream,
  truncate,
  writeEventStreamHead,
  writeReply,
} from './uws-reply.ts';
import type { UwsRequest } from './uws-request.ts';

export class UwsAnswers {
  readonly #port: ServedPort;
  readonly pending: PendingReplies;
  readonly #heads = new HeadCount();
  readonly #streams = new Set<EventStream>();
  #isClosing = false;

  constructor(port: ServedPort) {
    this.#port = port;
    this.pending = new PendingReplies(port.mostDelayed);
  }

  /** Makes each further reply end its connection. */
  startClosing(): void {
    this.#isClosing = true;
    for (const stream of this.#streams) stream.finish();
  }

  give(request: UwsRequest, reply: ControlReply | Promise<ControlReply>): void {
    if (!(reply instanceof Promise)) {
      this.deliver(request, reply);
      return;
    }
    this.pending.awaitHandler(request.response);
    reply.then(
      (late) => this.#later(request, () => this.deliver(request, late)),
      (error: unknown) => this.#later(request, () => this.fail(request, error)),
    );
  }

  /** Answers in place of the service, once the body has arrived. */
  decline(request: UwsRequest, reply: ApiReply): void {
    this.#port.answersItself(request.path, reply);
    this.#write(request, reply);
  }

  #write(request: UwsRequest, reply: ApiReply): void {
    this.#put(request, reply.status, reply.body, jsonType, reply.headers);
  }

  /**
   * Answers before the body has arrived. The rest of the body is not read, so the connection ends.
   */
  refuse(request: UwsRequest, reply: ApiReply): void {
    this.#port.answersItself(request.path, reply);
    this.pending.settle(request.response);
    request.response.raw.onData(() => {});
    writeReply(request, reply.status, reply.body, jsonType, reply.headers, true);
  }

  fail(request: UwsRequest, error: unknown): void {
    this.#port.report(error);
    // After half a reply the connection is unusable.
    if (request.response.completed) closeQuietly(request.response);
    else this.decline(request, this.#port.replies.internalError);
  }

  /**
   * Runs outside a native callback, so it corks explicitly. Does nothing if the client has left.
   */
  #later(request: UwsRequest, write: () => void): void {
    this.pending.settle(request.response);
    if (request.response.completed) return;
    request.response.raw.cork(() => {
      try {
        write();
      } catch (error) {
        this.fail(request, error);
      }
    });
  }

  deliver(request: UwsRequest, reply: ControlReply): void {
    if (isEvents(reply)) {
      this.#stream(request, reply);
    } else if (isContent(reply)) {
      const { status, payload, contentType, headers } = contentOnWire(reply, request);
      this.#put(request, status, payload, contentType, headers);
    } else if (reply.delivery !== undefined) {
      this.#mistreat(request, reply, reply.delivery);
    } else {
      this.#write(request, reply);
    }
  }

  #put(
    request: UwsRequest,
    status: number,
    payload: string | Uint8Array,
    contentType: string,
    headers: ApiReply['headers'],
  ): void {
    this.pending.settle(request.response);
    const close = this.#isClosing || (request.method === 'HEAD' && this.#heads.isLast());
    writeReply(request, status, payload, contentType, headers, close);
  }

  #mistreat(request: UwsRequest, reply: ApiReply, delivery: Delivery): void {
    const { delayMs = 0, cut } = delivery;
    if (cut === 'hang') {
      // Closing the server does not wait for it.
      this.pending.settle(request.response);
      this.#watchLeaving(request, delivery);
      return;
    }
    const act = (): void => {
      if (cut === undefined) this.#write(request, reply);
      else this.#cut(request, reply, cut);
    };
    if (delayMs <= 0) act();
    else this.#delay(request, delivery, delayMs, act);
  }

  #delay(request: UwsRequest, delivery: Delivery, delayMs: number, act: () => void): void {
    const { response } = request;
    const isDelayed = this.pending.delay(response, delayMs, () => {
      if (!response.completed) this.#port.left(delivery, true);
      this.#later(request, act);
    });
    if (!isDelayed) {
      this.#port.left(delivery, true);
      act();
      return;
    }
    this.#watchLeaving(request, delivery);
  }

  #watchLeaving({ response }: UwsRequest, delivery: Delivery): void {
    // Replaces HyperExpress' own handler, which does not report the end.
    response.raw.onAborted(() => {
      response.completed = true;
      this.#port.left(delivery, false);
    });
  }

  /** The native response has no way to reset its connection: `reset` closes it. */
  #cut(request: UwsRequest, reply: ApiReply, cut: 'close' | 'truncate' | 'reset'): void {
    this.pending.settle(request.response);
    if (cut !== 'truncate' || request.method === 'HEAD' || reply.body.length < 2) {
      drop(request.response);
    } else truncate(request.response, reply);
  }

  #stream({ method, response }: UwsRequest, reply: EventsReply): void {
    this.pending.settle(response);
    if (method === 'HEAD' || this.#isClosing) {
      writeEventStreamHead(response, this.#isClosing);
      return;
    }
    const stream = openEventStream(response, (ended) => this.#streams.delete(ended));
    this.#streams.add(stream);
    try {
      stream.start(reply);
    } catch (error) {
      this.#port.report(error);
      stream.finish();
    }
  }
}
