/**
 * The life of a message: every state and every step that exists. Rules: STATE-1 to STATE-5.
 *
 *   queued ──picked_up──► sending ──progressed──► sent ──progressed──► delivered
 *      └───────failed────────┴────────failed───────┴──► failed
 *
 * It starts in `queued`, may fail from each state that is not final, and never leaves `delivered`
 * or `failed`. The machine defines which steps exist. `progress.ts` chooses the event and its time,
 * by the fate of the message (`src/sim/devices/outcomes.ts`), and `lifecycle.ts` takes the step.
 *
 * The machine has no guards, context or actions, so the answer to (state, event) never changes. It
 * is asked once for each pair, at start: then a step of a million messages costs one look-up.
 */
import { getNextSnapshot, setup } from 'xstate';
import {
  type MessageEvent,
  messageEvents,
  type Status,
  statuses,
} from '#contract/message-status.ts';

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

/** The next state for each state and event; undefined if the machine has no such step. */
export const messageSteps = Object.fromEntries(
  statuses.map((status) => [
    status,
    Object.fromEntries(messageEvents.map((event) => [event, askMachine(status, event)])),
  ]),
) as unknown as Steps;

function askMachine(status: Status, event: MessageEvent): Status | undefined {
  const before = messageMachine.resolveState({ value: status });
  const after = getNextSnapshot(messageMachine, before, { type: event });
  return after.value === status ? undefined : after.value;
}
