/**
 * One stream of server-sent events, over either transport.
 * Bound: at most `eventQueueLimitBytes` wait for a slow reader; one more event ends its connection.
 * It has its own queue, because neither transport shows how much it buffers for a connection.
 * Events that follow each other closely are written together: a write costs far more than an event.
 */
// Not the global ones, which a test may fake.
import { clearTimeout, setTimeout } from 'node:timers';
import { type EventsReply, eventQueueLimitBytes } from './transport.ts';

/** What the stream needs of a transport. */
export interface EventPipe {
  /** False if the reader is behind; `resume` is called once it has caught up. */
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
 * The shortest time between two writes, unless the queue is full or the reader catches up. A reader
 * sees no difference; 2,000 events a second become 25 writes.
 */
const pauseMs = 40;

export class EventStream {
  readonly #pipe: EventPipe;
  readonly #waiting: string[] = [];
  #waitingBytes = 0;
  #behind = false;
  #over = false;
  #pause: NodeJS.Timeout | undefined;
  #closed: (() => void) | undefined;

  constructor(pipe: EventPipe) {
    this.#pipe = pipe;
  }

  /** Starts the events. A comment comes first, so that the reader sees the stream open. */
  start(reply: EventsReply): void {
    this.#behind = !this.#pipe.write(': open\n\n');
    const closed = reply.open(
      (event, data, id) => this.#send(event, data, id),
      () => this.finish(),
    );
    // The reader may disconnect, or fall behind, before `open` returns.
    if (this.#over) closed();
    else this.#closed = closed;
  }

  #send(event: string, data: unknown, id: string | undefined): boolean {
    if (this.#over) return false;
    // JSON text holds no line break, so one `data` line is enough.
    const head = id === undefined ? '' : `id: ${id}\n`;
    const text = `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#waiting.push(text);
    this.#waitingBytes += Buffer.byteLength(text);
    if (this.#pause === undefined || this.#waitsTooMuch) this.#writeWaiting();
    if (!this.#waitsTooMuch) return true;
    this.gone();
    this.#pipe.cut();
    return false;
  }

  get #waitsTooMuch(): boolean {
    return this.#waitingBytes > eventQueueLimitBytes;
  }

  /** The reader has caught up. */
  resume(): void {
    this.#behind = false;
    this.#writeWaiting();
  }

  #writeWaiting(): void {
    if (this.#over || this.#behind || this.#waiting.length === 0) return;
    const text = this.#waiting.join('');
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
    this.#behind = !this.#pipe.write(text);
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#writeWaiting();
    }, pauseMs).unref();
  }

  /** The server is closing, or has no more events. */
  finish(): void {
    if (this.#over) return;
    this.#writeWaiting();
    this.gone();
    this.#pipe.end();
  }

  /** The connection has ended, from either side. */
  gone(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#pause);
    this.#waiting.length = 0;
    const closed = this.#closed;
    this.#closed = undefined;
    closed?.();
  }
}
