/**
 * Shares one stream of server-sent events among many readers: the tabs of a browser, which opens at
 * most six connections to a server. Runs in a SharedWorker, or in the page if the browser has none.
 * The stream is closed while no reader listens.
 */

/** `isListening`: not while the page is hidden or closed. `retry`: reconnect without a pause. */
export type ListenRequest = Readonly<{ isListening: boolean; retry?: boolean }>;

export type ServerEvent = Readonly<{ kind: string; id: string | undefined }>;

/** `refused`: the token is missing or wrong; `gone`: the world was deleted. */
export type StreamState = 'connecting' | 'live' | 'lost' | 'refused' | 'gone';
/** What readers receive: a new state of the stream, or events that arrived together. */
export type News = { readonly state: StreamState } | { readonly events: readonly ServerEvent[] };
type Listener = (news: News) => void;

/** The pauses between failed attempts double from the first to the longest. */
const firstPauseMs = 500;
const longestPauseMs = 5_000;
/** The pause before a stream that worked is opened again. */
const reopenPauseMs = 100;

/** `token`: the control token; null if the port needs none. */
export type StreamAddress = Readonly<{ url: string; token: string | null }>;

export class SharedEvents {
  readonly #address: StreamAddress;
  readonly #listeners = new Set<Listener>();
  #state: StreamState = 'connecting';
  /** A reconnection resumes after this event. */
  #lastEventId: string | undefined;
  #abort = new AbortController();
  #endPause = () => {};
  #isRunning = false;

  constructor(address: StreamAddress) {
    this.#address = address;
  }

  /** Adds a reader. Returns the function that receives its requests. */
  join(listener: Listener): (request: ListenRequest) => void {
    return ({ isListening, retry = false }) => {
      if (!isListening) {
        this.#remove(listener);
        return;
      }
      if (!this.#listeners.has(listener)) listener({ state: this.#state });
      this.#listeners.add(listener);
      if (retry && this.#isFinal) this.#state = 'connecting';
      if (retry) this.#endPause();
      if (!this.#isFinal) void this.#run();
    };
  }

  #remove(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#state = 'connecting';
    this.#lastEventId = undefined;
    this.#abort.abort();
    this.#endPause();
  }

  /** True if another attempt would fail in the same way. */
  get #isFinal(): boolean {
    return this.#state === 'refused' || this.#state === 'gone';
  }

  /** Keeps the stream open while there are readers. */
  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    let pauseMs = 0;
    while (this.#listeners.size > 0 && !this.#isFinal) {
      const outcome = await this.#readStream();
      // A stream that worked is reopened silently; only a failure is published.
      if (outcome !== 'ended' && outcome !== 'left') this.#setState(outcome);
      if (outcome === 'lost')
        pauseMs = Math.min(longestPauseMs, Math.max(firstPauseMs, pauseMs * 2));
      else pauseMs = reopenPauseMs;
      if (outcome === 'lost' || outcome === 'ended') await this.#pause(pauseMs);
    }
    this.#isRunning = false;
  }

  /** Opens the stream and resolves when it ends; `left`: its last reader left. */
  async #readStream(): Promise<'ended' | 'left' | 'lost' | 'refused' | 'gone'> {
    const { url, token } = this.#address;
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
      this.#setState('live');
      const parser = new EventParser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return 'ended';
        const events = parser.parse(value);
        this.#lastEventId = events.findLast(({ id }) => id !== undefined)?.id ?? this.#lastEventId;
        if (events.length > 0) this.#publish({ events });
      }
    } catch {
      if (signal.aborted) return 'left';
      return hasBegun ? 'ended' : 'lost';
    }
  }

  #setState(state: StreamState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#publish({ state });
  }

  #publish(news: News): void {
    for (const listener of [...this.#listeners]) listener(news);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#endPause = resolve;
      setTimeout(resolve, ms);
    });
  }
}

/**
 * Parses server-sent events from a text stream, piece by piece. The browser's own EventSource
 * cannot send the control token.
 */
export class EventParser {
  /** The start of an event that is not complete. */
  #rest = '';

  parse(piece: string): ServerEvent[] {
    const texts = (this.#rest + piece).split('\n\n');
    this.#rest = texts.pop() ?? '';
    return texts.flatMap((text) => {
      // Each line is `name: value`.
      const lines = text.split('\n').map((line) => line.split(/: (.*)/, 2));
      const { event, id } = Object.fromEntries(lines);
      return event === undefined ? [] : [{ kind: event, id }];
    });
  }
}
