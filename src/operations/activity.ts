/**
 * What happens, told as it happens: messages, SIMs, requests, the clock.
 * Nothing is made or kept before somebody listens. From the first stream of events on, the last ones are kept,
 * so that a reader who comes back with the id of the last event it saw misses none of them.
 */
import { LeverError } from '../sim/lever-error.ts';
import { isoTime, type Message, type Status } from '../sim/message.ts';
import type { ClockState } from './clock-state.ts';
import type { Live } from './live.ts';
import type { RequestView } from './requests.ts';
import type { SimView } from './sim-view.ts';

/** One status that a message took; `from_status` is null for one just accepted. */
export interface MessageEvent {
  readonly message_id: string;
  readonly account_id: string;
  readonly device_id: string;
  readonly from_number: string;
  readonly to: string;
  readonly status: Status;
  readonly from_status: Status | null;
  readonly failure_reason: string | null;
  readonly at: string;
}

interface EventData {
  readonly message: MessageEvent;
  readonly sim: SimView & { readonly deleted?: true };
  readonly request: RequestView;
  readonly clock: ClockState;
  /** `missed` events are no longer kept. */
  readonly gap: { readonly missed: number };
}

export type EventKind = keyof EventData;
export const eventKinds = ['message', 'sim', 'request', 'clock'] as const;

export type ActivityEvent = {
  readonly [K in EventKind]: { readonly id: number; readonly kind: K; readonly data: EventData[K] };
}[EventKind];

export type ActivityListener = (event: ActivityEvent) => void;

/** Events kept for readers that come back. */
export const keptEvents = 1_000;
/** Streams of events at one time; one more is refused. */
export const mostStreams = 100;

export class Activity {
  readonly #live: Live;
  readonly #listeners = new Set<ActivityListener>();
  readonly #kept: ActivityEvent[] = [];
  #streams = 0;
  #keeps = false;
  #lastId = 0;

  constructor(live: Live) {
    this.#live = live;
  }

  /** Whether anybody wants to know; asked before an event is made. */
  get isWatched(): boolean {
    return this.#keeps || this.#listeners.size > 0;
  }

  publish<K extends EventKind>(kind: K, data: EventData[K]): void {
    const event = { id: ++this.#lastId, kind, data } as ActivityEvent;
    // A ring by id: the event takes the place of the one that is `keptEvents` older.
    if (this.#keeps) this.#kept[event.id % keptEvents] = event;
    for (const listener of [...this.#listeners]) listener(event);
  }

  /** Hears of everything from now on. Returns what ends it. */
  listen(listener: ActivityListener): () => void {
    this.#listeners.add(listener);
    this.attach();
    return () => {
      this.#listeners.delete(listener);
      this.attach();
    };
  }

  /** Throws where there are as many streams as there may be. */
  checkStreams(): void {
    if (this.#streams < mostStreams) return;
    throw new LeverError('conflict', `there are ${mostStreams} streams of events already`);
  }

  /** As `listen`, but first all that came after the event `lastSeenId`, as far as it is kept. */
  stream(listener: ActivityListener, lastSeenId?: number): () => void {
    this.checkStreams();
    this.#keeps = true;
    if (lastSeenId !== undefined && lastSeenId < this.#lastId) {
      const missed: ActivityEvent[] = [];
      for (let id = Math.max(lastSeenId + 1, this.#lastId - keptEvents + 1); id <= this.#lastId; ) {
        const event = this.#kept[id % keptEvents];
        if (event?.id === id) missed.push(event);
        id++;
      }
      const lost = this.#lastId - lastSeenId - missed.length;
      const before = (missed[0]?.id ?? this.#lastId + 1) - 1;
      if (lost > 0) listener({ id: before, kind: 'gap', data: { missed: lost } });
      for (const event of missed) listener(event);
    }
    const unlisten = this.listen(listener);
    this.#streams++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#streams--;
      unlisten();
    };
  }

  /** Binds to the simulation of the present; called again whenever it was replaced. */
  attach(): void {
    const { lifecycle } = this.#live.simulation;
    lifecycle.onStatus = this.isWatched ? this.#onStatus : undefined;
    lifecycle.onAccepted = this.isWatched ? this.#onStatus : undefined;
  }

  readonly #onStatus = (message: Message, from?: Status): void => {
    this.publish('message', {
      message_id: message.messageId,
      account_id: message.account.accountId,
      device_id: message.device.deviceId,
      from_number: message.device.number,
      to: message.to,
      status: message.status,
      from_status: from ?? null,
      failure_reason: message.failureReason ?? null,
      at: isoTime(message.changedAtMs),
    });
  };
}
