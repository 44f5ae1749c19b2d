/**
 * Explains what an unfinished message waits for, and until when. Reads the work of its device
 * (`device-work.ts`) and predicts the poll at which `src/actors/polling.ts` moves it on.
 * Rules: STATE-2 to STATE-4, SVC-3, SEND-7. Assumes: pollIntervalSeconds, sendsPerPoll,
 * progressPace.
 */
import { secondMs } from '#contract/time.ts';
import type { Device, Message } from '../accounts/records.ts';
import type { Assumptions } from '../assumptions.ts';
import { isStuckIn, pollsOf } from './device-work.ts';

export const waitingReasons = [
  'poll',
  'external_poll',
  'queue',
  'progress',
  'hold',
  'sim_connected',
  'sim_active',
  'scripted_fate',
  'nothing',
] as const;

export interface Waiting {
  readonly reason: (typeof waitingReasons)[number];
  /** When the wait ends by itself, in epoch milliseconds; undefined if a user must act. */
  readonly untilMs?: number | undefined;
  /** How many messages the device picks up before this one. */
  readonly ahead?: number;
}

export function waitingOf(message: Message, nowMs: number, assumptions: Assumptions): Waiting {
  const { status, device } = message;
  if (status === 'delivered' || status === 'failed') return { reason: 'nothing' };
  if (isStuckIn(message, status)) return { reason: 'scripted_fate' };
  if (!device.active) return { reason: 'sim_active' };
  if (!device.connected) return { reason: 'sim_connected' };
  if (status !== 'queued') return progressOf(message, nowMs, assumptions);
  if (message.isHeldAt(nowMs)) return { reason: 'hold', untilMs: message.sendAtMs };
  if (device.polling === 'external') return { reason: 'external_poll' };
  return pickupOf(message, nowMs, assumptions);
}

/**
 * For a queued message without a hold. If its hold has ended and no poll came since, it is not in
 * the queue yet: the next poll puts it there, and counts as the first of its polls.
 */
function pickupOf(message: Message, nowMs: number, assumptions: Assumptions): Waiting {
  const { device } = message;
  const { sendsPerPoll } = assumptions;
  const ahead = readyBefore(message);
  const ownPolls = ahead === undefined ? pollsOf(message) : pollsLeft(message);
  /** Polls until its turn comes, if each poll picks up only `sendsPerPoll` messages. */
  const pollsInQueue =
    ahead === undefined || sendsPerPoll === 'all' ? 1 : Math.floor(ahead / sendsPerPoll) + 1;
  const untilMs = pollAfter(device, nowMs, Math.max(ownPolls, pollsInQueue), assumptions);
  if (pollsInQueue <= ownPolls) return { reason: 'poll', untilMs };
  return { reason: 'queue', untilMs, ahead: ahead ?? 0 };
}

function progressOf(message: Message, nowMs: number, assumptions: Assumptions): Waiting {
  const { device, cohort } = message;
  if (assumptions.progressPace === 'own_delay') {
    const step = device.work.paced.items.find(
      (each) => each.message.arrival === message.arrival && each.from === message.status,
    );
    return { reason: 'progress', untilMs: step?.dueAtMs };
  }
  if (device.polling === 'external') return { reason: 'external_poll' };
  // SVC-3: no status changes twice within one poll interval.
  const earliestMs = cohort.changedAtMs + assumptions.pollIntervalSeconds * secondMs - 1;
  const pollMs = pollAfter(device, nowMs, pollsLeft(message), assumptions);
  return {
    reason: 'progress',
    untilMs: Math.max(pollMs, pollAfter(device, earliestMs, 1, assumptions)),
  };
}

function pollsLeft({ cohort, device }: Message): number {
  return Math.max(1, cohort.duePoll - device.work.pollCount);
}

/** The time of the device's `count`th poll after `ms`. */
function pollAfter(device: Device, ms: number, count: number, assumptions: Assumptions): number {
  const intervalMs = assumptions.pollIntervalSeconds * secondMs;
  return device.pollAtOrAfter(ms + 1, intervalMs) + (count - 1) * intervalMs;
}

/** The messages before this one in the device's queue; undefined if it is not in the queue yet. */
function readyBefore({ arrival, device }: Message): number | undefined {
  let before = 0;
  for (const batch of device.work.ready) {
    for (const each of batch.membersOf(batch.cohorts)) {
      if (each.arrival === arrival) return before;
      if (each.status === 'queued') before++;
    }
  }
  return undefined;
}
