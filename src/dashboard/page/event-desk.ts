/**
 * Shares one stream of events among many readers. They are the tabs of a browser, which opens at
 * most six connections to a server. Runs in a SharedWorker, or in the page if the browser has none.
 * Readers with the same control token share a stream. The stream carries every kind that one of
 * them wants, and is closed while there is no wish.
 */
import { EventReader, type ServerEvent } from './event-reader.ts';

/** A reader's request; sent again when it changes, and every `aliveEveryMs` as a sign of life. */
export interface Wish {
  readonly token: string | null;
  /** Empty while the page is hidden or closed. */
  readonly kinds: readonly string[];
  /** Try again at once instead of waiting for the next attempt. */
  readonly retry?: boolean;
}

/** `refused`: the token is missing or wrong; `gone`: the world was deleted. */
export type StreamState = 'connecting' | 'live' | 'lost' | 'refused' | 'gone';
/** A change of the stream's state, or a group of events. */
export type News = StreamState | readonly ServerEvent[];
type Hear = (news: News) => void;

export const aliveEveryMs = 10_000;
/** A reader that is silent for this long is dropped: its tab has crashed. */
const silentMs = 3 * aliveEveryMs;

export class EventDesk {
  readonly #url: string;
  readonly #streams = new Map<string | null, SharedStream>();

  /** `url`: the address of the events. */
  constructor(url: string) {
    this.#url = url;
  }

  /** Adds a reader. Returns the function for sending its wishes. */
  join(hear: Hear): (wish: Wish) => void {
    let token: string | null = null;
    let silence: ReturnType<typeof setTimeout> | undefined;
    const say = (wish: Wish) => {
      clearTimeout(silence);
      if (wish.token !== token) this.#want(token, hear, []);
      token = wish.token;
      this.#want(token, hear, wish.kinds);
      if (wish.retry === true) this.#streams.get(token)?.retry();
      if (wish.kinds.length > 0) {
        silence = setTimeout(() => this.#want(token, hear, []), silentMs);
      }
    };
    return say;
  }

  #want(token: string | null, hear: Hear, kinds: readonly string[]): void {
    const stream = this.#streams.get(token) ?? new SharedStream(this.#url, token);
    stream.want(hear, kinds);
    if (stream.isWanted) this.#streams.set(token, stream);
    else this.#streams.delete(token);
  }
}

class SharedStream {
  readonly #url: string;
  readonly #token: string | null;
  readonly #readers = new Map<Hear, readonly string[]>();
  #state: StreamState = 'connecting';
  #lastEventId: string | undefined;
  /** The kinds that the open stream carries. */
  #openKinds = '';
  #abort = new AbortController();
  #wake = () => {};
  #isRunning = false;

  constructor(url: string, token: string | null) {
    this.#url = url;
    this.#token = token;
  }

  get isWanted(): boolean {
    return this.#readers.size > 0;
  }

  want(hear: Hear, kinds: readonly string[]): void {
    const isNew = !this.#readers.has(hear);
    if (kinds.length === 0) this.#readers.delete(hear);
    else this.#readers.set(hear, kinds);
    if (kinds.length > 0 && isNew) hear(this.#state);
    if (this.#kinds() !== this.#openKinds) {
      this.#abort.abort();
      this.#wake();
    }
    if (!this.#isOver) void this.#run();
  }

  retry(): void {
    if (this.#isOver) this.#state = 'connecting';
    this.#wake();
    void this.#run();
  }

  /** True if trying again would change nothing. */
  get #isOver(): boolean {
    return this.#state === 'refused' || this.#state === 'gone';
  }

  #kinds(): string {
    return [...new Set([...this.#readers.values()].flat())].sort().join();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    let pauseMs = 0;
    while (this.isWanted) {
      const outcome = await this.#read();
      if (outcome === 'refused' || outcome === 'gone') {
        this.#tell(outcome);
        break;
      }
      if (outcome === 'failed') this.#tell('lost');
      // A stream that worked is reopened at once; only a failure is reported.
      pauseMs = outcome === 'failed' ? Math.min(5_000, Math.max(500, pauseMs * 2)) : 100;
      if (outcome !== 'changed') await this.#pause(pauseMs);
    }
    this.#isRunning = false;
  }

  /** Resolves when the stream ends: `changed` if it was closed to request other kinds. */
  async #read(): Promise<'ended' | 'failed' | 'refused' | 'gone' | 'changed'> {
    this.#openKinds = this.#kinds();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    let hasBegun = false;
    try {
      const headers: Record<string, string> = {};
      if (this.#token !== null) headers['authorization'] = `Bearer ${this.#token}`;
      if (this.#lastEventId !== undefined) headers['last-event-id'] = this.#lastEventId;
      const url = `${this.#url}?kinds=${this.#openKinds}`;
      const response = await fetch(url, { headers, signal });
      if (response.status === 401) return 'refused';
      if (response.status === 404) return 'gone';
      if (!response.ok || response.body === null) return 'failed';
      hasBegun = true;
      this.#tell('live');
      const reader = new EventReader();
      const stream = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await stream.read();
        if (done) return 'ended';
        const events = reader.read(value);
        this.#lastEventId = events.findLast(({ id }) => id !== undefined)?.id ?? this.#lastEventId;
        if (events.length > 0) this.#send(events);
      }
    } catch {
      if (signal.aborted) return 'changed';
      return hasBegun ? 'ended' : 'failed';
    }
  }

  #tell(state: StreamState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#send(state);
  }

  #send(news: News): void {
    for (const hear of [...this.#readers.keys()]) hear(news);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
