/**
 * Moves Vitest's fake timers, which a client and the simulator share. The client may use real
 * connections: time stands still while one of its requests is open, so that its timeouts do not
 * expire meanwhile.
 */
import { channel } from 'node:diagnostics_channel';
import { performance } from 'node:perf_hooks';
import { vi } from 'vitest';
import { durationMs } from '../operations/input-fields.ts';
import { type FiredTimer, fakeRestOfTime, realTimers, untilQuiet } from './rest-of-time.ts';

/** A reply that takes longer than this real time probably waits for simulated time itself. */
const maxStandstillMs = 250;
/** Real time between two checks of work that waits for no timer. */
const idleMs = 1;
/**
 * `advance` moves by at most a day at a time: a timer of more than 24.8 days would fire at once.
 */
const longestStepMs = 24 * 60 * 60 * 1_000;

/** Moves the time of a client and of the service together. */
export interface ClientClock {
  /** The time of client and service, in epoch milliseconds. */
  now(): number;
  /** Moves time by `'24h'` or milliseconds, and runs everything that falls due. */
  advance(by: string | number): Promise<void>;
  /** Moves time from timer to timer until `work` has ended; resolves or rejects with it. */
  until<T>(work: Promise<T> | (() => Promise<T>)): Promise<T>;
}

/** The clock over Vitest's fake timers, which are installed already. */
export class FakedClientClock implements ClientClock {
  readonly #requests = new OpenRequests();
  readonly #uninstall: () => void;
  /** How many calls of `advance` and `until` have not ended yet. */
  #openCalls = 0;
  /** When the first of the open calls began. */
  #openedAtMs = 0;
  /** How many timers have fired since then. */
  #firedCount = 0;
  #lastFired: FiredTimer | undefined;
  #isEnded = false;

  constructor(uninstall: () => void) {
    this.#uninstall = fakeRestOfTime(uninstall, (timer) => {
      this.#firedCount++;
      this.#lastFired = timer;
    });
  }

  now(): number {
    return Date.now();
  }

  async advance(by: string | number): Promise<void> {
    const endMs = Date.now() + durationMs(by, 'by');
    for (let leftMs = endMs - Date.now(); leftMs > 0; leftMs = endMs - Date.now()) {
      const stepMs = Math.min(leftMs, longestStepMs);
      await this.until(new Promise<void>((resolve) => void globalThis.setTimeout(resolve, stepMs)));
    }
    await vi.advanceTimersByTimeAsync(0);
    await this.#settle();
  }

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

  /** Stops moving time and restores the timers. Returns what the test still waited for, if any. */
  end(): string | undefined {
    const stuck = this.#openCalls === 0 ? undefined : this.#describeStuck();
    this.#isEnded = true;
    this.#requests.end();
    this.#uninstall();
    return stuck;
  }

  #describeStuck(): string {
    const seconds = (Date.now() - this.#openedAtMs) / 1_000;
    const moved = `clientClock still moves time (${seconds} s, ${this.#firedCount} timers so far)`;
    if (vi.getTimerCount() > 0 && this.#lastFired !== undefined)
      return `${moved}, and the work does not end; the last timer: ${textOf(this.#lastFired)}`;
    return (
      `${moved}, and the work waits for none of its timers: for something outside this process, ` +
      'or for a real timer, kept from before the test (such as `const { setTimeout } = globalThis`)'
    );
  }

  /** Moves time from timer to timer until it is over. */
  async #run(isOver: () => boolean): Promise<void> {
    if (this.#openCalls++ === 0) {
      this.#openedAtMs = Date.now();
      this.#firedCount = 0;
    }
    for (;;) {
      await this.#settle(isOver);
      if (isOver() || this.#isEnded) break;
      if (vi.getTimerCount() > 0) await vi.advanceTimersToNextTimerAsync();
      else await new Promise((resolve) => void realTimers.setTimeout(resolve, idleMs));
    }
    this.#openCalls--;
  }

  /** Resolves when the client neither acts nor waits for a reply. */
  #settle(isOver = () => false): Promise<void> {
    return untilQuiet(isOver, () => this.#requests.isBusy);
  }
}

/** Matches stack frames of smstwin, Vitest and Node. */
const ownFrame =
  /[/\\]rest-of-time\.|[/\\]smstwin[/\\]dist[/\\]|fake-timers|<anonymous>|[/\\]vitest[/\\]dist|\(?node:/;

/** The timer in words, with the line of the user or of a library that set it. */
function textOf({ name, ms, setBy }: FiredTimer): string {
  const frames = (setBy.stack ?? '').split('\n').slice(1);
  const place = frames.find((frame) => !ownFrame.test(frame));
  return `${name} of ${ms} ms${place === undefined ? '' : ` ${place.trim()}`}`;
}

/** The requests of this process, by `node:http` or undici, that have no reply yet. */
class OpenRequests {
  readonly #open = new Set<unknown>();
  #changedAtMs = 0;

  constructor() {
    for (const name of startChannels) channel(name).subscribe(this.#add);
    for (const name of endChannels) channel(name).subscribe(this.#remove);
  }

  get isBusy(): boolean {
    if (performance.now() - this.#changedAtMs >= maxStandstillMs) this.#open.clear();
    return this.#open.size > 0;
  }

  end(): void {
    for (const name of startChannels) channel(name).unsubscribe(this.#add);
    for (const name of endChannels) channel(name).unsubscribe(this.#remove);
  }

  readonly #add = (message: unknown): void => {
    this.#open.add((message as { request: unknown }).request);
    this.#changedAtMs = performance.now();
  };

  readonly #remove = (message: unknown): void => {
    if (this.#open.delete((message as { request: unknown }).request))
      this.#changedAtMs = performance.now();
  };
}

const startChannels = ['http.client.request.start', 'undici:request:create'];
const endChannels = [
  'http.client.response.finish',
  'http.client.request.error',
  'undici:request:headers',
  'undici:request:error',
];
