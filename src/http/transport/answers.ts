/**
 * Decides how each request of a port is answered, over any transport: now or later, whole or cut by
 * a fault, or as a stream of events. A transport only writes: it gives an `Outlet` for each
 * request. No public method may throw, because native code calls them and the process would end.
 *
 * Requests that arrive in one turn of the event loop are handled at once, what records them is
 * written by one call for each journal, and then the replies leave, in order of arrival. Replies
 * that leave together cost a third less than replies that leave one by one.
 */
// Not the global one, which a test may fake: a turn of the event loop is real.
import { setImmediate } from 'node:timers';
import type { ApiReply, ApiRequest, Delivery, PendingWrite } from '#contract/request-and-reply.ts';
import type { ArrivingBody } from './arriving-body.ts';
import type { EventStream } from './event-stream.ts';
import type { Outlet, WrittenReply } from './outlet.ts';
import { PendingReplies } from './pending-replies.ts';
import type { ServedPort } from './served-port.ts';
import type { ContentReply, ControlReply, ControlRequest, EventsReply } from './transport.ts';

/** A reply that leaves at the end of its turn. */
interface HeldReply {
  readonly outlet: Outlet;
  readonly reply: ApiReply;
  /** The connection ends after it. */
  readonly ends: boolean;
  /** The write that it waits for; undefined if it waits only for the end of the turn. */
  readonly write: PendingWrite | undefined;
}

/** A turn ends early once its requests and their replies have this many characters. */
const mostHeldCharacters = 65_536;

export class Answers {
  readonly #port: ServedPort;
  /** A transport adds a request whose body has to arrive; replies that wait are added here. */
  readonly pending: PendingReplies;
  readonly #streams = new Set<EventStream>();
  #held: HeldReply[] = [];
  #heldCharacters = 0;
  /** The write that the request which is handled now waits for. */
  #awaited: PendingWrite | undefined;
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

  /** True if requests are not answered yet. */
  get isBusy(): boolean {
    return this.#held.length > 0 || this.pending.hasAny;
  }

  serve(outlet: Outlet, request: ApiRequest): void {
    const { serve } = this.#port;
    try {
      if ('service' in serve) {
        if (outlet.hold === undefined) this.#deliver(outlet, serve.service(request));
        else this.#hold(outlet, serve.service(request, this.#awaits), this.#isClosing);
      } else {
        // Node's server always serves the control port, and its requests have all headers.
        const controlRequest = request as ControlRequest;
        this.#deliverControl(outlet, controlRequest, serve.control(controlRequest));
      }
    } catch (error) {
      this.fail(outlet, error);
    }
  }

  /** Takes a piece of a body, or refuses the request. */
  take(outlet: Outlet, body: ArrivingBody, piece: Uint8Array): void {
    if (outlet.isAnswered) return;
    const refusal = body.take(piece);
    if (refusal === 'no_room') this.refuse(outlet, this.#port.reply('busy'));
    else if (refusal === 'too_long') this.refuse(outlet, this.#port.tooLong(body.intake));
  }

  /** Serves a request whose body has arrived. */
  arrived(outlet: Outlet, request: ApiRequest & { body: Uint8Array | string }, body: ArrivingBody) {
    if (outlet.isAnswered) return;
    if (body.isTooLong) {
      this.decline(outlet, this.#port.tooLong(body.intake));
      return;
    }
    request.body = body.bytes;
    body.release();
    this.serve(outlet, request);
  }

  /** Answers a request of the control port, now or once the handler has a reply. */
  #deliverControl(
    outlet: Outlet,
    request: ControlRequest,
    reply: ControlReply | Promise<ControlReply>,
  ): void {
    if (!(reply instanceof Promise)) {
      this.#deliverControlNow(outlet, request, reply);
      return;
    }
    reply.then(
      (lateReply) => this.#later(outlet, () => this.#deliverControlNow(outlet, request, lateReply)),
      (error: unknown) => this.#later(outlet, () => this.fail(outlet, error)),
    );
  }

  #deliverControlNow(outlet: Outlet, request: ControlRequest, reply: ControlReply): void {
    if ('open' in reply) {
      this.#stream(outlet, reply);
    } else if ('content' in reply) {
      outlet.write(contentOnWire(reply, request), this.#isClosing);
    } else {
      this.#deliver(outlet, reply);
    }
  }

  readonly #awaits = (write: PendingWrite): void => {
    this.#awaited = write;
  };

  #hold(outlet: Outlet, reply: ApiReply, ends: boolean): void {
    this.#heldCharacters += outlet.hold?.(reply, ends) ?? 0;
    // The check phase follows all sockets that had bytes. Node runs ticks and microtasks after each
    // of these sockets, so they would end the turn too early.
    if (this.#held.length === 0) setImmediate(this.endTurn);
    this.#held.push({ outlet, reply, ends, write: this.#awaited });
    this.#awaited = undefined;
    if (this.#heldCharacters >= mostHeldCharacters) this.endTurn();
  }

  /** Writes what the requests of this turn wait for, and answers them. */
  readonly endTurn = (): void => {
    const replies = this.#held;
    this.#held = [];
    this.#heldCharacters = 0;
    // Every journal is written before the first reply leaves. `#endHold` calls `write` again, which
    // then only returns why it failed.
    for (const { write } of replies) write?.();
    for (const held of replies) this.#endHold(held);
  };

  #endHold({ outlet, reply, ends, write }: HeldReply): void {
    const { delivery } = reply;
    const failure = write?.();
    try {
      if (outlet.isDone) {
        // The client has left.
        if (delivery !== undefined) this.#port.replyFinished(delivery, 'client left');
      } else if (failure !== undefined) {
        this.#port.report(failure);
        this.decline(outlet, this.#port.reply('internalError'), ends);
      } else this.#deliver(outlet, reply, ends);
    } catch (error) {
      this.fail(outlet, error);
    }
  }

  #deliver(outlet: Outlet, reply: ApiReply, ends = this.#isClosing): void {
    if (reply.delivery === undefined) this.#write(outlet, reply, ends);
    else this.#deliverFaulty(outlet, reply, reply.delivery);
  }

  #write(outlet: Outlet, reply: ApiReply, ends: boolean): void {
    // A transport may write the last reply of a connection later than now.
    if (ends) this.pending.add(outlet);
    outlet.write(reply, ends);
  }

