/**
 * What happens in the simulator, as it happens. A broken stream is taken up where it ended; when events are
 * lost for good, or the world is another one, every listener is told to read everything again.
 */
import { signal } from '@preact/signals';
import { fetchControl, tokenIsMissing } from './control.ts';
import { EventReader } from './event-reader.ts';
import type { ClockState, MessageEvent, ServiceRequest, Sim } from './wire.ts';

interface EventData {
  readonly message: MessageEvent;
  readonly sim: Sim;
  readonly request: ServiceRequest;
  readonly clock: ClockState;
}
export type EventKind = keyof EventData;

/** All events of one kind that came together, in order; undefined: read everything again. */
export type EventListener<K extends EventKind> = (
  events: readonly EventData[K][] | undefined,
) => void;

export const connection = signal<'connecting' | 'live' | 'lost'>('connecting');

const listeners: { readonly [K in EventKind]: Set<EventListener<K>> } = {
  message: new Set(),
  sim: new Set(),
  request: new Set(),
  clock: new Set(),
};

/** Returns what ends it. */
export function onEvents<K extends EventKind>(kind: K, listener: EventListener<K>): () => void {
  listeners[kind].add(listener);
  return () => void listeners[kind].delete(listener);
}

/** Everything that was read may be out of date. */
export function announceAnotherWorld(): void {
  for (const kind of Object.keys(listeners) as EventKind[]) {
    for (const listener of [...listeners[kind]]) listener(undefined);
  }
}

let lastEventId: string | undefined;
let wake: (() => void) | undefined;

/** Tries again at once, where a pause between two tries runs. */
export function reconnectNow(): void {
  wake?.();
}

export async function followEvents(): Promise<never> {
  let pauseMs = 0;
  for (;;) {
    const hasBegun = await readStream();
    if (tokenIsMissing.value) connection.value = 'connecting';
    // A stream that ran is taken up at once, and quietly unless that fails.
    else if (!hasBegun) connection.value = 'lost';
    pauseMs = hasBegun ? 100 : Math.min(5_000, Math.max(500, pauseMs * 2));
    await pause(pauseMs);
  }
}

/** Resolves when the stream is over: true if it had begun. */
async function readStream(): Promise<boolean> {
  let hasBegun = false;
  try {
    const headers: HeadersInit = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const response = await fetchControl('/control/events?kinds=message,sim,clock,request', {
      headers,
    });
    if (!response.ok || response.body === null) return false;
    const isFirst = connection.value === 'connecting';
    const wasLost = connection.value === 'lost';
    hasBegun = true;
    connection.value = 'live';
    // After a pause that was seen, the process may be another one, whose ids begin anew.
    if (isFirst || wasLost) announceAnotherWorld();
    const reader = new EventReader();
    const stream = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await stream.read();
      if (done) return true;
      deliver(reader.read(value));
    }
  } catch {
    return hasBegun;
  }
}

function deliver(events: ReturnType<EventReader['read']>): void {
  const byKind = { message: [], sim: [], request: [], clock: [] } as {
    [K in EventKind]: EventData[K][];
  };
  let isGap = false;
  for (const { kind, data, id } of events) {
    lastEventId = id ?? lastEventId;
    if (kind === 'gap' || kind === 'dense') isGap = true;
    else if (kind in byKind) byKind[kind as EventKind].push(JSON.parse(data) as never);
  }
  if (isGap) announceAnotherWorld();
  for (const kind of Object.keys(byKind) as EventKind[]) {
    if (byKind[kind].length === 0) continue;
    for (const listener of [...listeners[kind]]) listener(byKind[kind] as never);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      wake = undefined;
      resolve();
    };
    const timer = setTimeout(done, ms);
    wake = done;
  });
}
