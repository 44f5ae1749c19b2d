/**
 * SIM devices in the reference model. A device polls for work: it picks up queued messages, and the
 * messages that it sends make progress or fail. When time moves, `runPolls` computes the polls one
 * after another, without a queue or timers.
 * Rules: SVC-3, STATE-2 to STATE-5, SEND-7. Assumes: progressPace, pollIntervalSeconds,
 * sendsPerPoll, taskPickup, failsFrom, deactivation.
 */
import type { Status } from '#contract/message-status.ts';
import type { Assumptions } from './answers.ts';

/** How a message ends, from which status, and how many polls each of its steps takes. */
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
  /** Polls since its last change of status. */
  polls: number;
  /** When its device got it as a task, if the device has not reported it yet (`taskPickup`). */
  handedOutAtMs?: number;
}

/** What a poll reads and changes. */
interface PollContext {
  readonly messages: readonly ReferenceMessage[];
  readonly nowMs: number;
  readonly assumptions: Assumptions;
}

/** True if the message may change at the next poll. */
function isWaitingForPoll(
  message: ReferenceMessage,
  dueByMs: number,
  { progressPace }: Assumptions,
): boolean {
  if (isStuck(message)) return false;
  if (message.status === 'queued')
    return message.dueAtMs <= dueByMs && message.handedOutAtMs === undefined;
  return isInFlight(message) && progressPace === 'per_poll';
}

function isInFlight(message: ReferenceMessage): boolean {
  return (message.status === 'sending' || message.status === 'sent') && !isStuck(message);
}

/** True if the next change of the message comes at a time of its own, not at a poll. */
export function changesOnItsOwn(message: ReferenceMessage, { progressPace }: Assumptions): boolean {
  const isReported = message.status === 'queued' && message.handedOutAtMs !== undefined;
  return isReported || (progressPace === 'own_delay' && isInFlight(message));
}

function isStuck({ fate, status }: ReferenceMessage): boolean {
  return fate.ends === 'stuck' && fate.in === status;
}

/** Runs all polls of one SIM after `afterMs`, up to and including `untilMs`. */
export function runPolls(
  sim: ReferenceSim,
  afterMs: number,
  untilMs: number,
  { messages, assumptions }: Omit<PollContext, 'nowMs'>,
): void {
  if (!sim.active || !sim.connected || sim.polling !== 'simulated') return;
  const own = messages.filter((message) => message.deviceId === sim.deviceId);
  const intervalMs = Number(assumptions.pollIntervalSeconds) * 1000;
  let lastPollMs = afterMs;
  for (;;) {
    const waiting = own.filter((each) =>
      isWaitingForPoll(each, Number.POSITIVE_INFINITY, assumptions),
    );
    // Skips polls without work: continues at the first poll at which a message can change.
    const dueTimes = waiting.map(({ status, dueAtMs }) =>
      status === 'queued' ? dueAtMs : lastPollMs,
    );
    const earliestMs = Math.max(lastPollMs, Math.min(...dueTimes));
    const pollMs = pollAfter(sim.firstPollAtMs, intervalMs, earliestMs);
    if (waiting.length === 0 || pollMs > untilMs) return;
    poll(sim, 'timed', { messages: own, nowMs: pollMs, assumptions });
    lastPollMs = pollMs;
  }
}

/** The first poll later than `afterMs`; `firstPollAtMs` is the time of any one poll. */
function pollAfter(firstPollAtMs: number, intervalMs: number, afterMs: number): number {
  return firstPollAtMs + (Math.floor((afterMs - firstPollAtMs) / intervalMs) + 1) * intervalMs;
}

/**
 * Runs one poll: progress first, then the pickup. Returns the messages that are picked up or handed
 * out. A `timed` poll precedes all other events of its millisecond, even the end of a hold. A
 * `requested` poll comes from an external device. An operation polls `at_once`: then a message may
 * change twice in an interval.
 */
export function poll(
  sim: ReferenceSim,
  kind: 'timed' | 'requested' | 'at_once',
  { messages, nowMs, assumptions }: PollContext,
): readonly ReferenceMessage[] {
  const dueByMs = kind === 'timed' ? nowMs - 1 : nowMs;
  const waiting = messages.filter(
    (each) => each.deviceId === sim.deviceId && isWaitingForPoll(each, dueByMs, assumptions),
  );
  for (const message of waiting) message.polls += 1;
  const ready = waiting.filter(({ polls, fate }) => polls >= fate.polls);
  const queued = ready.filter(({ status }) => status === 'queued');
  const inFlight = ready.filter(({ status }) => status !== 'queued');
  const intervalMs = Number(assumptions.pollIntervalSeconds) * 1000;
  for (const message of inFlight)
    if (kind === 'at_once' || nowMs - lastChange(message) >= intervalMs) takeStep(message, nowMs);
  const maxPickups = assumptions.sendsPerPoll === 'all' ? queued.length : assumptions.sendsPerPoll;
  const pickedUp = queued.sort((a, b) => a.dueAtMs - b.dueAtMs).slice(0, Number(maxPickups));
  if (kind === 'requested' && assumptions.taskPickup === 'reported') {
    const handedOut = pickedUp.filter((message) => followingStatus(message) === 'sending');
    for (const message of handedOut) message.handedOutAtMs = nowMs;
    for (const message of pickedUp) if (!handedOut.includes(message)) takeStep(message, nowMs);
    return handedOut;
  }
  for (const message of pickedUp) takeStep(message, nowMs);
  return pickedUp.filter((message) => message.status === 'sending');
}

/** When the message got its status. */
export function lastChange(message: ReferenceMessage): number {
  return message.history.at(-1)?.atMs ?? message.createdAtMs;
}

const nextStatus: Readonly<Record<Status, Status | undefined>> = {
  queued: 'sending',
  sending: 'sent',
  sent: 'delivered',
  delivered: undefined,
  failed: undefined,
};

function takeStep(message: ReferenceMessage, nowMs: number): void {
  const following = followingStatus(message);
  if (following !== undefined) changeStatus(message, following, nowMs);
}

/** The next status, or `failed` if that is the message's fate; undefined if it stays. */
export function followingStatus(message: ReferenceMessage): Status | undefined {
  const { fate, status } = message;
  if (isStuck(message)) return undefined;
  return fate.ends === 'failed' && fate.in === status ? 'failed' : nextStatus[status];
}

export function changeStatus(message: ReferenceMessage, status: Status, nowMs: number): void {
  message.status = status;
  message.polls = 0;
  message.history.push({ status, atMs: nowMs });
}

/** A deactivated SIM fails its queued messages, unless they stay queued (`deactivation`). */
export function applyDeactivation(
  sim: ReferenceSim,
  { messages, nowMs, assumptions }: PollContext,
): void {
  const mayFail = (assumptions.failsFrom as readonly string[]).includes('queued');
  if (assumptions.deactivation === 'stays_queued' || !mayFail) return;
  for (const message of messages) {
    const isQueued = message.deviceId === sim.deviceId && message.status === 'queued';
    if (isQueued && !isStuck(message) && message.handedOutAtMs === undefined)
      changeStatus(message, 'failed', nowMs);
  }
}
