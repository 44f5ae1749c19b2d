/**
 * Explains what a message waits for, as a sentence, and which operations would move it on.
 * Rules: STATE-2 to STATE-4, SVC-3, SEND-7.
 */
import { z } from 'zod';
import { servicePaths } from '#contract/service-paths.ts';
import { isoTime } from '#contract/time.ts';
import type { Message } from '../../sim/accounts/records.ts';
import { pollsOf } from '../../sim/devices/device-work.ts';
import { type Waiting, waitingOf, waitingReasons } from '../../sim/devices/waiting.ts';
import { timeSchema } from '../duration.ts';
import type { RunningWorld } from '../running-world.ts';

type Assumptions = RunningWorld['simulation']['world']['assumptions'];

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

function sentenceOf(message: Message, { reason, untilMs, ahead }: Waiting, nowMs: number): string {
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
