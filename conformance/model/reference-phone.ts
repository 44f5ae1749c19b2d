/**
 * The work of SIMs on their messages: polls, pickups, progress, failures.
 * Rules: SVC-3, STATE-2 to STATE-5, SEND-7. Assumes: progressPace, pollIntervalSeconds,
 * sendsPerPoll, failsFrom, deactivation. Polls are computed one after another when time moves,
 * without a queue or timers.
 */
import type { Assumptions } from './assumptions.ts';

export type Status = 'queued' | 'sending' | 'sent' | 'delivered' | 'failed';

/** How a message ends, in which status, and how many polls each of its steps takes. */
export type Fate =
  | { readonly ends: 'delivered'; readonly polls: number }
  | {
      readonly ends: 'failed' | 'stuck';
      readonly in: 'queued' | 'sending' | 'sent';
      readonly polls: number;
    };

export interface ReferenceSim {
  readonly deviceId: string;
  readonly number: string;
  /** Undefined: a number of the shared pool. */
  readonly accountId: string | undefined;
  active: boolean;
  connected: boolean;
  allowed: boolean;
  polling: 'simulated' | 'external';
  readonly firstPollAtMs: number;
  /** Since when it has been both active and connected. */
  ableSinceMs: number;
}

export interface ReferenceMessage {
  readonly messageId: string;
  readonly accountId: string;
  readonly deviceId: string;
  readonly requestId: string;
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly segments: number;
  readonly createdAtMs: number;
  /** When it may first be picked up: at its creation, or at the end of its hold. */
  readonly dueAtMs: number;
  fate: Fate;
  status: Status;
  history: { status: Status; atMs: number }[];
  /** Polls since its last change. */
  polls: number;
  /** When its device was handed it, if the device has yet to report that (`taskPickup`). */
  handedOutAtMs?: number;
}

/** True if the message may change at the next poll. */
function isWaitingForPoll(
  message: ReferenceMessage,
  dueBy: number,
  { progressPace }: Assumptions,
): boolean {
  if (isStuck(message)) return false;
  if (message.status === 'queued')
    return message.dueAtMs <= dueBy && message.handedOutAtMs === undefined;
  return isInFlight(message) && progressPace === 'per_poll';
}

function isInFlight(message: ReferenceMessage): boolean {
  return (message.status === 'sending' || message.status === 'sent') && !isStuck(message);
}

/** True if the message changes at its own time, not at a poll. */
export function isPaced(message: ReferenceMessage, { progressPace }: Assumptions): boolean {
  const isReported = message.status === 'queued' && message.handedOutAtMs !== undefined;
  return isReported || (progressPace === 'own_delay' && isInFlight(message));
}

function isStuck({ fate, status }: ReferenceMessage): boolean {
  return fate.ends === 'stuck' && fate.in === status;
}

/** Runs all polls of one SIM after `from`, up to and including `to`. */
export function pollUntil(
  sim: ReferenceSim,
  messages: readonly ReferenceMessage[],
  from: number,
  to: number,
  assumptions: Assumptions,
): void {
  if (!sim.active || !sim.connected || sim.polling !== 'simulated') return;
  const own = messages.filter((m) => m.deviceId === sim.deviceId);
  const intervalMs = Number(assumptions.pollIntervalSeconds) * 1000;
  let after = from;
  for (;;) {
    // Skips polls without work: continues at the first poll at which something can move.
    const waiting = own.filter((m) => isWaitingForPoll(m, Number.POSITIVE_INFINITY, assumptions));
    const earliest = Math.min(...waiting.map((m) => (m.status === 'queued' ? m.dueAtMs : after)));
    const pollAt = pollAfter(sim.firstPollAtMs, intervalMs, Math.max(after, earliest));
    if (waiting.length === 0 || pollAt > to) return;
    poll(sim, own, pollAt, assumptions, 'timed');
    after = pollAt;
  }
}

/** The first poll later than `after`; `firstPollAtMs` is the time of any one poll. */
function pollAfter(firstPollAtMs: number, intervalMs: number, after: number): number {
  return firstPollAtMs + (Math.floor((after - firstPollAtMs) / intervalMs) + 1) * intervalMs;
}

/**
 * One poll: progress first, then the pickup. Returns the picked-up messages. A `timed` poll comes
 * before everything else in its millisecond, also before the end of a hold; a requested poll comes
 * when it is requested. `at_once` ignores the rule of one change per interval.
 */
export function poll(
  sim: ReferenceSim,
  messages: readonly ReferenceMessage[],
  at: number,
  assumptions: Assumptions,
  kind: 'timed' | 'asked' | 'at_once',
): readonly ReferenceMessage[] {
  const dueBy = kind === 'timed' ? at - 1 : at;
  const own = messages.filter(
    (m) => m.deviceId === sim.deviceId && isWaitingForPoll(m, dueBy, assumptions),
  );
  const intervalMs = Number(assumptions.pollIntervalSeconds) * 1000;
  const inFlight = own.filter((m) => m.status !== 'queued');
  const queued = own.filter((m) => m.status === 'queued').sort((a, b) => a.dueAtMs - b.dueAtMs);
  for (const message of inFlight) {
    message.polls += 1;
    const isOldEnough = kind === 'at_once' || at - lastChange(message) >= intervalMs;
    if (message.polls >= message.fate.polls && isOldEnough) step(message, at);
  }
  const most = assumptions.sendsPerPoll === 'all' ? queued.length : assumptions.sendsPerPoll;
  const ready = [];
  for (const message of queued) {
    message.polls += 1;
    if (message.polls >= message.fate.polls) ready.push(message);
  }
  const taken = ready.slice(0, Number(most));
  if (kind === 'asked' && assumptions.taskPickup === 'reported') {
    const handedOut = taken.filter((message) => followingStatus(message) === 'sending');
    for (const message of handedOut) message.handedOutAtMs = at;
    for (const message of taken) if (!handedOut.includes(message)) step(message, at);
    return handedOut;
  }
  for (const message of taken) step(message, at);
  return taken.filter((message) => message.status === 'sending');
}

export function lastChange(message: ReferenceMessage): number {
  return message.history.at(-1)?.atMs ?? message.createdAtMs;
}

const next: Readonly<Record<Status, Status | undefined>> = {
  queued: 'sending',
  sending: 'sent',
  sent: 'delivered',
  delivered: undefined,
  failed: undefined,
};

function step(message: ReferenceMessage, at: number): void {
  const following = followingStatus(message);
  if (following !== undefined) change(message, following, at);
}

/** The next status, or `failed` if that is the message's fate; undefined if it stays. */
export function followingStatus(message: ReferenceMessage): Status | undefined {
  const { fate, status } = message;
  if (isStuck(message)) return undefined;
  return fate.ends === 'failed' && fate.in === status ? 'failed' : next[status];
}

export function change(message: ReferenceMessage, status: Status, at: number): void {
  message.status = status;
  message.polls = 0;
  message.history.push({ status, atMs: at });
}

/** Applies a deactivation to the queued messages of a SIM. */
export function deactivated(
  sim: ReferenceSim,
  messages: readonly ReferenceMessage[],
  at: number,
  assumptions: Assumptions,
): void {
  const mayFail = (assumptions.failsFrom as readonly string[]).includes('queued');
  if (assumptions.deactivation === 'stays_queued' || !mayFail) return;
  for (const message of messages) {
    const isQueued = message.deviceId === sim.deviceId && message.status === 'queued';
    if (isQueued && !isStuck(message) && message.handedOutAtMs === undefined)
      change(message, 'failed', at);
  }
}
