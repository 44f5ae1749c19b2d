/**
 * Passes the simulator's events to listeners, from a stream that all tabs share. A hidden page does
 * not listen. If events were lost or the world was replaced, every listener must read everything
 * again.
 */
import { signal } from '@preact/signals';
import type { EventData } from '../../operations/activity-events.ts';
import { controlToken, routeOf, tokenIsMissing } from './control.ts';
import {
  aliveEveryMs,
  EventDesk,
  type News,
  type ServerEvent,
  type Stream,
  type Wish,
} from './event-desk.ts';
import { worldPrefix } from './route.ts';

const kinds = ['message', 'sim', 'clock', 'traffic', 'operation'] as const;
export type EventKind = (typeof kinds)[number];

/**
 * Called with events of one kind that arrived together, in order; undefined: read everything again.
 */
export type EventListener<K extends EventKind> = (
  events: readonly EventData[K][] | undefined,
) => void;

export const connection = signal<'connecting' | 'live' | 'lost' | 'gone'>('connecting');

const listeners = new Map<EventKind, Set<EventListener<never>>>(
  kinds.map((kind) => [kind, new Set()]),
);

/** Returns the function that removes the listener. */
export function onEvents<K extends EventKind>(kind: K, listener: EventListener<K>): () => void {
  const own = listeners.get(kind);
  own?.add(listener);
  return () => void own?.delete(listener);
}

/** Announces that all data read so far may be out of date. */
export function announceAnotherWorld(): void {
  for (const own of listeners.values()) for (const listener of [...own]) listener(undefined);
}

let say: (wish: Wish) => void = () => {};
/** The token with which the stream was joined. */
let token: string | null = null;
/** True while this page gets no events, so that what it shows may be out of date. */
let isStale = true;

export function followEvents(): void {
  joinDesk();
  listen();
  document.addEventListener('visibilitychange', () => listen());
  addEventListener('pagehide', () => listen(false));
  addEventListener('pageshow', () => listen());
  setInterval(() => {
    if (isVisible()) listen();
  }, aliveEveryMs);
}

/** Tries again at once instead of waiting for the next attempt, with the token of now. */
export function reconnectNow(): void {
  if (controlToken() !== token) {
    say({ isListening: false });
    joinDesk();
  }
  say({ isListening: true, retry: true });
}

function joinDesk(): void {
  token = controlToken();
  const url = `${worldPrefix}${routeOf('events.stream').path}?kinds=${kinds.join()}`;
  const stream: Stream = { url, token };
  const joinAlone = () => {
    say = new EventDesk(stream).join(hear);
  };
  if (!('SharedWorker' in globalThis)) {
    joinAlone();
    return;
  }
  // Tabs that name the same stream share a worker.
  const name = JSON.stringify(stream);
  const worker = new SharedWorker('/assets/events-worker.js', { type: 'module', name });
  worker.port.onmessage = ({ data }: { readonly data: News }) => hear(data);
  worker.onerror = () => {
    joinAlone();
    listen();
  };
  say = (wish) => worker.port.postMessage(wish);
}

function isVisible(): boolean {
  return document.visibilityState === 'visible';
}

function listen(isListening = isVisible()): void {
  if (!isListening) isStale = true;
  say({ isListening });
}

function hear(news: News): void {
  if (news === 'refused') {
    tokenIsMissing.value = true;
    connection.value = 'connecting';
  } else if (typeof news === 'string') {
    connection.value = news;
    if (news === 'lost' || news === 'gone') isStale = true;
    if (news !== 'live' || !isStale) return;
    isStale = false;
    announceAnotherWorld();
  } else {
    deliver(news);
  }
}

function deliver(events: readonly ServerEvent[]): void {
  if (events.some(({ kind }) => kind === 'behind')) {
    announceAnotherWorld();
    return;
  }
  for (const [kind, own] of listeners) {
    if (own.size === 0) continue;
    const data = events.flatMap((event) =>
      event.kind === kind ? [JSON.parse(event.data) as never] : [],
    );
    if (data.length > 0) for (const listener of [...own]) listener(data);
  }
}
