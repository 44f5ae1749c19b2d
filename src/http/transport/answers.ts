/**
 * Decides how each request of a port is answered, over any transport: now or later, whole or
 * cut by a fault, or as a stream of events. A transport only writes, by an Outlet per request.
 * Nothing may throw, because native code calls it and the process would end.
 */
import type { ApiReply, ApiRequest, Delivery } from '../service/messages.ts';
import type { ArrivingBody } from './arriving-body.ts';
import type { EventStream } from './event-stream.ts';
import type { ServedPort } from './served-port.ts';
import type { ControlReply, ControlRequest, EventsReply } from './transport.ts';
import { contentOnWire, isContent, isEvents, jsonType } from './transport-replies.ts';

/** The place of one reply on its connection. */
export interface Outlet {
  readonly method: string;
  readonly path: string;
  /** True once a reply was given to it, or its client has left. */
  readonly isAnswered: boolean;
  /** True once the transport has written the reply, or its client has left. */
  readonly isDone: boolean;
  /** Writes a whole reply. `ends`: the connection serves nothing after it. */
  write(
    status: number,
    payload: string | Uint8Array,
    contentType: string,
    headers: ApiReply['headers'],
    ends: boolean,
  ): void;
  /** Announces the whole body, sends half of it, and ends the connection. */
  truncate(reply: ApiReply): void;
  /** Ends the connection without a byte. */
  drop(): void;
  /** Resets the connection; where the transport cannot, it ends it. */
  reset(): void;
  /** Writes the head of a stream of events; undefined if it has no more than a head. */
  openStream(ends: boolean, ended: (stream: EventStream) => void): EventStream | undefined;
  /** Runs `act`, which writes, outside the callback of the request; not if the client has left. */
  later(act: () => void): void;
  /** Calls `act` if the client leaves before its reply. */
  onLeft(act: () => void): void;
}

export class Answers {
  readonly #port: ServedPort;
  readonly pending: PendingReplies<Outlet>;
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

  /** Serves a whole request. */
  serve(outlet: Outlet, request: ApiRequest): void {
    const { serve } = this.#port;
    try {
      if ('service' in serve) this.#deliver(outlet, serve.service(request));
      else {
        // The control port is Node's, which reads all headers.
        const whole = request as ControlRequest;
        this.#give(outlet, whole, serve.control(whole));
      }
    } catch (error) {
      this.fail(outlet, error);
    }
  }

  /** Takes a piece of a body, or refuses it. */
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

