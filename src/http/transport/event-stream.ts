/**
 * One stream of server-sent events, over either transport. Bound: at most `eventQueueLimitBytes`
 * wait for a slow reader; one more event ends its connection. The stream has its own queue, because
 * no transport shows how much it buffers for a connection. Events that one piece of work sends, and
 * those within a short time after a write, share a write, which costs far more than an event.
 */
import { realTimers } from '#io/event-loop.ts';
import { type EventsReply, eventQueueLimitBytes } from './transport.ts';

const { clearInterval, clearTimeout, setInterval, setTimeout } = realTimers;

/** The connection of a stream, as its transport provides it. */
export interface EventPipe {
  /** Returns false if the reader is behind; the transport calls `resume` once it has caught up. */
  write(text: string): boolean;
  /** Ends the response properly. */
  end(): void;
  /** Drops the connection. */
  cut(): void;
}

export const eventStreamHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};
export const eventStreamType = 'text/event-stream';

/**
 * The shortest time between two writes, unless the queue is full, the reader catches up, or it asks
 * for another pause. A person sees no difference; 2,000 events a second become 25 writes.
 */
const usualPauseMs = 40;
/** The real time between two comments, which keep proxies from closing a silent stream. */
const commentMs = 15_000;

export class EventStream {
  readonly #pipe: EventPipe;
  readonly #waiting: string[] = [];
  #waitingBytes = 0;
  /** True while the reader is behind: nothing is written. */
  #isBehind = false;
  /** True once the stream has ended, from either side. */
  #isOver = false;
  #pauseMs = usualPauseMs;
  /** Set until `#pauseMs` have passed since the last write. */
  #pause: NodeJS.Timeout | undefined;
  readonly #comments: NodeJS.Timeout;
  /** Called once the stream has ended: the source of the events then stops. */
  #unsubscribe: (() => void) | undefined;

  constructor(pipe: EventPipe, commentEveryMs = commentMs) {
    this.#pipe = pipe;
    this.#comments = setInterval(() => this.#comment(), commentEveryMs).unref();
  }

  /** Starts the events. A comment comes first, so that the reader sees the stream open. */
  start(reply: EventsReply): void {
    this.#pauseMs = reply.pauseMs ?? usualPauseMs;
    this.#comment();
    const unsubscribe = reply.open(
      (event, data, id) => this.#send(event, data, id),
      () => this.finish(),
    );
    // The reader may disconnect, or fall behind, before `open` returns.
    if (this.#isOver) unsubscribe();
    else this.#unsubscribe = unsubscribe;
  }

  #send(event: string, data: unknown, id: string | undefined): boolean {
    if (this.#isOver) return false;
    // JSON text holds no line break, so one `data` line is enough.
    const head = id === undefined ? '' : `id: ${id}\n`;
    const text = `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#waiting.push(text);
    this.#waitingBytes += Buffer.byteLength(text);
    if (this.#isQueueFull) this.#writeWaiting();
    else if (this.#pause === undefined && this.#waiting.length === 1) {
      queueMicrotask(() => this.#writeWaiting());
    }
    if (!this.#isQueueFull) return true;
    this.stop();
    this.#pipe.cut();
    return false;
  }

  get #isQueueFull(): boolean {
    return this.#waitingBytes > eventQueueLimitBytes;
  }

  #comment(): void {
    if (!this.#isBehind) this.#isBehind = !this.#pipe.write(': open\n\n');
  }

  /** Called once the reader has caught up. */
  resume(): void {
    this.#isBehind = false;
    this.#writeWaiting();
  }

  #writeWaiting(): void {
    if (this.#isOver || this.#isBehind || this.#waiting.length === 0) return;
    const text = this.#waiting.join('');
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
    this.#isBehind = !this.#pipe.write(text);
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#writeWaiting();
    }, this.#pauseMs).unref();
  }

  /** Ends the stream from this side. Writes the waiting events first, unless the reader is behind. */
  finish(): void {
    if (this.#isOver) return;
    this.#writeWaiting();
    this.stop();
    this.#pipe.end();
  }

  /** Writes no more. The transport calls it once the connection has ended, from either side. */
  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#pause);
    clearInterval(this.#comments);
    this.#waiting.length = 0;
    const unsubscribe = this.#unsubscribe;
    this.#unsubscribe = undefined;
    unsubscribe?.();
  }
}
