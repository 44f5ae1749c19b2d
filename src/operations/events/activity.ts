/**
 * Reports what happens in a simulator, as events, to its audience. A *listener* in this process gets
 * every event of one kind. A *stream* gets several kinds, over HTTP, and may miss some when there are
 * too many. Events are created only while there is an audience. A *change listener* gets no events:
 * it is only called after messages changed.
 */
import type { Status } from '#contract/message-status.ts';
import { isoTime } from '#contract/time.ts';
import type { ExchangeRecord } from '../../recording/exchange-record.ts';
import type { ReplayTarget } from '../../recording/play.ts';
import type { RecordedExchange } from '../../recording/recorded-exchange.ts';
import type { Message } from '../../sim/accounts/account.ts';
import { viewOf } from '../requests/request-views.ts';
import {
  type ActivityListener,
  type EventData,
  type ListenedKind,
  type MessageEvent,
  type StatusCounts,
  statusCounts,
  type TrafficCounts,
} from './activity-events.ts';
import { EventStreams, type StreamOptions } from './event-streams.ts';

/** The parts of the simulator that events come from. */
type EventOrigin = Pick<ReplayTarget, 'simulation' | 'wallClock' | 'exchangeRecord'>;
type StatusReader = NonNullable<EventOrigin['simulation']['lifecycle']['reader']>;

export class Activity {
  readonly #origin: EventOrigin;
  readonly #listeners: { readonly [K in ListenedKind]: Set<(data: EventData[K]) => void> } = {
    message: new Set(),
    sim: new Set(),
    clock: new Set(),
    request: new Set(),
    operation: new Set(),
  };
  readonly #changeListeners = new Set<() => void>();
  readonly #traffic = new TrafficSinceLast();
  /** The counts of messages that streams were sent last, as JSON. */
  #sentCounts = '';
  readonly #streams: EventStreams;
  #hasAudience = false;
  /** Gets the changes of messages from the simulation, while someone reads them. */
  readonly #statusReader: StatusReader = {
    accepted: (message) => this.#changed(message, null),
    changed: (message, from) => this.#changed(message, from),
    changedUnread: (count) => {
      this.#streams.admits('message', count);
      for (const onChange of this.#changeListeners) onChange();
    },
    wantedOf: (count) =>
      this.#listeners.message.size > 0 ? count : this.#streams.wantedOf('message', count),
  };

  constructor(origin: EventOrigin) {
    this.#origin = origin;
    this.#streams = new EventStreams({
      get isBound() {
        return origin.wallClock.mode === 'bound';
      },
      onTick: () => {
        this.#sendTraffic();
        this.#sendCounts();
      },
      onKindsChanged: () => this.attach(),
    });
  }

  /** True while there is a listener or a stream; check it before creating an event. */
  get hasAudience(): boolean {
    return this.#hasAudience;
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  /** Reports an event that the caller has created. */
  publish<K extends ListenedKind>(kind: K, data: EventData[K]): void {
    // Requests made before a clock change belong to the earlier time.
    if (kind === 'clock') this.#sendTraffic();
    if (this.#streams.admits(kind)) this.#streams.send(kind, data);
    for (const listener of [...this.#listeners[kind]]) listener(data);
  }

  answered(exchange: RecordedExchange): void {
    if (!this.#streams.wants('request') && this.#listeners.request.size === 0) return;
    this.publish('request', viewOf(exchange));
  }

  /** Calls `listener` for every event of a kind. Returns the function that removes it. */
  listen<K extends ListenedKind>(kind: K, listener: (data: EventData[K]) => void): () => void {
    return this.#addReader(this.#listeners[kind], listener);
  }

  /** Calls `onChange` after messages were accepted or changed; several changes may share a call. */
  onMessagesChanged(onChange: () => void): () => void {
    return this.#addReader(this.#changeListeners, onChange);
  }

  /** Throws if the largest number of streams is open. */
  checkStreams(): void {
    this.#streams.checkRoom();
  }

  /** Opens a stream. Returns the function that closes it. */
  openStream(listener: ActivityListener, options: StreamOptions = {}): () => void {
    if (!this.#streams.wants('traffic')) this.#traffic.take(this.#origin.exchangeRecord);
    // The first reader of sums gets those from now on.
    if (!this.#streams.wants('messages')) this.#sentCounts = JSON.stringify(this.#counts());
    return this.#streams.open(listener, options);
  }

  close(): void {
    this.#streams.close();
  }

  /**
   * Asks the current simulation for the changes that a reader needs. Called whenever the readers
   * change or the simulation is replaced.
   */
  attach(): void {
    const hasListeners = Object.values(this.#listeners).some(({ size }) => size > 0);
    this.#hasAudience = hasListeners || this.#streams.hasAudience;
    this.#origin.wallClock.watch(this.#hasAudience);
    const { lifecycle } = this.#origin.simulation;
    const isRead =
      this.#changeListeners.size > 0 ||
      this.#listeners.message.size > 0 ||
      this.#streams.wants('message');
    lifecycle.reader = isRead ? this.#statusReader : undefined;
  }

  #addReader<T>(readers: Set<T>, reader: T): () => void {
    readers.add(reader);
    this.attach();
    return () => {
      readers.delete(reader);
      this.attach();
    };
  }

  #changed(message: Message, from: Status | null): void {
    for (const onChange of this.#changeListeners) onChange();
    const isStreamed = this.#streams.admits('message');
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

  /** Streams the number of requests since the last call, if there were any. */
  #sendTraffic(): void {
    if (!this.#streams.wants('traffic')) return;
    const traffic = this.#traffic.take(this.#origin.exchangeRecord);
    if (traffic !== undefined) this.#streams.sendSummary('traffic', traffic);
  }

  #counts(): StatusCounts {
    return statusCounts(this.#origin.simulation.world);
  }

  /** Streams the counts of messages if they changed. Statuses only advance: no change is missed. */
  #sendCounts(): void {
    if (!this.#streams.wants('messages')) return;
    const counts = this.#counts();
    const text = JSON.stringify(counts);
    if (text === this.#sentCounts) return;
    this.#sentCounts = text;
    this.#streams.sendSummary('messages', counts);
  }
}

/** The requests since the last event `traffic`, from their total counts. */
class TrafficSinceLast {
  /** The totals at the last call, by `endpoint status`. */
  #last = new Map<string, number>();

  /** The counts since the last call; undefined if there are none. */
  take(record: ExchangeRecord): TrafficCounts | undefined {
    const seen = new Map<string, number>();
    const counts: TrafficCounts['counts'] = [];
    for (const { endpoint, status, count } of record.counts.answeredByStatus()) {
      const key = `${endpoint} ${status}`;
      seen.set(key, count);
      const since = count - (this.#last.get(key) ?? 0);
      const named = endpoint === 'unknown' ? null : endpoint;
      if (since > 0) counts.push({ endpoint: named, status, count: since });
    }
    this.#last = seen;
    const [newest] = record.newest();
    if (counts.length === 0 || newest === undefined) return undefined;
    return { at: isoTime(newest.atMs), last_number: newest.number, counts };
  }
}
