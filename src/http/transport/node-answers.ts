/**
 * Sends the handler's answer on a response of Node's HTTP server: now or delayed, whole or
 * truncated by a fault, or as a stream of events. The counterpart of `uws-answers.ts`.
 */
import type { ServerResponse } from 'node:http';
import type { ApiReply, Delivery } from '../service/messages.ts';
import type { EventStream } from './event-stream.ts';
import { cutShort, type HeadLines, openEventStream, writeReply } from './node-reply.ts';
import type { ServedPort } from './served-port.ts';
import type { ControlReply, ControlRequest, EventsReply } from './transport.ts';
import { contentOnWire, isContent, isEvents, jsonType } from './transport-replies.ts';

export class NodeAnswers {
  readonly #port: ServedPort;
  readonly #lines: HeadLines;
  /** Every request whose reply is incomplete, with the timer of a delayed reply. */
  readonly #pending = new Map<ServerResponse, NodeJS.Timeout | undefined>();
  #delayed = 0;
  readonly #streams = new Set<EventStream>();
  #isClosing = false;

  constructor(port: ServedPort, lines: HeadLines) {
    this.#port = port;
    this.#lines = lines;
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
  }

  await(response: ServerResponse): void {
    this.#pending.set(response, undefined);
    response.once('close', () => {
      this.#clearDelay(response);
      this.#pending.delete(response);
    });
  }

  /** Makes each further reply end its connection. */
  startClosing(): void {
    this.#isClosing = true;
    for (const stream of this.#streams) stream.finish();
  }

  clearDelays(): void {
    for (const timer of this.#pending.values()) clearTimeout(timer);
  }

  give(
    response: ServerResponse,
    request: ControlRequest,
    reply: ControlReply | Promise<ControlReply>,
  ): void {
    if (!(reply instanceof Promise)) {
      this.#deliver(response, request, reply);
      return;
    }
    reply
      .then((late) => {
        if (!response.destroyed) this.#deliver(response, request, late);
      })
      .catch((error: unknown) => this.fail(response, error));
  }

  /** Answers in place of the service, once the body has arrived. */
  decline(response: ServerResponse, reply: ApiReply): void {
    this.#port.answersItself(response.req.url?.split('?')[0] ?? '', reply);
    this.#write(response, reply);
  }

  #write(response: ServerResponse, reply: ApiReply): void {
    this.#put(response, reply.status, reply.body, jsonType, reply.headers);
  }

  /**
   * Answers before the body has arrived. The rest of the body is not read, so the connection ends.
   */
  refuse(response: ServerResponse, reply: ApiReply): void {
    response.shouldKeepAlive = false;
    this.decline(response, reply);
  }

  fail(response: ServerResponse, error: unknown): void {
    this.#port.report(error);
    if (response.headersSent) response.destroy();
    else if (!response.destroyed) this.decline(response, this.#port.replies.internalError);
  }

  #deliver(response: ServerResponse, request: ControlRequest, reply: ControlReply): void {
    if (isEvents(reply)) {
      this.#stream(response, reply);
    } else if (isContent(reply)) {
      const { status, payload, contentType, headers } = contentOnWire(reply, request);
      this.#put(response, status, payload, contentType, headers);
    } else if (reply.delivery !== undefined) {
      this.#mistreat(response, reply, reply.delivery);
    } else {
      this.#write(response, reply);
    }
  }

  #put(
    response: ServerResponse,
    status: number,
    payload: string | Uint8Array,
    contentType: string,
    headers: ApiReply['headers'],
  ): void {
    if (this.#isClosing) response.shouldKeepAlive = false;
    this.#lines.set(response);
    writeReply(response, status, payload, contentType, headers);
  }

  #mistreat(response: ServerResponse, reply: ApiReply, delivery: Delivery): void {
    const { delayMs = 0, cut } = delivery;
    if (cut === 'hang') {
      // Closing the server does not wait for it.
      this.#pending.delete(response);
      response.once('close', () => this.#port.left(delivery, false));
      return;
    }
    const act = (): void => {
      this.#clearDelay(response);
      if (response.destroyed) return;
      if (delayMs > 0) this.#port.left(delivery, true);
      if (cut === undefined) {
        this.#write(response, reply);
        return;
      }
      this.#lines.set(response);
      cutShort(response, reply, cut);
    };
    if (delayMs <= 0 || this.#delayed >= this.#port.mostDelayed) act();
    else {
      this.#delayed++;
      this.#pending.set(response, setTimeout(act, delayMs));
      response.once('close', () => {
        if (!response.headersSent) this.#port.left(delivery, false);
      });
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
    if (this.#isClosing) response.shouldKeepAlive = false;
    this.#lines.set(response);
    const isHeadOnly = this.#isClosing || response.req.method === 'HEAD';
    const stream = openEventStream(response, isHeadOnly, (ended) => this.#streams.delete(ended));
    if (stream === undefined) return;
    this.#streams.add(stream);
    try {
      stream.start(reply);
    } catch (error) {
      this.#port.report(error);
      stream.finish();
    }
  }
}
