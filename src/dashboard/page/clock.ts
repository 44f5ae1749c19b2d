/**
 * Simulated time as the page shows it, and the simulator's counts. Both are read again after events
 * and when the next timer was due. A reset shows as fewer messages or an earlier time.
 */
import { computed, signal } from '@preact/signals';
import { call } from './control.ts';
import { announceAnotherWorld, onEvents } from './events.ts';
import { Reading } from './reading.ts';
import type { ClockState, State } from './wire.ts';
import { counted } from './words.ts';

export const state = signal<State | undefined>(undefined);
const heard = signal<{ readonly clock: ClockState; readonly atMs: number } | undefined>(undefined);
const tick = signal(0);

export const clock = computed(() => heard.value?.clock);

/** The period of readings that passing time changes; undefined while time stands still. */
export const whileRunning = (ms: number) => ((clock.value?.rate ?? 0) > 0 ? ms : undefined);

/**
 * The simulated present in epoch milliseconds; between two readings it advances at the clock's
 * rate.
 */
export const nowMs = computed(() => {
  if (heard.value === undefined) return undefined;
  const { clock, atMs } = heard.value;
  const passedMs = Math.max(0, tick.value - atMs);
  return Date.parse(clock.now) + Math.floor(passedMs * clock.rate);
});

/** `isAnother`: the world is known to be another one. Time that went back shows that, too. */
function hearClock(clock: ClockState, isAnother = false): void {
  const known = heard.value;
  const atMs = performance.now();
  heard.value = { clock, atMs };
  tick.value = atMs;
  // More than the rounding of a running clock.
  const isBack = known && Date.parse(clock.now) < Date.parse(known.clock.now) - 1_000;
  if (isAnother || isBack) announceAnotherWorld();
}

const tickMs = 250;

export function followClock(): void {
  onEvents('clock', (events) => {
    const last = events?.at(-1);
    if (last === undefined) void readState();
    else hearClock(last);
  });
  const reading = new Reading(readState);
  reading.follow(['message', 'traffic', 'operation']);
  setInterval(() => {
    if ((clock.value?.rate ?? 0) <= 0 || document.visibilityState !== 'visible') return;
    tick.value = performance.now();
    const { next_at: nextAt = null } = clock.value ?? {};
    if (nextAt !== null && Date.parse(nextAt) < (nowMs.value ?? 0)) reading.soon();
  }, tickMs);
}

/** What the last advance of this page did. */
export const advanced = signal('');

/** Advances simulated time, and says what happened on the way. */
export async function advanceClock(how: Readonly<Record<string, unknown>>): Promise<void> {
  await readState();
  const before = state.value;
  await sayAdvanced(await call('clock.advance', how), before);
}

/** `before`: the counts before the advance. */
export async function sayAdvanced(
  { fired }: { readonly fired?: unknown },
  before: State | undefined,
): Promise<void> {
  await readState();
  const after = state.value;
  const changes = ends.flatMap((status) => {
    const count = (after?.messages[status] ?? 0) - (before?.messages[status] ?? 0);
    return count > 0 ? [counted(count, status, status)] : [];
  });
  const timers = `${counted(Number(fired), 'timer')} fired`;
  advanced.value = `${timers}: ${changes.join(', ') || 'no message changed'}.`;
}

const ends = ['delivered', 'failed', 'sent', 'sending'] as const;

/** Reads the numbers again; a failure shows in the connection state. */
export async function readState(): Promise<void> {
  try {
    const now = await call('simulator.state');
    const before = state.value;
    const isAnother =
      before !== undefined &&
      (now.messages.total < before.messages.total || now.requests < before.requests);
    state.value = now;
    hearClock(now.clock, isAnother);
  } catch {}
}
