/**
 * Simulated time and the simulator's counts, as the page shows them. Both are read again after
 * events and when the next timer was due. Fewer messages or an earlier time mean that the simulator
 * was reset: the page then reads everything again.
 */
import { computed, signal } from '@preact/signals';
import { secondMs } from '#contract/time.ts';
import { call, type State } from './control.ts';
import { announceStaleData, kinds } from './events.ts';
import type { Row } from './list-declaration.ts';
import { isFlooded, Resource } from './resource.ts';
import { counted } from './value-texts.ts';

export const state = signal<State | undefined>(undefined);
/** The real time (of `performance.now`) at which the page got the state. */
let receivedMs = 0;
/** The real time at which the shown time was last brought forward. */
const tickedMs = signal(0);

export const clock = computed(() => state.value?.clock);

/** `ms` while simulated time passes by itself, otherwise undefined: for `everyMs` of resources. */
export const whileRunning = (ms: number) => ((clock.value?.rate ?? 0) > 0 ? ms : undefined);

/** Simulated time in epoch milliseconds; between two reads it advances at the clock's rate. */
export const nowMs = computed(() => {
  if (clock.value === undefined) return undefined;
  const passedMs = Math.max(0, tickedMs.value - receivedMs);
  return Date.parse(clock.value.now) + Math.floor(passedMs * clock.value.rate);
});

const tickPeriodMs = 250;
/** More requests per second than this, of all clients together, are too many to follow. */
const mostPerSecond = 200;

export function followClock(): void {
  const stateResource = new Resource(readState);
  stateResource.follow(kinds);
  setInterval(() => {
    if ((clock.value?.rate ?? 0) <= 0 || document.visibilityState !== 'visible') return;
    tickedMs.value = performance.now();
    const { next_at: nextAt = null } = clock.value ?? {};
    if (nextAt !== null && Date.parse(nextAt) < (nowMs.value ?? 0)) stateResource.readSoon();
  }, tickPeriodMs);
}

/** What the last advance by this page did, as a sentence. */
export const advanceOutcome = signal('');

/** Advances simulated time by the input of `clock.advance`, and describes what happened. */
export async function advanceClock(input: Row): Promise<void> {
  await readState();
  const before = state.value;
  await describeAdvance(await call('clock.advance', input), before);
}

/** Sets `advanceOutcome`. `before`: the counts before the advance. */
export async function describeAdvance({ fired }: Row, before: State | undefined): Promise<void> {
  await readState();
  const after = state.value;
  const changes = reachedStatuses.flatMap((status) => {
    const count = (after?.messages[status] ?? 0) - (before?.messages[status] ?? 0);
    return count > 0 ? [counted(count, status, status)] : [];
  });
  const timers = `${counted(Number(fired), 'timer')} fired`;
  advanceOutcome.value = `${timers}: ${changes.join(', ') || 'no message changed'}.`;
}

/** Statuses that an advance moves messages to. */
const reachedStatuses = ['delivered', 'failed', 'sent', 'sending'] as const;

/** A running clock may seem to go back by less, because of rounding. */
const roundingMs = 1_000;

/** Reads clock and counts again. Ignores a failure: the connection state shows it. */
export async function readState(): Promise<void> {
  try {
    const current = await call('simulator.state');
    const { clock: before, messages, requests } = state.value ?? current;
    const passedMs = performance.now() - receivedMs;
    isFlooded.value = (current.requests - requests) * secondMs > mostPerSecond * passedMs;
    receivedMs += passedMs;
    state.value = current;
    tickedMs.value = receivedMs;
    const hasFewer = current.messages.total < messages.total || current.requests < requests;
    const hasGoneBack = Date.parse(current.clock.now) < Date.parse(before.now) - roundingMs;
    if (hasFewer || hasGoneBack) announceStaleData();
  } catch {}
}
