/**
 * The open streams of events, for readers over HTTP. A stream carries the event `behind` in place
 * of others if there are more than `mostEventsPerSecond`, or if its reader reconnects too late to
 * get all that it missed: the reader must then read the state again. A ring keeps the last events
 * for readers that reconnect with the id of their last one.
 * A source first calls `admits`, and creates the event for `send` only if that returns true.
 */
import { realTimers } from '#io/event-loop.ts';
import { refuseMore } from '../../sim/errors.ts';
import {
  type ActivityEvent,
  type ActivityListener,
  defaultKinds,
  type EventData,
  type EventKind,
} from './activity-events.ts';

export interface StreamOptions {
  /** Default: `defaultKinds`. */
  readonly kinds?: readonly EventKind[];
  /** True: every event one by one, at any rate. */
  readonly every?: boolean;
  /** The shortest time between two writes. Sums are not made more often. */
  readonly pauseMs?: number | undefined;
  /** The id of the last event that the reader got before it reconnected. */
  readonly lastSeenId?: number | undefined;
  /** Called if the simulator closes while the stream is open. */
  readonly onEnd?: (() => void) | undefined;
}

interface Stream extends StreamOptions {
  readonly kinds: readonly EventKind[];
  readonly listener: ActivityListener;
}

/** The simulator as the streams see it. */
export interface EventSource {
  /** True on a bound clock, whose timers a test may fake. */
  readonly isBound: boolean;
  /**
   * Called every `tickMs` while a stream is open, to send sums of what happened. After a sum, the
   * next call follows once a stream may write again (`pauseMs`).
   */
  onTick(): void;
  /** Called when the set of wanted kinds may have changed. */
  onKindsChanged(): void;
}

/** The number of events kept for readers that reconnect. */
export const keptEvents = 1_000;
/** How long events are still created and kept after the last stream has closed. */
export const keptAfterLastMs = 3_000;
/** The largest number of open streams; one more is refused. */
export const mostStreams = 100;
/** The largest number of events per second that streams get one by one. */
export const mostEventsPerSecond = 2_000;
const tickMs = 100;
const ticksPerSecond = 10;
/** A stream gets `behind` at most every five ticks: twice a second. */
const ticksPerBehind = 5;

export class EventStreams {
  readonly #source: EventSource;
  readonly #streams = new Set<Stream>();
  /** The kinds that are wanted by open streams, and by closed ones that may reconnect. */
  readonly #kinds = new Set<EventKind>();
  /** A ring: the event with an id is at the index `id % keptEvents`. */
  #kept: ActivityEvent[] = [];
  #lastId = 0;
  /** A reader whose last id is below this one may have missed events that were never counted. */
  #firstResumableId = 0;
  /** Events counted since the present second began. */
  #countThisSecond = 0;
  /** True while there are too many events to send one by one. */
  #isBehind = false;
  /** The kinds of events that were not sent since the last `behind`. */
  readonly #unsentKinds = new Set<EventKind>();
  #ticks = 0;
  /** No sum is sent before this tick. */
  #nextSumTick = 0;
  #stopTicking: (() => void) | undefined;
  #stopForgetting: (() => void) | undefined;

