/**
 * Passes the simulator's events to listeners, from a stream that all tabs share. A hidden page does
 * not listen. If events were lost or the world was replaced, every listener must read everything
 * again.
 */
import { signal } from '@preact/signals';
import { controlToken, tokenIsMissing } from './control.ts';
import { routeOf } from './declared.ts';
import { aliveEveryMs, EventDesk, type News, type Wish } from './event-desk.ts';
import type { ServerEvent } from './event-reader.ts';
import { worldPrefix } from './hosted-world.ts';
import type { ClockState, MessageEvent, Sim, Traffic } from './wire.ts';

interface EventData {
  readonly message: MessageEvent;
  readonly sim: Sim;
  readonly clock: ClockState;
  readonly traffic: Traffic;
  readonly operation: { readonly name: string };
}
export type EventKind = keyof EventData;

/**
 * Called with events of one kind that arrived together, in order; undefined: read everything again.
 */
export type EventListener<K extends EventKind> = (
  events: readonly EventData[K][] | undefined,
) => void;

export const connection = signal<'connecting' | 'live' | 'lost' | 'gone'>('connecting');

const listeners: { readonly [K in EventKind]: Set<EventListener<K>> } = {
  message: new Set(),
  sim: new Set(),
  clock: new Set(),
  traffic: new Set(),
  operation: new Set(),
};
const kinds = Object.keys(listeners) as EventKind[];

/** Returns the function that removes the listener. */
export function onEvents<K extends EventKind>(kind: K, listener: EventListener<K>): () => void {
  listeners[kind].add(listener);
  return () => void listeners[kind].delete(listener);
}

/** Announces that all data read so far may be out of date. */
export function announceAnotherWorld(): void {
  for (const own of Object.values(listeners)) for (const listener of [...own]) listener(undefined);
}

let say: ((wish: Wish) => void) | undefined;
/** True while this page gets no events, so that what it shows may be out of date. */
let isStale = true;
let saidWish = '';

export function followEvents(): void {
  say = joinDesk(hear);
  sayWish();
  document.addEventListener('visibilitychange', () => sayWish());
  addEventListener('pagehide', () => sayWish(false));
  addEventListener('pageshow', () => sayWish());
  setInterval(() => {
    if (isVisible()) say?.(wish());
  }, aliveEveryMs);
}

/** Tries again at once instead of waiting for the next attempt. */
export function reconnectNow(): void {
  say?.({ ...wish(), retry: true });
}

function joinDesk(hear: (news: News) => void): (wish: Wish) => void {
  const url = `${worldPrefix}${routeOf('events.stream').path}`;
  if (!('SharedWorker' in globalThis)) return new EventDesk(url).join(hear);
  // The tabs of one world share a worker; its name is the address of the events.
  const worker = new SharedWorker('/assets/events-worker.js', { type: 'module', name: url });
  worker.port.onmessage = ({ data }: { readonly data: News }) => hear(data);
  worker.onerror = () => {
    say = new EventDesk(url).join(hear);
    say(wish());
  };
  return (wish) => worker.port.postMessage(wish);
}

function isVisible(): boolean {
  return document.visibilityState === 'visible';
}

function wish(isShown = isVisible()): Wish {
  return { token: controlToken(), kinds: isShown ? kinds : [] };
}

function sayWish(isShown = isVisible()): void {
  const next = wish(isShown);
  const text = JSON.stringify(next);
  if (say === undefined || text === saidWish) return;
  saidWish = text;
  if (next.kinds.length === 0) isStale = true;
  say(next);
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
  const byKind = Object.fromEntries(kinds.map((kind) => [kind, []])) as unknown as {
    [K in EventKind]: EventData[K][];
  };
  for (const { kind, data } of events) {
    if (kind === 'behind') {
      announceAnotherWorld();
      return;
    }
    if (isHeard(kind)) byKind[kind].push(JSON.parse(data) as never);
  }
  for (const kind of kinds) {
    if (byKind[kind].length === 0) continue;
    for (const listener of [...listeners[kind]]) listener(byKind[kind] as never);
  }
}

function isHeard(kind: string): kind is EventKind {
  return kind in listeners && listeners[kind as EventKind].size > 0;
}
