/**
 * The outlet of a reply that a caller of `sim.fetch` waits for. It passes the reply to undici, the
 * implementation of Node's `fetch`, which takes it through one of two interfaces: that of Node 20
 * to 24 (`onConnect`, `onHeaders`, …) or that of Node 26 (`onRequestStart`, `onResponseStart`, …).
 */
// Imported: a test that fakes the global one would hold back a truncated reply.
import { setImmediate } from 'node:timers';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { jsonType, type Outlet, statusTexts, type WrittenReply } from '../outlet.ts';
import type { ServedPort } from '../served-port.ts';

/** A request as undici passes it on. */
export interface DispatchOptions {
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null without a body. A stream of the caller may contain texts. */
  readonly body: AsyncIterable<Uint8Array | string> | null;
}

/** Receives a reply, in Node 20 to 24. */
interface CallbackHandler {
  onConnect(abort: (reason?: Error) => void): void;
  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): unknown;
  onData(bytes: Uint8Array): unknown;
  onComplete(trailers: Buffer[]): void;
  onError(error: Error): void;
}

interface Controller {
  readonly abort: (reason?: Error) => void;
  readonly pause: () => void;
  readonly resume: () => void;
  rawHeaders: Buffer[];
  aborted: boolean;
}

/** Receives a reply, in Node 26. */
interface ControllerHandler {
  onRequestStart(controller: Controller, context: object): void;
  onResponseStart(
    controller: Controller,
    status: number,
    headers: Readonly<Record<string, string>>,
    statusText: string,
  ): void;
  onResponseData(controller: Controller, bytes: Uint8Array): void;
  onResponseEnd(controller: Controller, trailers: object): void;
  onResponseError(controller: Controller, error: Error): void;
}

export type DispatchHandler = CallbackHandler | ControllerHandler;

/**
 * Keeps the outlets whose reply has not begun. No socket refers to them, so garbage collection could
 * remove a test that waits for a reply together with its abort signal, and the test would hang.
 */
const waiting = new Set<FetchOutlet>();

export class FetchOutlet implements Outlet {
  readonly method: string;
  readonly path: string;
  readonly #handler: ControllerHandler;
  readonly #controller: Controller;
  readonly #port: ServedPort;
  readonly #open: Set<FetchOutlet>;
  #onLeft: (() => void) | undefined;
  /** True once the reply is complete or has failed. */
  isDone = false;

  /** `open`: the set that contains this outlet until its reply begins or its caller leaves. */
  constructor(
    { method, path }: ApiRequest,
    handler: DispatchHandler,
    port: ServedPort,
    open: Set<FetchOutlet>,
  ) {
    this.method = method;
    this.path = path;
    this.#handler = asControllerHandler(handler);
    this.#port = port;
    this.#open = open;
    open.add(this);
    waiting.add(this);
    const abort = (reason = new Error('aborted')): void => {
      this.#controller.aborted = true;
      this.leave(reason);
    };
    this.#controller = { abort, pause() {}, resume() {}, rawHeaders: [], aborted: false };
  }

  start(): void {
    this.#handler.onRequestStart(this.#controller, {});
  }

  get isAnswered(): boolean {
    return this.isDone || this.#controller.rawHeaders.length > 0;
  }

  write(reply: WrittenReply): void {
    const bytes = Buffer.from(reply.body);
    const isBodiless = reply.status === 204 || reply.status === 304;
    this.#head(reply, isBodiless ? undefined : bytes.length);
    if (!isBodiless && this.method !== 'HEAD') this.#data(bytes);
    if (this.isDone) return;
    this.isDone = true;
    this.#handler.onResponseEnd(this.#controller, {});
  }

  truncate(reply: ApiReply): void {
    const bytes = Buffer.from(reply.body);
    this.#head(reply, bytes.length);
    this.#data(bytes.subarray(0, Math.floor(bytes.length / 2)));
    // Later, so that `fetch` first resolves with the head.
    setImmediate(() => this.drop());
  }

  drop(): void {
    this.fail(new SocketError());
  }

  reset(): void {
    const error = new Error('read ECONNRESET');
    this.fail(Object.assign(error, { code: 'ECONNRESET', syscall: 'read', errno: -104 }));
  }

  corked(act: () => void): void {
    if (!this.isDone) act();
  }

  onLeft(act: () => void): void {
    this.#onLeft = act;
  }

  /** Called when the caller aborts, or the simulator closes. */
  leave(reason: Error = new SocketError()): void {
    const isOpen = this.#stopWaiting();
    this.fail(reason);
    if (isOpen) this.#onLeft?.();
  }

  /** Makes `fetch` reject, or the body of its response fail. */
  fail(error: Error): void {
    if (this.isDone) return;
    this.isDone = true;
    this.#stopWaiting();
    this.#handler.onResponseError(this.#controller, error);
  }

  #head({ status, contentType = jsonType, headers: more }: WrittenReply, length?: number): void {
    this.#stopWaiting();
    if (this.isDone) return;
    const headers: Readonly<Record<string, string>> = {
      date: new Date(this.#port.now?.() ?? Date.now()).toUTCString(),
      ...(length !== undefined && {
        'content-type': contentType,
        'content-length': String(length),
      }),
      ...more,
    };
    const lines = Object.entries(headers);
    this.#controller.rawHeaders = lines.flat().map((text) => Buffer.from(text));
    const statusText = statusTexts[status] ?? 'unknown';
    this.#handler.onResponseStart(this.#controller, status, headers, statusText);
  }

  /** Called when the reply begins, or never will. True if it had not begun before. */
  #stopWaiting(): boolean {
    waiting.delete(this);
    return this.#open.delete(this);
  }

  #data(bytes: Uint8Array): void {
    if (this.isDone) return;
    this.#handler.onResponseData(this.#controller, bytes);
  }
}

/** Calls a handler of Node 20 to 24 as one of Node 26, so that the outlet knows one interface. */
function asControllerHandler(handler: DispatchHandler): ControllerHandler {
  if ('onRequestStart' in handler) return handler;
  return {
    onRequestStart: ({ abort }) => handler.onConnect(abort),
    onResponseStart: ({ rawHeaders }, status, _headers, statusText) => {
      handler.onHeaders(status, rawHeaders, () => {}, statusText);
    },
    onResponseData: (_controller, bytes) => {
      handler.onData(bytes);
    },
    onResponseEnd: () => handler.onComplete([]),
    onResponseError: (_controller, error) => handler.onError(error),
  };
}

/** The error that undici reports when a server closes the connection before the reply is whole. */
class SocketError extends Error {
  override readonly name = 'SocketError';
  readonly code = 'UND_ERR_SOCKET';
  readonly socket = null;
  constructor() {
    super('other side closed');
  }
}
