/**
 * Passes the simulator's events to listeners, from a stream that all tabs share. A hidden page does
 * not listen. If events were lost or the world was replaced, every listener must read everything
 * again.
 */
import { signal } from '@preact/signals';
import type { EventKind as StreamKind } from '#src/operations/events/activity-events.ts';
import { controlToken, routeOf, tokenIsMissing } from './control.ts';
import { worldPrefix } from './route.ts';
import {
  type ListenRequest,
  type News,
  SharedEvents,
  type StreamAddress,
} from './shared-events.ts';

export const kinds = [
  'messages',
  'sim',
  'clock',
  'traffic',
  'operation',
] as const satisfies readonly StreamKind[];
export type EventKind = (typeof kinds)[number];

export const connection = signal<'connecting' | 'live' | 'lost' | 'gone'>('connecting');

const listenersByKind = new Map<EventKind, Set<() => void>>(kinds.map((kind) => [kind, new Set()]));

/** Calls the listener after events of this kind. Returns the function that removes it. */
export function onEvents(kind: EventKind, listener: () => void): () => void {
  const listeners = listenersByKind.get(kind);
  listeners?.add(listener);
  return () => void listeners?.delete(listener);
}

/** Announces that data of these kinds may be out of date. */
export function announceStaleData(stale: readonly string[] = kinds): void {
  for (const [kind, listeners] of listenersByKind)
    if (stale.includes(kind)) for (const listener of [...listeners]) listener();
}

let sendRequest: (request: ListenRequest) => void = () => {};

/** Joins the stream and leaves it while the page is hidden or closed. */
export function followEvents(): void {
  joinStream();
  listenWhileVisible();
  document.addEventListener('visibilitychange', listenWhileVisible);
  addEventListener('pagehide', () => sendRequest({ isListening: false }));
  addEventListener('pageshow', listenWhileVisible);
}

/** Reconnects at once instead of waiting for the next attempt. */
export function reconnectNow(): void {
  sendRequest({ isListening: true, retry: true });
}

function joinStream(): void {
  const url = `${worldPrefix}${routeOf('events.stream').path}?kinds=${kinds.join()}&pause=1s`;
  const address: StreamAddress = { url, token: controlToken() };
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
    const stale = news.events.map(({ kind }) => kind);
    // The server sends `behind` if it no longer has all events since the last one that was read.
    announceStaleData(stale.includes('behind') ? kinds : stale);
    return;
  }
  const { state } = news;
  if (state === 'refused') tokenIsMissing.value = true;
  connection.value = state === 'refused' ? 'connecting' : state;
  // Until now this page got no events, so what it shows may be out of date.
  if (state === 'live') announceStaleData();
}