  #give(
    outlet: Outlet,
    request: ControlRequest,
    reply: ControlReply | Promise<ControlReply>,
  ): void {
    if (!(reply instanceof Promise)) {
      this.#giveNow(outlet, request, reply);
      return;
    }
    reply.then(
      (late) => this.#later(outlet, () => this.#giveNow(outlet, request, late)),
      (error: unknown) => this.#later(outlet, () => this.fail(outlet, error)),
    );
  }

  #giveNow(outlet: Outlet, request: ControlRequest, reply: ControlReply): void {
    if (isEvents(reply)) {
      this.#stream(outlet, reply);
    } else if (isContent(reply)) {
      const { status, content, contentType, headers } = contentOnWire(reply, request);
      outlet.write(status, content, contentType, headers, this.#isClosing);
    } else {
      this.#deliver(outlet, reply);
    }
  }

  #deliver(outlet: Outlet, reply: ApiReply): void {
    if (reply.delivery === undefined) this.#write(outlet, reply, this.#isClosing);
    else this.#mistreat(outlet, reply, reply.delivery);
  }

  #write(outlet: Outlet, { status, body, headers }: ApiReply, ends: boolean): void {
    // It may be written later than now.
    if (ends) this.pending.add(outlet);
    outlet.write(status, body, jsonType, headers, ends);
  }

  /** Answers in place of the service, once the body has arrived. */
  decline(outlet: Outlet, reply: ApiReply, ends = this.#isClosing): void {
    this.#port.answersItself(outlet.path, reply);
    this.#write(outlet, reply, ends);
  }

  /**
   * Answers before the body has arrived. The rest of the body is not read, so the connection ends.
   */
  refuse(outlet: Outlet, reply: ApiReply): void {
    this.decline(outlet, reply, true);
  }

  fail(outlet: Outlet, error: unknown): void {
    this.#port.report(error);
    // After half a reply the connection is unusable.
    if (outlet.isAnswered) outlet.drop();
    else this.decline(outlet, this.#port.reply('internalError'));
  }

  #later(outlet: Outlet, write: () => void): void {
    outlet.later(() => {
      try {
        write();
      } catch (error) {
        this.fail(outlet, error);
      }
    });
  }

  #mistreat(outlet: Outlet, reply: ApiReply, delivery: Delivery): void {
    const { delayMs = 0, cut } = delivery;
    if (cut === 'hang') {
      // Closing the server does not wait for it.
      this.pending.forget(outlet);
      outlet.onLeft(() => this.#port.left(delivery, false));
      return;
    }
    const act = (): void => {
      if (delayMs > 0) this.#port.left(delivery, true);
      this.#cut(outlet, reply, cut);
    };
    const isDelayed =
      delayMs > 0 && this.pending.delay(outlet, delayMs, () => this.#later(outlet, act));
    if (!isDelayed) {
      act();
      return;
    }
    outlet.onLeft(() => {
      this.pending.forget(outlet);
      this.#port.left(delivery, false);
    });
  }

  #cut(outlet: Outlet, reply: ApiReply, cut: Exclude<Delivery['cut'], 'hang'>): void {
    if (cut === undefined) this.#write(outlet, reply, this.#isClosing);
    else if (cut === 'reset') outlet.reset();
    else if (cut === 'close' || outlet.method === 'HEAD' || reply.body.length < 2) outlet.drop();
    else outlet.truncate(reply);
  }

  #stream(outlet: Outlet, reply: EventsReply): void {
    const stream = outlet.openStream(this.#isClosing, (ended) => this.#streams.delete(ended));
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

/**
 * The requests of a server whose replies are not written yet: they wait for their body, an injected
 * delay, or the control handler. `close()` waits for them. Bound: the connections; see
 * docs/bounds.md.
 */
const firstSweepAt = 4_096;

class PendingReplies<Reply extends { readonly isDone: boolean }> {
  /** Each with the timer of a delayed reply. */
  readonly #waiting = new Map<Reply, NodeJS.Timeout | undefined>();
  /** The latest request. It is nearly always answered next, which spares the map. */
  #latest: Reply | undefined;
  #sweepAt = firstSweepAt;
  #delayed = 0;
  readonly #mostDelayed: number;

  constructor(mostDelayed: number) {
    this.#mostDelayed = mostDelayed;
  }

  get hasAny(): boolean {
    this.#sweep();
    return this.#waiting.size > 0 || this.#latest !== undefined;
  }

  add(reply: Reply): void {
    const former = this.#latest;
    this.#latest = reply;
    if (former === undefined || former.isDone || former === reply) return;
    if (!this.#waiting.has(former)) this.#waiting.set(former, undefined);
    if (this.#waiting.size > this.#sweepAt) this.#sweep();
  }

  /** False if too many replies are delayed; `act` then never runs. */
  delay(reply: Reply, delayMs: number, act: () => void): boolean {
    if (this.#delayed >= this.#mostDelayed) return false;
    this.#delayed++;
    const timer = setTimeout(() => {
      this.#delayed--;
      this.#waiting.set(reply, undefined);
      act();
    }, delayMs);
    this.#waiting.set(reply, timer);
    return true;
  }

  forget(reply: Reply): void {
    if (this.#latest === reply) this.#latest = undefined;
    const timer = this.#waiting.get(reply);
    if (timer !== undefined) this.#delayed--;
    clearTimeout(timer);
    this.#waiting.delete(reply);
  }

  clear(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.#latest = undefined;
  }

  /** Forgets the requests that were answered, or whose clients have left. */
  #sweep(): void {
    if (this.#latest?.isDone) this.#latest = undefined;
    for (const reply of this.#waiting.keys()) if (reply.isDone) this.forget(reply);
    this.#sweepAt = Math.max(firstSweepAt, 2 * this.#waiting.size);
  }
}
