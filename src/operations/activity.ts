/**
 * Events for messages, SIMs, requests and the clock. Events are created only while there is a
 * reader. Readers in this process get every event of a kind. Streams get them too, up to
 * `denseAbove` a second; above that they get counts, because an event for each step of each message
 * would slow the service. A ring keeps the last events for streams that reconnect with the id of
 * their last event.
 */

import realTimers from 'node:timers';
import { isoTime } from '../sim/iso-time.ts';
import type { EndpointName } from '../sim/limits.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import type { Message } from '../sim/records.ts';
import type { Status } from '../sim/status.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WallClock } from '../simulation/wall-clock.ts';
import {
  type ActivityEvent,
  type ActivityListener,
  type AnyKind,
  defaultKinds,
  type EventData,
  type EventKind,
  type MessageEvent,
} from './activity-events.ts';
import type { RequestView } from './request-log.ts';
import { Traffic } from './traffic.ts';

type StatusReader = NonNullable<Simulation['lifecycle']['reader']>;

export interface StreamOptions {
  readonly kinds?: readonly EventKind[];
  /** True: every event one by one, at any rate. */
  readonly every?: boolean;
  readonly lastSeenId?: number | undefined;
  /** Called if the simulator closes while the stream is open. */
  readonly onEnd?: (() => void) | undefined;
}

/** The parts of the simulator that events come from. */
interface Watched {
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
}

interface Stream {
  readonly kinds: ReadonlySet<AnyKind>;
  readonly every: boolean;
  readonly listener: ActivityListener;
  readonly onEnd: (() => void) | undefined;
}

/** Events kept for streams that reconnect. */
export const keptEvents = 1_000;
/** How long events are still created and kept after the last stream has left. */
export const keptAfterLastMs = 3_000;
/** The largest number of open streams; one more is refused. */
export const mostStreams = 100;
/** The largest number of events per second that streams get one by one. */
export const denseAbove = 2_000;
const tickMs = 100;
const ticksPerSecond = 10;

