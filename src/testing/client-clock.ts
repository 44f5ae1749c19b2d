/**
 * Moves Vitest's fake timers for a client that may use real connections. Time stands still during a
 * request, so that the client's timeouts do not expire during it.
 */
import { channel } from 'node:diagnostics_channel';
import { performance } from 'node:perf_hooks';
// The real timers, even if the test fakes the global ones.
import { setImmediate, setTimeout } from 'node:timers/promises';
import { vi } from 'vitest';
import { durationMs } from '../operations/duration.ts';

/** Turns of the event loop in which a client may react before time moves on. */
const quietTurns = 3;
/** If a reply takes longer than this real time, it probably waits for simulated time. */
const mostStandstillMs = 250;
/** Real time between two checks of work that waits for no timer. */
const idleMs = 1;

export class ClientClock {
  readonly #requests = new OpenRequests();

  /** The time of client and service, in epoch milliseconds. */
  now(): number {
    return Date.now();
  }

  /** Moves time by `'24h'` or milliseconds, and runs everything that falls due. */
  async advance(by: string | number): Promise<void> {
    const delayMs = typeof by === 'number' ? by : durationMs(by, 'by');
    let isOver = false;
    globalThis.setTimeout(() => {
      isOver = true;
    }, delayMs);
    await this.#run(() => isOver);
    await vi.advanceTimersByTimeAsync(0);
    await this.#settle();
  }

  /** Moves time from timer to timer until `work` has ended; resolves or rejects with it. */
  async until<T>(work: Promise<T> | (() => Promise<T>)): Promise<T> {
    const started = typeof work === 'function' ? work() : work;
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    started.then(end, end);
    await this.#run(() => isOver);
    return started;
  }

  /** Stops watching the requests of the process. */
  end(): void {
    this.#requests.end();
  }

  async #run(isOver: () => boolean): Promise<void> {
    for (;;) {
      await this.#settle(isOver);
      if (isOver()) return;
      if (vi.getTimerCount() === 0) await setTimeout(idleMs);
      else await vi.advanceTimersToNextTimerAsync();
    }
  }

  async #settle(isOver = () => false): Promise<void> {
    for (let turns = 0; turns < quietTurns && !isOver(); turns++) {
      await setImmediate();
      if (this.#requests.isBusy) turns = 0;
    }
  }
}

/** Requests of this process without a reply yet, of `node:http` and of undici. */
class OpenRequests {
  readonly #open = new Set<unknown>();
  #changedAtMs = 0;

  constructor() {
    for (const name of began) channel(name).subscribe(this.#add);
    for (const name of ended) channel(name).subscribe(this.#remove);
  }

  get isBusy(): boolean {
    if (performance.now() - this.#changedAtMs >= mostStandstillMs) this.#open.clear();
    return this.#open.size > 0;
  }

  end(): void {
    for (const name of began) channel(name).unsubscribe(this.#add);
    for (const name of ended) channel(name).unsubscribe(this.#remove);
  }

  readonly #add = (message: unknown): void => {
    this.#open.add((message as { request: unknown }).request);
    this.#changedAtMs = performance.now();
  };

  readonly #remove = (message: unknown): void => {
    if (this.#open.delete((message as { request: unknown }).request)) {
      this.#changedAtMs = performance.now();
    }
  };
}

const began = ['http.client.request.start', 'undici:request:create'];
const ended = [
  'http.client.response.finish',
  'http.client.request.error',
  'undici:request:headers',
  'undici:request:error',
];
