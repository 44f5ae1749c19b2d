/**
 * `sim.fetch`: Node's own `fetch`, with this object as its *dispatcher*, which passes each request
 * to the service in this process instead of a socket. So undici, the implementation of Node's
 * `fetch`, handles bodies, redirects, abort signals and errors as usual. A request takes no turn of
 * the event loop, unless a fault delays or truncates its reply: fake timers cannot fire before it.
 */
import { Answers } from '../answers.ts';
import { ArrivingBody } from '../arriving-body.ts';
import { ServedPort } from '../served-port.ts';
import type { ServicePort, TransportOptions } from '../transport.ts';
import { type DispatchHandler, type DispatchOptions, FetchOutlet } from './fetch-outlet.ts';

/** Read when this module loads: a test may replace the global one by `sim.fetch` later. */
const platformFetch = globalThis.fetch;
const loopback = '127.0.0.1';

export class InProcessFetch {
  readonly #port: ServedPort;
  readonly #answers: Answers;
  /** The requests whose reply has not begun. */
  readonly #open = new Set<FetchOutlet>();
  #isClosed = false;

  constructor(serve: ServicePort, options: TransportOptions) {
    this.#port = new ServedPort(serve, options);
    this.#answers = new Answers(this.#port);
  }

  /** `baseUrl`: what a relative URL is relative to. The origin of an absolute URL is ignored. */
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

  /** Called by undici, once for each request and each redirect that it follows. */
  dispatch(options: DispatchOptions, handler: DispatchHandler): boolean {
    const request = requestOf(options);
    const outlet = new FetchOutlet(request, handler, this.#port, this.#open);
    if (this.#isClosed) outlet.fail(connectionRefused());
    else void this.#perform(options.body, request, outlet);
    return true;
  }

  /** Refuses further requests, and ends the open ones without a reply. */
  close(): void {
    this.#isClosed = true;
    for (const outlet of this.#open) outlet.leave();
  }

  async #perform(
    pieces: DispatchOptions['body'],
    request: ReturnType<typeof requestOf>,
    outlet: FetchOutlet,
  ): Promise<void> {
    const body = new ArrivingBody(this.#port.intake, this.#port.room);
    outlet.onLeft(() => body.release());
    try {
      outlet.start();
      await collect(pieces, (piece) => {
        this.#answers.take(outlet, body, piece);
        return !outlet.isAnswered;
      });
      this.#answers.arrived(outlet, request, body);
    } catch (error) {
      outlet.fail(error as Error);
    } finally {
      body.release();
    }
  }
}

function requestOf({ method, path: target, headers }: DispatchOptions) {
  const allHeaders = new Headers(headers);
  const header = (name: string) => allHeaders.get(name) ?? undefined;
  const mark = target.indexOf('?');
  return {
    method,
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? '' : target.slice(mark + 1),
    authorization: header('authorization'),
    contentType: header('content-type'),
    contentEncoding: header('content-encoding'),
    clientIp: loopback,
    forwardedFor: header('x-forwarded-for'),
    headers: Object.fromEntries(allHeaders),
    body: '' as string | Uint8Array,
  };
}

/** Reads the body to its end, or until `take` returns false. */
async function collect(
  pieces: DispatchOptions['body'],
  take: (piece: Uint8Array) => boolean,
): Promise<void> {
  const iterator = pieces?.[Symbol.asyncIterator]();
  for (let next = await iterator?.next(); next?.done === false; next = await iterator?.next()) {
    const { value } = next;
    if (take(typeof value === 'string' ? Buffer.from(value) : value)) continue;
    // `for await` would wait for this, but the caller's stream may never end.
    iterator?.return?.().catch(() => {});
    return;
  }
}

function urlOf(input: string | URL, baseUrl: string): string | URL {
  return typeof input === 'string' && URL.canParse(input, baseUrl)
    ? new URL(input, baseUrl)
    : input;
}

function connectionRefused(): Error {
  const error = new Error('connect ECONNREFUSED: the simulator is closed');
  return Object.assign(error, { code: 'ECONNREFUSED', syscall: 'connect' });
}