export class Activity {
  readonly #live: Watched;
  readonly #listeners: { readonly [K in EventKind]: Set<(data: EventData[K]) => void> } = {
    message: new Set(),
    sim: new Set(),
    clock: new Set(),
    traffic: new Set(),
    request: new Set(),
  };
  readonly #watchers = new Set<() => void>();
  readonly #streams = new Set<Stream>();
  /** The kinds requested by open streams and by streams that left a moment ago. */
  readonly #streamed = new Set<EventKind>();
  /** The kinds of which a stream gets every event. */
  #every: ReadonlySet<AnyKind> = new Set();
  readonly #traffic = new Traffic();
  #kept: ActivityEvent[] = [];
  #lastId = 0;
  /** Ids up to this one belong to a time in which events were not counted. */
  #unknownUpTo = 0;
  #thisSecond = 0;
  #isDense = false;
  #counts: Partial<Record<EventKind, number>> = {};
  #ticks = 0;
  #stopTicking: (() => void) | undefined;
  #stopForgetting: (() => void) | undefined;
  #isWatched = false;

  constructor(live: Watched) {
    this.#live = live;
  }

  /** True while there is a reader; check it before creating an event. */
  get isWatched(): boolean {
    return this.#isWatched;
  }

  /** The number of open streams. */
  get streams(): number {
    return this.#streams.size;
  }

  publish<K extends EventKind>(kind: K, data: EventData[K]): void {
    // Requests made before a clock change belong to the earlier time.
    if (kind === 'clock') this.#sendTraffic();
    this.#publishCounted(kind, data, this.#count(kind));
  }

  /** Reports one answered request of the service. */
  answered(
    endpoint: EndpointName | undefined,
    status: number,
    atMs: number,
    requests: { readonly total: number; last(): RequestView | undefined },
  ): void {
    if (this.#streamed.has('traffic')) this.#traffic.add(endpoint, status, requests.total, atMs);
    const isStreamed = this.#count('request');
    if (!isStreamed && this.#listeners.request.size === 0) return;
    const last = requests.last();
    if (last !== undefined) this.#publishCounted('request', last, isStreamed);
  }

  /** Calls `listener` for every event of a kind. Returns the function that removes it. */
  listen<K extends EventKind>(kind: K, listener: (data: EventData[K]) => void): () => void {
    this.#listeners[kind].add(listener);
    this.attach();
    return () => {
      this.#listeners[kind].delete(listener);
      this.attach();
    };
  }

  /** Calls `watcher` after messages were accepted or changed; several changes may share a call. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    this.attach();
    return () => {
      this.#watchers.delete(watcher);
      this.attach();
    };
  }

  /** Throws if the largest number of streams is open. */
  checkStreams(): void {
    if (this.#streams.size < mostStreams) return;
    throw new OperationRefused('conflict', `there are ${mostStreams} streams of events already`);
  }

  /**
   * Opens a stream, starting with the kept events after `lastSeenId`. Returns the function that
   * closes it.
   */
  stream(listener: ActivityListener, options: StreamOptions = {}): () => void {
    this.checkStreams();
    const { kinds = defaultKinds, every = false, lastSeenId, onEnd } = options;
    const stream: Stream = { kinds: new Set(kinds), every, listener, onEnd };
    if (lastSeenId !== undefined) this.#resume(stream, lastSeenId);
    this.#streams.add(stream);
    for (const kind of kinds) this.#streamed.add(kind);
    this.#stopForgetting?.();
    this.#stopTicking ??= this.#startTicking();
    this.#readEvery();
    this.attach();
    return () => {
      if (!this.#streams.delete(stream)) return;
      this.#readEvery();
      if (this.#streams.size === 0) this.#stopForgetting = this.#startForgetting();
    };
  }

  /** Stops all timers and drops all kept events. */
  close(): void {
    for (const { onEnd } of [...this.#streams]) onEnd?.();
    this.#stopForgetting?.();
    this.#streams.clear();
    this.#forget();
  }

  /** Attaches to the current simulation; called again whenever it was replaced. */
  attach(): void {
    const hasListeners = Object.values(this.#listeners).some(({ size }) => size > 0);
    this.#isWatched = hasListeners || this.#streamed.size > 0;
    this.#live.wallClock.watch(this.#isWatched);
    const { lifecycle } = this.#live.simulation;
    const isRead =
      this.#watchers.size > 0 || this.#listeners.message.size > 0 || this.#streamed.has('message');
    lifecycle.reader = isRead ? this.#reader : undefined;
  }

  readonly #reader: StatusReader = {
    accepted: (message) => this.#changed(message, null),
    changed: (message, from) => this.#changed(message, from),
    changedUnread: (count) => this.#changedUnread(count),
    wantedOf: (count) => this.#wantedOf(count),
  };

  /** Of `count` changes at once, how many are wanted one by one. */
  #wantedOf(count: number): number {
    if (this.#listeners.message.size > 0) return count;
    if (!this.#streamed.has('message')) return 0;
    if (this.#every.has('message')) return count;
    return this.#isDense ? 0 : Math.min(count, Math.max(0, denseAbove - this.#thisSecond));
  }

  #changedUnread(count: number): void {
    if (this.#streamed.has('message')) {
      this.#lastId += count;
      this.#thisSecond += count;
      if (this.#thisSecond > denseAbove) this.#isDense = true;
      this.#counts.message = (this.#counts.message ?? 0) + count;
    }
    for (const watcher of this.#watchers) watcher();
  }

  #changed(message: Message, from: Status | null): void {
    for (const watcher of this.#watchers) watcher();
    const isStreamed = this.#count('message');
    if (!isStreamed && this.#listeners.message.size === 0) return;
    const event: MessageEvent = {
      message_id: message.messageId,
      account_id: message.account.accountId,
      device_id: message.device.deviceId,
      from_number: message.device.number,
      to: message.to,
      status: message.status,
      from_status: from,
      failure_reason: message.failureReason ?? null,
      at: isoTime(message.changedAtMs),
    };
    this.#publishCounted('message', event, isStreamed);
  }

  #readEvery(): void {
    const all = [...this.#streams].filter(({ every }) => every);
    this.#every = new Set(all.flatMap(({ kinds }) => [...kinds]));
  }

  /** Counts one event. Returns true if a stream needs the event itself. */
  #count(kind: EventKind): boolean {
    if (!this.#streamed.has(kind)) return false;
    this.#lastId++;
    this.#thisSecond++;
    if (this.#thisSecond > denseAbove) this.#isDense = true;
    if (!this.#isDense) return true;
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
    return this.#every.has(kind);
  }

  #publishCounted<K extends EventKind>(kind: K, data: EventData[K], isStreamed: boolean): void {
    if (isStreamed) this.#send({ id: this.#lastId, kind, data } as ActivityEvent, this.#isDense);
    for (const listener of [...this.#listeners[kind]]) listener(data);
  }

  #send(event: ActivityEvent, onlyEvery = false): void {
    // A ring by id: the event replaces the one that is `keptEvents` older.
    this.#kept[event.id % keptEvents] = event;
    for (const { kinds, every, listener } of [...this.#streams]) {
      if (kinds.has(event.kind) && (every || !onlyEvery)) listener(event);
    }
  }

  /** With a bound clock, real timers: a test's fake timers must not include these endless ones. */
  get #timers(): Pick<
    typeof realTimers,
    'setInterval' | 'setTimeout' | 'clearInterval' | 'clearTimeout'
  > {
    return this.#live.wallClock.mode === 'bound' ? realTimers : globalThis;
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
    this.#sendTraffic();
    this.#sendCounts();
    this.#ticks++;
    if (this.#ticks % ticksPerSecond !== 0) return;
    this.#isDense = this.#thisSecond > denseAbove;
    this.#thisSecond = 0;
  }

  #sendTraffic(): void {
    const traffic = this.#traffic.take();
    if (traffic === undefined) return;
    this.#lastId++;
    this.#send({ id: this.#lastId, kind: 'traffic', data: traffic });
  }

  /** Not kept: a reconnecting stream computes from the ids how much it missed. */
  #sendCounts(): void {
    const counts = Object.entries(this.#counts);
    if (counts.length === 0) return;
    this.#counts = {};
    for (const { kinds, every, listener } of [...this.#streams]) {
      const own = counts.filter(([kind]) => kinds.has(kind as EventKind));
      if (every || own.length === 0) continue;
      listener({ id: this.#lastId, kind: 'dense', data: Object.fromEntries(own) });
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
    const missed = this.#lastId - lastSeenId - kept.length;
    if (isForeign || missed > 0) {
      const id = (kept[0]?.id ?? this.#lastId + 1) - 1;
      listener({ id, kind: 'gap', data: { missed: isForeign ? null : missed } });
    }
    for (const event of kept) if (kinds.has(event.kind)) listener(event);
  }

  #forget(): void {
    this.#stopTicking?.();
    this.#stopTicking = undefined;
    this.#streamed.clear();
    this.#kept = [];
    this.#traffic.take();
    this.#counts = {};
    this.#isDense = false;
    this.#thisSecond = 0;
    this.#lastId++;
    this.#unknownUpTo = this.#lastId;
    this.attach();
  }
}
