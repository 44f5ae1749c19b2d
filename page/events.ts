/**
 * Passes the simulator's events to listeners, from a stream that all tabs share. A hidden page does
 * not listen. If events were lost or the world was replaced, every listener must read everything
 * again.
 */
import { signal } from '@preact/signals';
import type { EventData } from '#src/operations/events/activity-events.ts';
import { controlToken, routeOf, tokenIsMissing } from './control.ts';
import { worldPrefix } from './route.ts';
import {
  type ListenRequest,
  type News,
  type ServerEvent,
  SharedEvents,
  type StreamAddress,
} from './shared-events.ts';

export const kinds = ['message', 'sim', 'clock', 'traffic', 'operation'] as const;
export type EventKind = (typeof kinds)[number];

/**
 * Called with events of one kind that arrived together, in order; undefined: read everything again.
 */
export type EventListener<K extends EventKind> = (
  events: readonly EventData[K][] | undefined,
) => void;

export const connection = signal<'connecting' | 'live' | 'lost' | 'gone'>('connecting');

const listenersByKind = new Map<EventKind, Set<EventListener<never>>>(
  kinds.map((kind) => [kind, new Set()]),
);

/** Returns the function that removes the listener. */
export function onEvents<K extends EventKind>(kind: K, listener: EventListener<K>): () => void {
  const listeners = listenersByKind.get(kind);
  listeners?.add(listener);
  return () => void listeners?.delete(listener);
}

/** Announces that all data read so far may be out of date. */
export function announceStaleData(): void {
  for (const listeners of listenersByKind.values()) {
    for (const listener of [...listeners]) listener(undefined);
  }
}

let sendRequest: (request: ListenRequest) => void = () => {};
/** The token with which the stream was joined. */
let joinedToken: string | null = null;

/** Joins the stream and leaves it while the page is hidden or closed. */
export function followEvents(): void {
  joinStream();
  listenWhileVisible();
  document.addEventListener('visibilitychange', listenWhileVisible);
  addEventListener('pagehide', () => sendRequest({ isListening: false }));
  addEventListener('pageshow', listenWhileVisible);
}

/**
 * Reconnects at once instead of waiting for the next attempt; with the new token, if it changed.
 */
export function reconnectNow(): void {
  if (controlToken() !== joinedToken) {
    sendRequest({ isListening: false });
    joinStream();
  }
  sendRequest({ isListening: true, retry: true });
}

function joinStream(): void {
  joinedToken = controlToken();
  const url = `${worldPrefix}${routeOf('events.stream').path}?kinds=${kinds.join()}`;
  const address: StreamAddress = { url, token: joinedToken };
  const joinAlone = () => {
    sendRequest = new SharedEvents(address).join(receive);
  };
  if (!('SharedWorker' in globalThis)) {
    joinAlone();
    return;
  }
  // Tabs that give a worker the same name share it.
  const name = JSON.stringify(address);
  const worker = new SharedWorker('/assets/events-worker.js', { type: 'module', name });
  worker.port.onmessage = ({ data }: { readonly data: News }) => receive(data);
  worker.onerror = () => {
    joinAlone();
    listenWhileVisible();
  };
  sendRequest = (request) => worker.port.postMessage(request);
}

function listenWhileVisible(): void {
  sendRequest({ isListening: document.visibilityState === 'visible' });
}

function receive(news: News): void {
  if ('events' in news) {
    deliver(news.events);
    return;
  }
  const { state } = news;
  if (state === 'refused') tokenIsMissing.value = true;
  connection.value = state === 'refused' ? 'connecting' : state;
  // Until now this page got no events, so what it shows may be out of date.
  if (state === 'live') announceStaleData();
}

function deliver(events: readonly ServerEvent[]): void {
  // The server sends `behind` if it no longer has all events since the last one that was read.
  if (events.some(({ kind }) => kind === 'behind')) {
    announceStaleData();
    return;
  }
  for (const [kind, listeners] of listenersByKind) {
    if (listeners.size === 0) continue;
    const data = events.flatMap((event) =>
      event.kind === kind ? [JSON.parse(event.data) as never] : [],
    );
    if (data.length > 0) for (const listener of [...listeners]) listener(data);
  }
}
