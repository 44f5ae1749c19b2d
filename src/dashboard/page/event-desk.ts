/**
 * Shares one stream of events among many readers. They are the tabs of a browser, which opens at
 * most six connections to a server. Runs in a SharedWorker, or in the page if the browser has none.
 * The stream is closed while no reader listens.
 */

/** What a reader says; said again every `aliveEveryMs` as a sign of life. */
export interface Wish {
  /** False while the page is hidden or closed. */
  readonly isListening: boolean;
  /** Try again at once instead of waiting for the next attempt. */
  readonly retry?: boolean;
}

export interface ServerEvent {
  readonly kind: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** `refused`: the token is missing or wrong; `gone`: the world was deleted. */
type StreamState = 'connecting' | 'live' | 'lost' | 'refused' | 'gone';
/** A change of the stream's state, or a group of events. */
export type News = StreamState | readonly ServerEvent[];
type Hear = (news: News) => void;

export const aliveEveryMs = 10_000;
/** A reader that is silent for this long is dropped: its tab has crashed. */
const silentMs = 3 * aliveEveryMs;

export interface Stream {
  /** The address of the events. */
  readonly url: string;
  readonly token: string | null;
}

export class EventDesk {
  readonly #stream: Stream;
  readonly #readers = new Set<Hear>();
  #state: StreamState = 'connecting';
  #lastEventId: string | undefined;
  #abort = new AbortController();
  #wake = () => {};
  #isRunning = false;

  constructor(stream: Stream) {
    this.#stream = stream;
  }

  /** Adds a reader. Returns the function for sending its wishes. */
  join(hear: Hear): (wish: Wish) => void {
    let silence: ReturnType<typeof setTimeout> | undefined;
    return ({ isListening, retry = false }) => {
      clearTimeout(silence);
      if (!isListening) {
        this.#leave(hear);
        return;
      }
      silence = setTimeout(() => this.#leave(hear), silentMs);
      if (!this.#readers.has(hear)) hear(this.#state);
      this.#readers.add(hear);
      if (retry && this.#isOver) this.#state = 'connecting';
      if (retry) this.#wake();
      if (!this.#isOver) void this.#run();
    };
  }

  #leave(hear: Hear): void {
    this.#readers.delete(hear);
    if (this.#readers.size > 0) return;
    this.#state = 'connecting';
    this.#lastEventId = undefined;
    this.#abort.abort();
    this.#wake();
  }

  /** True if trying again would change nothing. */
  get #isOver(): boolean {
    return this.#state === 'refused' || this.#state === 'gone';
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    let pauseMs = 0;
    while (this.#readers.size > 0 && !this.#isOver) {
      const outcome = await this.#read();
      // A stream that worked is reopened at once; only a failure is reported.
      if (outcome !== 'ended' && outcome !== 'left') this.#tell(outcome);
      pauseMs = outcome === 'lost' ? Math.min(5_000, Math.max(500, pauseMs * 2)) : 100;
      if (outcome === 'lost' || outcome === 'ended') await this.#pause(pauseMs);
    }
    this.#isRunning = false;
  }

  /** Resolves when the stream ends: `left` if its last reader left. */
  async #read(): Promise<'ended' | 'left' | 'lost' | 'refused' | 'gone'> {
    const { url, token } = this.#stream;
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    let hasBegun = false;
    try {
      const headers: Record<string, string> = {};
      if (token !== null) headers['authorization'] = `Bearer ${token}`;
      if (this.#lastEventId !== undefined) headers['last-event-id'] = this.#lastEventId;
      const response = await fetch(url, { headers, signal });
      if (response.status === 401) return 'refused';
      if (response.status === 404) return 'gone';
      if (!response.ok || response.body === null) return 'lost';
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
      if (signal.aborted) return 'left';
      return hasBegun ? 'ended' : 'lost';
    }
  }

  #tell(state: StreamState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#send(state);
  }

  #send(news: News): void {
    for (const hear of [...this.#readers]) hear(news);
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

/**
 * Reads server-sent events from a text stream, piece by piece. The browser's own EventSource cannot
 * send the control token.
 */
export class EventReader {
  #rest = '';

  /** The events that `piece` completes. */
  read(piece: string): ServerEvent[] {
    const blocks = (this.#rest + piece).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const lines = block.split('\n');
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field('data');
      return data === undefined
        ? []
        : [{ kind: field('event') ?? 'message', data, id: field('id') }];
    });
  }
}
