/**
 * Streams of events. A stream that falls behind, because there are more than `mostEventsPerSecond`
 * or because it reconnects too late, gets `behind` instead: its reader must read again what it
 * shows. A ring keeps the last events for streams that reconnect with the id of their last event.
 */
import realTimers from 'node:timers';
import { OperationRefused } from '../sim/operation-refused.ts';
import {
  type ActivityEvent,
  type ActivityListener,
  defaultKinds,
  type EventData,
  type EventKind,
} from './activity-events.ts';

export interface StreamOptions {
  readonly kinds?: readonly EventKind[];
  /** True: every event one by one, at any rate. */
  readonly every?: boolean;
  readonly lastSeenId?: number | undefined;
  /** Called if the simulator closes while the stream is open. */
  readonly onEnd?: (() => void) | undefined;
}

interface Stream extends StreamOptions {
  readonly kinds: readonly EventKind[];
  readonly listener: ActivityListener;
}

/** What the streams need of the simulator. */
export interface EventSource {
  /** True on a bound clock, whose timers a test may fake. */
  readonly isBound: boolean;
  /** Called every `tickMs` while a stream is open. */
  onTick(): void;
  /** Called when other kinds of events are wanted than before. */
  onKindsChanged(): void;
}

/** Events kept for streams that reconnect. */
export const keptEvents = 1_000;
/** How long events are still created and kept after the last stream has left. */
export const keptAfterLastMs = 3_000;
/** The largest number of open streams; one more is refused. */
export const mostStreams = 100;
/** The largest number of events per second that streams get one by one. */
export const mostEventsPerSecond = 2_000;
const tickMs = 100;
const ticksPerSecond = 10;
/** Limits `behind` to two a second for each reader. */
const ticksPerNotice = 5;

export class EventStreams {
  readonly #source: EventSource;
  readonly #streams = new Set<Stream>();
  /** The kinds of open streams, and of streams that left a moment ago. */
  readonly #kinds = new Set<EventKind>();
  #kept: ActivityEvent[] = [];
  #lastId = 0;
  /** Ids up to this one belong to a time in which events were not counted. */
  #unknownUpTo = 0;
  #thisSecond = 0;
  /** True while there are too many events to send one by one. */
  #isBehind = false;
  /** The kinds of events that were left out since the last `behind`. */
  readonly #leftOut = new Set<EventKind>();
  #ticks = 0;
  #stopTicking: (() => void) | undefined;
  #stopForgetting: (() => void) | undefined;

  constructor(source: EventSource) {
    this.#source = source;
  }

  /** The number of open streams. */
  get size(): number {
    return this.#streams.size;
  }

  get isWatched(): boolean {
    return this.#kinds.size > 0;
  }

  wants(kind: EventKind): boolean {
    return this.#kinds.has(kind);
  }

  /** Of `count` events at once, how many are wanted one by one. */
  wantedOf(kind: EventKind, count: number): number {
    if (!this.wants(kind)) return 0;
    if (this.#wantsEvery(kind)) return count;
    return this.#isBehind ? 0 : Math.min(count, mostEventsPerSecond - this.#thisSecond);
  }

  /** Counts events. Returns true if a stream wants the last of them one by one. */
  count(kind: EventKind, count = 1): boolean {
    if (!this.wants(kind)) return false;
    this.#lastId += count;
    this.#thisSecond += count;
    if (this.#thisSecond > mostEventsPerSecond) this.#isBehind = true;
    if (this.#isBehind) this.#leftOut.add(kind);
    return !this.#isBehind || this.#wantsEvery(kind);
  }

  /** Sends the event that was counted last. */
  send<K extends EventKind>(kind: K, data: EventData[K]): void {
    const event = { id: this.#lastId, kind, data } as ActivityEvent;
    // A ring by id: the event replaces the one that is `keptEvents` older.
    this.#kept[event.id % keptEvents] = event;
    for (const { kinds, every, listener } of [...this.#streams]) {
      if (kinds.includes(kind) && (every || !this.#leftOut.has(kind))) listener(event);
    }
  }

  /** Sends an event that does not count for `behind`. */
  sendSummary<K extends EventKind>(kind: K, data: EventData[K]): void {
    this.#lastId++;
    this.send(kind, data);
  }

  /** Throws if the largest number of streams is open. */
  checkRoom(): void {
    if (this.#streams.size < mostStreams) return;
    throw new OperationRefused('conflict', `there are ${mostStreams} streams of events already`);
  }

  /**
   * Opens a stream, starting with the kept events after `lastSeenId`. Returns the function that
   * closes it.
   */
  open(listener: ActivityListener, options: StreamOptions): () => void {
    this.checkRoom();
    const stream: Stream = { kinds: defaultKinds, ...options, listener };
    if (stream.lastSeenId !== undefined) this.#resume(stream, stream.lastSeenId);
    this.#streams.add(stream);
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

  /** With a bound clock, real timers: a test's fake timers must not include these endless ones. */
  get #timers(): Pick<
    typeof realTimers,
    'setInterval' | 'setTimeout' | 'clearInterval' | 'clearTimeout'
  > {
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
    this.#source.onTick();
    this.#ticks++;
    if (this.#ticks % ticksPerNotice === 0) this.#sendBehind();
    if (this.#ticks % ticksPerSecond !== 0) return;
    this.#isBehind = this.#thisSecond > mostEventsPerSecond;
    this.#thisSecond = 0;
  }

  #sendBehind(): void {
    const leftOut = [...this.#leftOut];
    this.#leftOut.clear();
    for (const { kinds, every, listener } of [...this.#streams]) {
      const isBehind = !every && leftOut.some((kind) => kinds.includes(kind));
      if (isBehind) listener({ id: this.#lastId, kind: 'behind', data: {} });
    }
  }

  #resume({ kinds, listener }: Stream, lastSeenId: number): void {
    const isForeign = lastSeenId > this.#lastId || lastSeenId < this.#unknownUpTo;
    const first = Math.max(lastSeenId + 1, this.#lastId - keptEvents + 1);
    const kept: ActivityEvent[] = [];
    for (let id = first; id <= this.#lastId; id++) {
      const event = this.#kept[id % keptEvents];
      if (event?.id === id) kept.push(event);
    }
    if (isForeign || kept.length < this.#lastId - lastSeenId) {
      listener({ id: this.#lastId, kind: 'behind', data: {} });
      return;
    }
    for (const event of kept) if (kinds.some((kind) => kind === event.kind)) listener(event);
  }

  #forget(): void {
    this.#stopTicking?.();
    this.#stopTicking = undefined;
    this.#kinds.clear();
    this.#kept = [];
    this.#leftOut.clear();
    this.#isBehind = false;
    this.#thisSecond = 0;
    this.#lastId++;
    this.#unknownUpTo = this.#lastId;
    this.#source.onKindsChanged();
  }
}
