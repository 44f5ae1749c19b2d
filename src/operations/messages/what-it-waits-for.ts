/**
 * Explains what a message waits for and until when, as data and as a sentence, and which operations
 * would move it on. Predicts the poll at which `src/actors/polling.ts` moves it on.
 * Rules: STATE-2 to STATE-4, SVC-3, SEND-7. Assumes: pollIntervalSeconds, sendsPerPoll,
 * progressPace, failsFrom.
 */
import { z } from 'zod';
import { isFinal } from '#contract/message-status.ts';
import { servicePaths } from '#contract/routes.ts';
import { isoTime, secondMs } from '#contract/time.ts';
import type { Device, Message } from '../../sim/accounts/account.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import { isStuckIn, pollsOf } from '../../sim/devices/device-work.ts';
import { timeSchema } from '../input-fields.ts';
import type { RunningWorld } from '../running-world.ts';

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

interface Waiting {
  readonly reason: (typeof waitingReasons)[number];
  /** When the wait ends by itself, in epoch milliseconds; undefined if a user must act. */
  readonly untilMs?: number | undefined;
  /** The number of messages that the device picks up before this one. */
  readonly ahead?: number;
}

/** The operations in the order in which they help, and whether each would move a message. */
const movers = {
  'clock.advance': (_, { untilMs }) => untilMs !== undefined,
  'sims.poll': (_, { reason }, { progressPace }) =>
    ['poll', 'queue', 'external_poll'].includes(reason) ||
    (reason === 'progress' && progressPace === 'per_poll'),
  'sims.patch': (_, { reason }) =>
    ['sim_active', 'sim_connected', 'external_poll'].includes(reason),
  'messages.progress': (_, { reason }) => reason !== 'nothing',
  'messages.fail': ({ status }, _, { failsFrom }) => failsFrom.some((from) => from === status),
} satisfies Record<string, (message: Message, waiting: Waiting, rules: Assumptions) => boolean>;
const moverNames = Object.keys(movers) as (keyof typeof movers)[];

export const waitingSchema = z
  .strictObject({
    waiting_for: z.enum(waitingReasons).describe('`nothing`: the status is final.'),
    until: timeSchema.nullable().describe('When the wait ends by itself; null: it does not.'),
    sentence: z.string(),
    would_move: z.array(z.enum(moverNames)).describe('The operations that would move it on.'),
  })
  .meta({ id: 'Waiting' });
type WaitingView = Readonly<z.output<typeof waitingSchema>>;

export function waitingView(live: RunningWorld, message: Message): WaitingView {
  const { clock, world } = live.simulation;
  const nowMs = clock.now();
  const waiting = waitingOf(message, nowMs, world.assumptions);
  const { reason, untilMs } = waiting;
  return {
    waiting_for: reason,
    until: untilMs === undefined ? null : isoTime(untilMs),
    sentence: sentenceOf(message, waiting, nowMs),
    would_move: moverNames.filter((name) => movers[name](message, waiting, world.assumptions)),
  };
}

export function sentenceOf(
  message: Message,
  { reason, untilMs, ahead }: Waiting,
  nowMs: number,
): string {
  const { status, device, failureReason } = message;
  const sim = `${device.account === undefined ? 'pool number' : 'SIM'} ${device.number}`;
  const due = untilMs === undefined ? '' : `in ${secondsText(untilMs - nowMs)}`;
  const tasks = `\`GET ${servicePaths.tasks}\``;
  switch (reason) {
    case 'nothing':
      return status === 'failed'
        ? `It failed (${failureReason}); a final status never changes.`
        : 'It is delivered; a final status never changes.';
    case 'scripted_fate':
      return `The recipient ${message.to} is scripted: its messages stay \`${status}\` for ever.`;
    case 'sim_active':
      return `Its ${sim} is deactivated, so it neither picks up nor reports anything.`;
    case 'sim_connected':
      return `Its ${sim} is disconnected, so it neither picks up nor reports anything.`;
    case 'hold':
      return `It is held for ${secondsText((untilMs ?? nowMs) - nowMs)}, until its \`send_at\`; the next poll of its ${sim} after that picks it up.`;
    case 'external_poll':
      return `Its ${sim} polls externally: it waits until the device asks for its tasks (${tasks}).`;
    case 'queue':
      return `${ahead} ${ahead === 1 ? 'message waits' : 'messages wait'} before it, more than its ${sim} takes at one poll (\`sendsPerPoll\`); its turn comes ${due}.`;
    case 'poll':
      return `It waits for ${pollText(message)} of its ${sim}, ${due}.`;
    case 'progress':
      return `It becomes \`${nextStatus(message)}\` ${due}, when its ${sim} reports progress${scriptText(message)}.`;
  }
}

function pollText(message: Message): string {
  return pollsOf(message) === 1 ? 'the next poll' : `a poll${scriptText(message)}`;
}

function scriptText(message: Message): string {
  const polls = pollsOf(message);
  return polls === 1 ? '' : ` (its recipient is scripted: each step takes ${polls} polls)`;
}

function nextStatus({ status, fate }: Message): string {
  if (fate?.ends === 'failed' && fate.in === status) return 'failed';
  return status === 'sending' ? 'sent' : 'delivered';
}

/** `7 s`, `0.5 s`, `86400 s`: always seconds, which are easy to compare with the clock. */
function secondsText(ms: number): string {
  return `${ms / 1_000} s`;
}

function waitingOf(message: Message, nowMs: number, assumptions: Assumptions): Waiting {
  const { status } = message;
  if (isFinal(status)) return { reason: 'nothing' };
  const standstill = standstillOf(message, nowMs, assumptions);
  if (standstill !== undefined) return { reason: standstill };
  if (status !== 'queued') return progressOf(message, nowMs, assumptions);
  if (message.isHeldAt(nowMs)) return { reason: 'hold', untilMs: message.sendAtMs };
  return pickupOf(message, nowMs, assumptions);
}

/** Why time alone does not move a message that is not final; undefined if it does. */
export function standstillOf(
  message: Message,
  nowMs: number,
  { progressPace }: Assumptions,
): Waiting['reason'] | undefined {
  const { status, device } = message;
  if (isStuckIn(message, status)) return 'scripted_fate';
  if (!device.active) return 'sim_active';
  if (!device.connected) return 'sim_connected';
  if (device.polling !== 'external') return undefined;
  const isMovedByTime =
    status === 'queued' ? message.isHeldAt(nowMs) : progressPace === 'own_delay';
  return isMovedByTime ? undefined : 'external_poll';
}

/**
 * What a queued message waits for that is not held. After a hold, it is not in the queue until the
 * next poll, which puts it there and counts as the first of its polls.
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
