/**
 * How a transport writes the reply to one request, and the requests whose reply is not written yet.
 * `answers.ts` decides what is written, and when.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import type { EventStream } from './event-stream.ts';

/** Writes the reply to one request, each transport in its own way. */
export interface Outlet {
  readonly method: string;
  readonly path: string;
  /** True once it was given a reply, or the client has left. Further replies are ignored. */
  readonly isAnswered: boolean;
  /** True once the reply is written, or the client has left. */
  readonly isDone: boolean;
  /** Writes a whole reply. `ends`: the connection ends after it. */
  write(
    status: number,
    payload: string | Uint8Array,
    contentType: string,
    headers: ApiReply['headers'],
    ends: boolean,
  ): void;
  /** Announces the length of the whole body, sends half of it, and ends the connection. */
  truncate(reply: ApiReply): void;
  /** Ends the connection without a byte. */
  drop(): void;
  /** Resets the connection, or ends it if the transport cannot reset. */
  reset(): void;
  /**
   * Writes the head of a stream of events. Returns undefined if only the head is to be sent.
   * Missing if the transport serves no control port, which alone has such streams.
   */
  openStream?(ends: boolean, onEnded: (stream: EventStream) => void): EventStream | undefined;
  /**
   * Runs `act`, which writes, unless the client has left. Needed for each write that does not
   * happen while the transport delivers the request.
   */
  later(act: () => void): void;
  /** Calls `act` if the client leaves before its reply. */
  onLeft(act: () => void): void;
  /**
   * Takes note of a reply that is written at the end of the turn. Missing if no reply can wait.
   * Returns about how many characters the request and its reply have.
   */
  hold?(reply: ApiReply, ends: boolean): number;
}

/** Finished replies are removed at this number of entries, then at twice what remains. */
const firstSweepSize = 4_096;

/**
 * The requests of a server whose replies are not written yet: they wait for their body, an injected
 * delay, or the control handler. `close()` waits for them. Their number is bounded by that of the
 * connections: see docs/bounds.md.
 */
export class PendingReplies {
  /** All pending replies but the latest, each with its timer if a fault delays it. */
  readonly #waiting = new Map<Outlet, NodeJS.Timeout | undefined>();
  /** The reply that was added last. Most are done before the next one, and never enter the map. */
  #latest: Outlet | undefined;
  #sweepSize = firstSweepSize;
  #delayed = 0;
  readonly #mostDelayed: number;

  constructor(mostDelayed: number) {
    this.#mostDelayed = mostDelayed;
  }

  get hasAny(): boolean {
    this.#sweep();
    return this.#waiting.size > 0 || this.#latest !== undefined;
  }

  add(outlet: Outlet): void {
    const previous = this.#latest;
    this.#latest = outlet;
    if (previous === undefined || previous.isDone || previous === outlet) return;
    if (!this.#waiting.has(previous)) this.#waiting.set(previous, undefined);
    if (this.#waiting.size > this.#sweepSize) this.#sweep();
  }

  /** Calls `act` after a delay. Returns false if too many replies are delayed: `act` never runs. */
  delay(outlet: Outlet, delayMs: number, act: () => void): boolean {
    if (this.#delayed >= this.#mostDelayed) return false;
    this.#delayed++;
    const timer = setTimeout(() => {
      this.#delayed--;
      this.#waiting.set(outlet, undefined);
      act();
    }, delayMs);
    this.#waiting.set(outlet, timer);
    return true;
  }

  forget(outlet: Outlet): void {
    if (this.#latest === outlet) this.#latest = undefined;
    const timer = this.#waiting.get(outlet);
    if (timer !== undefined) this.#delayed--;
    clearTimeout(timer);
    this.#waiting.delete(outlet);
  }

  clear(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.#latest = undefined;
  }

  /** Forgets the replies that are written, and those whose client has left. */
  #sweep(): void {
    if (this.#latest?.isDone) this.#latest = undefined;
    for (const outlet of this.#waiting.keys()) if (outlet.isDone) this.forget(outlet);
    this.#sweepSize = Math.max(firstSweepSize, 2 * this.#waiting.size);
  }
}
