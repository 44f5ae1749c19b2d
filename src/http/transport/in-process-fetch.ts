/**
 * `sim.fetch`: Node's own `fetch` with a dispatcher that hands each request to the service in this
 * process. Bodies, redirects, abort signals and errors are thereby undici's, as over a socket.
 * A request takes no turn of the event loop unless a fault delays or truncates its reply, so fake
 * timers cannot pass it. The origin of a URL is ignored.
 */
// Not the global one: a fake would hold back a truncated reply until the test moves time.
import { setImmediate } from 'node:timers';
import type { ApiReply, ApiRequest, Delivery } from '../service/messages.ts';
import { ArrivingBody } from './arriving-body.ts';
import { ServedPort } from './served-port.ts';
import { statusTexts } from './status-texts.ts';
import type { ServiceHandler, TransportOptions } from './transport.ts';
import { jsonType } from './transport-replies.ts';
import { type DispatchHandler, type DispatchOptions, Receiver } from './undici-handler.ts';

/** Read once: a test may put `sim.fetch` in its place. */
const platformFetch = globalThis.fetch;
const loopback = '127.0.0.1';

export class InProcessFetch {
  readonly #port: ServedPort;
  readonly #handle: (request: ApiRequest) => ApiReply;
  /** Replies that a fault holds back, each with what ends that. */
  readonly #delayed = new Map<Receiver, () => void>();
  #isClosed = false;

  constructor(serve: ServiceHandler, options: TransportOptions) {
    this.#port = new ServedPort(serve, options);
    this.#handle = serve.service;
  }

  /** A relative URL is resolved against `baseUrl`. */
  async fetch(
    input: Parameters<typeof globalThis.fetch>[0],
    init: RequestInit | undefined,
    baseUrl: string,
  ): Promise<Response> {
    const target = input instanceof Request ? input : urlOf(input, baseUrl);
    const options = { dispatcher: this } as unknown as RequestInit;
    return init instanceof Request
      ? platformFetch(new Request(target, init), options)
      : platformFetch(target, { ...init, ...options });
  }

  /** Called by `fetch`, once for each request and each redirect that it follows. */
  dispatch(options: DispatchOptions, handler: DispatchHandler): boolean {
    const receiver = new Receiver(handler);
    if (this.#isClosed) receiver.fail(connectionRefused());
    else void this.#perform(options, receiver);
    return true;
  }

  /** Refuses further requests, and ends those that a fault delays without a reply. */
  close(): void {
    this.#isClosed = true;
    for (const [receiver, stop] of this.#delayed) {
      stop();
      receiver.fail(new SocketError());
    }
    this.#delayed.clear();
  }

  async #perform(options: DispatchOptions, receiver: Receiver): Promise<void> {
    const body = new ArrivingBody(this.#port.intake, this.#port.room);
    try {
      receiver.start(() => {
        body.release();
        this.#delayed.get(receiver)?.();
        this.#delayed.delete(receiver);
      });
      const refusal = await collect(options.body, body);
      if (receiver.isOver) return;
      const reply =
        refusal === undefined
          ? this.#answer(options, body.bytes)
          : this.#answerItself(options, refusal);
      this.#deliver(options.method, reply, receiver);
    } catch (error) {
      receiver.fail(error as Error);
    } finally {
      body.release();
    }
  }

  #answerItself({ path }: DispatchOptions, reply: ApiReply): ApiReply {
    this.#port.answersItself(path.replace(/\?.*/, ''), reply);
    return reply;
  }

