/**
 * The two interfaces through which undici receives a reply from a dispatcher: that of Node 20 to 24
 * (`onConnect`, `onHeaders`, …) and that of Node 26 (`onRequestStart`, `onResponseStart`, …).
 */

/** The request that `fetch` gives to a dispatcher. */
export interface DispatchOptions {
  /** With the query. */
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream given by the caller may contain texts. */
  readonly body: AsyncIterable<Uint8Array | string> | null;
}

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

/** One reply on its way to `fetch`. `fail` and `end` finish it; later calls do nothing. */
export class Receiver {
  readonly #handler: DispatchHandler;
  readonly #controller: Controller;
  #onAbort: (() => void) | undefined;
  #isOver = false;

  constructor(handler: DispatchHandler) {
    this.#handler = handler;
    const abort = (reason?: Error): void => {
      this.#controller.aborted = true;
      this.fail(reason ?? new Error('aborted'));
      this.#onAbort?.();
    };
    this.#controller = { abort, pause() {}, resume() {}, rawHeaders: [], aborted: false };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** `onAbort` is called if the caller aborts from now on. */
  start(onAbort: () => void): void {
    this.#onAbort = onAbort;
    if ('onRequestStart' in this.#handler) this.#handler.onRequestStart(this.#controller, {});
    else this.#handler.onConnect(this.#controller.abort);
  }

  head(status: number, statusText: string, headers: Readonly<Record<string, string>>): void {
    if (this.#isOver) return;
    const raw = Object.entries(headers).flatMap((line) => line.map((text) => Buffer.from(text)));
    this.#controller.rawHeaders = raw;
    if ('onResponseStart' in this.#handler) {
      this.#handler.onResponseStart(this.#controller, status, headers, statusText);
    } else this.#handler.onHeaders(status, raw, () => {}, statusText);
  }

  data(bytes: Uint8Array): void {
    if (this.#isOver) return;
    if ('onResponseData' in this.#handler) this.#handler.onResponseData(this.#controller, bytes);
    else this.#handler.onData(bytes);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if ('onResponseEnd' in this.#handler) this.#handler.onResponseEnd(this.#controller, {});
    else this.#handler.onComplete([]);
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if ('onResponseError' in this.#handler) this.#handler.onResponseError(this.#controller, error);
    else this.#handler.onError(error);
  }
}