  /** Answers in place of the handler, once the body has arrived. */
  decline(outlet: Outlet, reply: ApiReply, ends = this.#isClosing): void {
    this.#port.reportOwnReply(outlet.path, reply);
    // It must not overtake earlier replies on its connection, which may be held.
    if (this.#held.length > 0 && outlet.hold !== undefined) this.#hold(outlet, reply, ends);
    else this.#write(outlet, reply, ends);
  }

  /** Answers before the body has arrived. The rest of it is not read: the connection ends. */
  refuse(outlet: Outlet, reply: ApiReply): void {
    this.decline(outlet, reply, true);
  }

  /** Reports an exception of the handler, and answers 500. */
  fail(outlet: Outlet, error: unknown): void {
    this.#port.report(error);
    // After half a reply the connection is unusable.
    if (outlet.isAnswered) outlet.drop();
    else this.decline(outlet, this.#port.reply('internalError'));
  }

  #later(outlet: Outlet, write: () => void): void {
    outlet.corked(() => {
      try {
        write();
      } catch (error) {
        this.fail(outlet, error);
      }
    });
  }

  /** Delays and cuts a reply as an injected fault says. */
  #deliverFaulty(outlet: Outlet, reply: ApiReply, delivery: Delivery): void {
    const { delayMs = 0, cut } = delivery;
    if (cut === 'hang') {
      // A reply that never comes is not waited for when the server closes.
      this.pending.forget(outlet);
      outlet.onLeft(() => this.#port.replyFinished(delivery, 'client left'));
      return;
    }
    const deliver = (): void => {
      if (delayMs > 0) this.#port.replyFinished(delivery, 'sent');
      this.#cut(outlet, reply, cut);
    };
    const isDelayed =
      delayMs > 0 && this.pending.delay(outlet, delayMs, () => this.#later(outlet, deliver));
    if (!isDelayed) {
      deliver();
      return;
    }
    outlet.onLeft(() => {
      this.pending.forget(outlet);
      this.#port.replyFinished(delivery, 'client left');
    });
  }

  #cut(outlet: Outlet, reply: ApiReply, cut: Exclude<Delivery['cut'], 'hang'>): void {
    if (cut === undefined) this.#write(outlet, reply, this.#isClosing);
    else if (cut === 'reset') outlet.reset();
    else if (cut === 'close' || outlet.method === 'HEAD' || reply.body.length < 2) outlet.drop();
    else {
      cut satisfies 'truncate';
      outlet.truncate(reply);
    }
  }

  #stream(outlet: Outlet, reply: EventsReply): void {
    const onEnded = (ended: EventStream) => this.#streams.delete(ended);
    const stream = outlet.openStream?.(this.#isClosing, onEnded);
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

/** The reply to send: a 304 if `If-None-Match` names its `etag`. */
function contentOnWire(
  { content: body, etag, ...reply }: ContentReply,
  request: ControlRequest,
): WrittenReply {
  if (etag === undefined) return { ...reply, body };
  // `no-cache` lets a browser keep the file and makes it ask each time.
  const headers = { 'cache-control': 'no-cache', ...reply.headers, etag };
  const knownTags = request.headers['if-none-match']?.split(',') ?? [];
  const isKnown = knownTags.some((tag) => tag.trim() === etag);
  return { ...reply, body, ...(isKnown && { status: 304, body: '' }), headers };
}