  #answer(options: DispatchOptions, body: Uint8Array): ApiReply {
    const { method, path: target, headers } = options;
    const named = new Headers(headers);
    const header = (name: string) => named.get(name) ?? undefined;
    const mark = target.indexOf('?');
    try {
      return this.#handle({
        method,
        path: mark < 0 ? target : target.slice(0, mark),
        query: mark < 0 ? '' : target.slice(mark + 1),
        authorization: header('authorization'),
        contentType: header('content-type'),
        contentEncoding: header('content-encoding'),
        clientIp: loopback,
        forwardedFor: header('x-forwarded-for'),
        body,
      });
    } catch (error) {
      this.#port.report(error);
      return this.#answerItself(options, this.#port.replies.internalError);
    }
  }

  #deliver(method: string, reply: ApiReply, receiver: Receiver): void {
    const { delayMs = 0, cut }: Delivery = reply.delivery ?? {};
    if (cut === 'hang' && this.#delayed.size < this.#port.mostDelayed) {
      this.#delayed.set(receiver, () => this.#port.left(reply.delivery, false));
      return;
    }
    if (delayMs <= 0 || this.#delayed.size >= this.#port.mostDelayed) {
      if (delayMs > 0) this.#port.left(reply.delivery, true);
      this.#write(method, reply, cut, receiver);
      return;
    }
    // The client's own timers, fake ones included: its time-outs and the delay keep their order.
    const { setTimeout, clearTimeout } = globalThis;
    const timer = setTimeout(() => {
      this.#delayed.delete(receiver);
      this.#port.left(reply.delivery, true);
      this.#write(method, reply, cut, receiver);
    }, delayMs);
    this.#delayed.set(receiver, () => {
      clearTimeout(timer);
      this.#port.left(reply.delivery, false);
    });
  }

  #write(method: string, reply: ApiReply, cut: Delivery['cut'], receiver: Receiver): void {
    const { status, headers } = reply;
    const bytes = Buffer.from(reply.body);
    const hasBody = method !== 'HEAD';
    if (cut === 'reset') {
      receiver.fail(connectionReset());
      return;
    }
    if (
      cut === 'close' ||
      cut === 'hang' ||
      (cut === 'truncate' && (!hasBody || bytes.length < 2))
    ) {
      receiver.fail(new SocketError());
      return;
    }
    const isBodiless = status === 204 || status === 304;
    receiver.head(status, statusTexts[status] ?? 'Unknown', {
      date: new Date(this.#port.now?.() ?? Date.now()).toUTCString(),
      ...(!isBodiless && { 'content-type': jsonType, 'content-length': String(bytes.length) }),
      ...headers,
    });
    if (cut === 'truncate') {
      receiver.data(bytes.subarray(0, bytes.length >> 1));
      // After `fetch` has resolved with the head.
      setImmediate(() => receiver.fail(new SocketError()));
      return;
    }
    if (hasBody && !isBodiless) receiver.data(bytes);
    receiver.end();
  }
}

/** Reads the body to its end; or, if it is too long, returns the refusal and stops reading. */
async function collect(
  pieces: DispatchOptions['body'],
  body: ArrivingBody,
): Promise<ApiReply | undefined> {
  const iterator = pieces?.[Symbol.asyncIterator]();
  for (let next = await iterator?.next(); next?.done === false; next = await iterator?.next()) {
    const { value } = next;
    const refusal = body.take(typeof value === 'string' ? Buffer.from(value) : value);
    if (refusal === undefined) continue;
    // Not awaited, as `for await` would do: the caller's stream may never end.
    iterator?.return?.().catch(() => {});
    return refusal;
  }
  return body.isTooLong ? body.intake.over : undefined;
}

function urlOf(input: string | URL, baseUrl: string): string | URL {
  return typeof input === 'string' && URL.canParse(input, baseUrl)
    ? new URL(input, baseUrl)
    : input;
}

/** What undici reports when a server closes the connection before the end of its reply. */
class SocketError extends Error {
  override readonly name = 'SocketError';
  readonly code = 'UND_ERR_SOCKET';
  readonly socket = null;
  constructor() {
    super('other side closed');
  }
}

/** What undici reports when a connection is reset. */
function connectionReset(): Error {
  const error = new Error('read ECONNRESET');
  return Object.assign(error, { code: 'ECONNRESET', syscall: 'read', errno: -104 });
}

function connectionRefused(): Error {
  const error = new Error('connect ECONNREFUSED: the simulator is closed');
  return Object.assign(error, { code: 'ECONNREFUSED', syscall: 'connect' });
}