  constructor(source: EventSource) {
    this.#source = source;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** True if any event is wanted. */
  get hasAudience(): boolean {
    return this.#kinds.size > 0;
  }

  wants(kind: EventKind): boolean {
    return this.#kinds.has(kind);
  }

  /** The number of `count` simultaneous events that are wanted one by one. */
  wantedOf(kind: EventKind, count: number): number {
    if (!this.wants(kind)) return 0;
    if (this.#wantsEvery(kind)) return count;
    return this.#isBehind ? 0 : Math.min(count, mostEventsPerSecond - this.#countThisSecond);
  }

  /** Counts events. True if the last of them must be sent, by `send`. */
  admits(kind: EventKind, count = 1): boolean {
    if (!this.wants(kind)) return false;
    this.#lastId += count;
    this.#countThisSecond += count;
    if (this.#countThisSecond > mostEventsPerSecond) this.#isBehind = true;
    if (this.#isBehind) this.#unsentKinds.add(kind);
    return !this.#isBehind || this.#wantsEvery(kind);
  }

  send<K extends EventKind>(kind: K, data: EventData[K]): void {
    const event = { id: this.#lastId, kind, data } as ActivityEvent;
    this.#kept[event.id % keptEvents] = event;
    for (const { kinds, every, listener } of [...this.#streams])
      if (kinds.includes(kind) && (every || !this.#unsentKinds.has(kind))) listener(event);
  }

  /** Sends an event that does not count towards `mostEventsPerSecond`. */
  sendSummary<K extends EventKind>(kind: K, data: EventData[K]): void {
    this.#lastId++;
    this.send(kind, data);
    const pausesMs = [...this.#streams].map(({ pauseMs = 0 }) => pauseMs);
    const pauseMs = Math.min(keptAfterLastMs, ...pausesMs);
    this.#nextSumTick = this.#ticks + Math.floor(pauseMs / tickMs);
  }

  /** Throws if the largest number of streams is open. */
  checkRoom(): void {
    refuseMore(this.#streams.size, mostStreams, 'streams of events');
  }

  /** Opens a stream with the kept events after `lastSeenId`. Returns a function that closes it. */
  open(listener: ActivityListener, options: StreamOptions): () => void {
    this.checkRoom();
    const stream: Stream = { kinds: defaultKinds, ...options, listener };
    if (stream.lastSeenId !== undefined) this.#resume(stream, stream.lastSeenId);
    this.#streams.add(stream);
    this.#nextSumTick = 0;
    for (const kind of stream.kinds) this.#kinds.add(kind);
    this.#stopForgetting?.();
    this.#stopTicking ??= this.#startTicking();
    this.#source.onKindsChanged();
    return () => {
      if (!this.#streams.delete(stream) || this.#streams.size > 0) return;
      this.#stopForgetting = this.#startForgetting();
    };
  }

  /** Stops all timers and drops all kept events. */
  close(): void {
    for (const { onEnd } of [...this.#streams]) onEnd?.();
    this.#stopForgetting?.();
    this.#streams.clear();
    this.#forget();
  }

  #wantsEvery(kind: EventKind): boolean {
    for (const { every, kinds } of this.#streams) if (every && kinds.includes(kind)) return true;
    return false;
  }

  /** Real timers with a bound clock: a test may fake the global ones, which then may never fire. */
  get #timers() {
    return this.#source.isBound ? realTimers : globalThis;
  }

  #startTicking(): () => void {
    const { setInterval, clearInterval } = this.#timers;
    const timer = setInterval(() => this.#tick(), tickMs).unref();
    return () => clearInterval(timer);
  }

  #startForgetting(): () => void {
    const { setTimeout, clearTimeout } = this.#timers;
    const timer = setTimeout(() => this.#forget(), keptAfterLastMs).unref();
    return () => clearTimeout(timer);
  }

  #tick(): void {
    this.#ticks++;
    if (this.#ticks >= this.#nextSumTick) this.#source.onTick();
    if (this.#ticks % ticksPerBehind === 0) this.#sendBehind();
    if (this.#ticks % ticksPerSecond !== 0) return;
    this.#isBehind = this.#countThisSecond > mostEventsPerSecond;
    this.#countThisSecond = 0;
  }

  #sendBehind(): void {
    const unsentKinds = [...this.#unsentKinds];
    this.#unsentKinds.clear();
    for (const { kinds, every, listener } of [...this.#streams]) {
      const isBehind = !every && unsentKinds.some((kind) => kinds.includes(kind));
      if (isBehind) listener({ id: this.#lastId, kind: 'behind', data: {} });
    }
  }

  /** Sends what the reader missed, or `behind` if not all of it is known. */
  #resume({ kinds, listener }: Stream, lastSeenId: number): void {
    const isUnknownId = lastSeenId > this.#lastId || lastSeenId < this.#firstResumableId;
    const firstId = Math.max(lastSeenId + 1, this.#lastId - keptEvents + 1);
    const missed: ActivityEvent[] = [];
    for (let id = firstId; id <= this.#lastId; id++) {
      const event = this.#kept[id % keptEvents];
      if (event?.id === id) missed.push(event);
    }
    if (isUnknownId || missed.length < this.#lastId - lastSeenId) {
      listener({ id: this.#lastId, kind: 'behind', data: {} });
      return;
    }
    for (const event of missed) if (kinds.some((kind) => kind === event.kind)) listener(event);
  }

  /** Drops all kept events, and stops counting events. */
  #forget(): void {
    this.#stopTicking?.();
    this.#stopTicking = undefined;
    this.#kinds.clear();
    this.#kept = [];
    this.#unsentKinds.clear();
    this.#isBehind = false;
    this.#countThisSecond = 0;
    this.#lastId++;
    this.#firstResumableId = this.#lastId;
    this.#source.onKindsChanged();
  }
}
