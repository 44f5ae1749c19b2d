/**
 * The life of a message. Rules: STATE-1 to STATE-5.
 * No guard, context or action takes part, so the machine's answer to (state, event) never changes and can be
 * remembered: a million messages then cost what a table costs, and transitions exist here alone.
 */
import { getNextSnapshot, setup } from 'xstate';
import type { Status } from '../sim/message.ts';

export const messageEvents = ['picked_up', 'progressed', 'failed'] as const;
export type MessageEvent = (typeof messageEvents)[number];

export const messageMachine = setup({
  types: { events: {} as { type: MessageEvent } },
}).createMachine({
  id: 'message',
  initial: 'queued',
  states: {
    queued: { on: { picked_up: 'sending', failed: 'failed' } },
    sending: { on: { progressed: 'sent', failed: 'failed' } },
    sent: { on: { progressed: 'delivered', failed: 'failed' } },
    delivered: { type: 'final' },
    failed: { type: 'final' },
  },
});

type Steps = Readonly<Record<Status, Readonly<Record<MessageEvent, Status | undefined>>>>;

/** What follows a state on an event; undefined where the machine has no such step. */
export const messageSteps: Steps = Object.fromEntries(
  (Object.keys(messageMachine.states) as Status[]).map((status) => [
    status,
    Object.fromEntries(messageEvents.map((event) => [event, askMachine(status, event)])),
  ]),
) as unknown as Steps;

/** The machine's own answer, asked of XState. */
export function askMachine(status: Status, event: MessageEvent): Status | undefined {
  const before = messageMachine.resolveState({ value: status });
  const after = getNextSnapshot(messageMachine, before, { type: event });
  return after.value === status ? undefined : after.value;
}
