/**
 * Events for messages, SIMs, requests and the clock. Events are created only while there is a
 * reader: one in this process, which gets every event of a kind, or a stream.
 */
import type { ExchangeRecord } from '../recording/exchange-record.ts';
import type { RecordedExchange } from '../recording/recorded-exchange.ts';
import { isoTime } from '../sim/clock.ts';
import type { Message } from '../sim/records.ts';
import type { Status } from '../sim/status.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WallClock } from '../simulation/wall-clock.ts';
import type { ActivityListener, EventData, EventKind, MessageEvent } from './activity-events.ts';
import { EventStreams, type StreamOptions } from './event-streams.ts';
import { viewOf } from './request-views.ts';
import { Traffic } from './traffic.ts';

type StatusReader = NonNullable<Simulation['lifecycle']['reader']>;

/** The parts of the simulator that events come from. */
interface Watched {
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
  readonly exchangeRecord: ExchangeRecord;
}

export class Activity {
  readonly #live: Watched;
  readonly #listeners: { readonly [K in EventKind]: Set<(data: EventData[K]) => void> } = {
    message: new Set(),
    sim: new Set(),
    clock: new Set(),
    traffic: new Set(),
    request: new Set(),
    operation: new Set(),
  };
  readonly #watchers = new Set<() => void>();
  readonly #traffic = new Traffic();
  readonly #streams: EventStreams;
  #isWatched = false;

  constructor(live: Watched) {
    this.#live = live;
    this.#streams = new EventStreams({
      get isBound() {
        return live.wallClock.mode === 'bound';
      },
      onTick: () => this.#sendTraffic(),
      onKindsChanged: () => this.attach(),
    });
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
    if (this.#streams.count(kind)) this.#streams.send(kind, data);
    for (const listener of [...this.#listeners[kind]]) listener(data);
  }

  /** Reports one answered request of the service. */
  answered(exchange: RecordedExchange): void {
    if (!this.#streams.wants('request') && this.#listeners.request.size === 0) return;
    this.publish('request', viewOf(exchange));
  }

  /** Calls `listener` for every event of a kind. Returns the function that removes it. */
  listen<K extends EventKind>(kind: K, listener: (data: EventData[K]) => void): () => void {
    return this.#attached(this.#listeners[kind], listener);
  }

  /** Calls `watcher` after messages were accepted or changed; several changes may share a call. */
  watch(watcher: () => void): () => void {
    return this.#attached(this.#watchers, watcher);
  }

  /** Throws if the largest number of streams is open. */
  checkStreams(): void {
    this.#streams.checkRoom();
  }

  /** Opens a stream. Returns the function that closes it. */
  stream(listener: ActivityListener, options: StreamOptions = {}): () => void {
    if (!this.#streams.wants('traffic')) this.#traffic.take(this.#live.exchangeRecord);
    return this.#streams.open(listener, options);
  }

  /** Ends all streams. */
  close(): void {
    this.#streams.close();
  }

  /** Attaches to the current simulation; called again whenever it was replaced. */
  attach(): void {
    const hasListeners = Object.values(this.#listeners).some(({ size }) => size > 0);
    this.#isWatched = hasListeners || this.#streams.isWatched;
    this.#live.wallClock.watch(this.#isWatched);
    const { lifecycle } = this.#live.simulation;
    const isRead =
      this.#watchers.size > 0 || this.#listeners.message.size > 0 || this.#streams.wants('message');
    lifecycle.reader = isRead ? this.#reader : undefined;
  }

  #attached<T>(readers: Set<T>, reader: T): () => void {
    readers.add(reader);
    this.attach();
    return () => {
      readers.delete(reader);
      this.attach();
    };
  }

  readonly #reader: StatusReader = {
    accepted: (message) => this.#changed(message, null),
    changed: (message, from) => this.#changed(message, from),
    changedUnread: (count) => {
      this.#streams.count('message', count);
      for (const watcher of this.#watchers) watcher();
    },
    wantedOf: (count) =>
      this.#listeners.message.size > 0 ? count : this.#streams.wantedOf('message', count),
  };

  #changed(message: Message, from: Status | null): void {
    for (const watcher of this.#watchers) watcher();
    const isStreamed = this.#streams.count('message');
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
    if (isStreamed) this.#streams.send('message', event);
    for (const listener of [...this.#listeners.message]) listener(event);
  }

  #sendTraffic(): void {
    if (!this.#streams.wants('traffic')) return;
    const traffic = this.#traffic.take(this.#live.exchangeRecord);
    if (traffic !== undefined) this.#streams.sendSummary('traffic', traffic);
  }
}
