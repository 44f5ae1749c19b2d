/**
 * The life of a message: every state and every step that exists. Rules: STATE-1 to STATE-5.
 *
 *   queued ──picked_up──► sending ──progressed──► sent ──progressed──► delivered
 *      └───────failed────────┴────────failed───────┴──► failed
 *
 * It starts in `queued`, may fail from each state that is not final, and never leaves `delivered`
 * or `failed`. The machine says which steps exist; these choose the event and its time:
 * - `polling.ts`: a poll picks up what is queued; `progress.ts`: a message in flight progresses, or
 * fails if that is its
 *   fate; the assumption `failsFrom` narrows the states from which it may fail;
 * - `sim/outcomes.ts`: the fate, drawn when the message is accepted;
 * - `lifecycle.ts`: takes the step and writes it down.
 *
 * No guard, context or action takes part, so the answer to (state, event) never changes. It is read
 * from the machine's declaration: a step of a million messages then costs a look-up in a table. A
 * test compares the table with the answers of XState.
 */
import { getNextSnapshot, setup } from 'xstate';
import { type MessageEvent, messageEvents, type Status } from '../sim/status.ts';

const states = {
  queued: { on: { picked_up: 'sending', failed: 'failed' } },
  sending: { on: { progressed: 'sent', failed: 'failed' } },
  sent: { on: { progressed: 'delivered', failed: 'failed' } },
  delivered: { type: 'final' },
  failed: { type: 'final' },
} as const;

export const messageMachine = setup({
  types: { events: {} as { type: MessageEvent } },
}).createMachine({
  id: 'message',
  initial: 'queued',
  states,
});

interface Declared {
  readonly type?: string;
  readonly on?: Partial<Record<MessageEvent, Status>>;
}
type Steps = Readonly<Record<Status, Readonly<Record<MessageEvent, Status | undefined>>>>;

/** The next state for each state and event; undefined if the machine has no such step. */
export const messageSteps: Steps = Object.fromEntries(
  Object.entries<Declared>(states).map(([status, { on = {} }]) => [
    status,
    Object.fromEntries(messageEvents.map((event) => [event, on[event]])),
  ]),
) as unknown as Steps;

/** XState's own answer for this state and event. */
export function askMachine(status: Status, event: MessageEvent): Status | undefined {
  const before = messageMachine.resolveState({ value: status });
  const after = getNextSnapshot(messageMachine, before, { type: event });
  return after.value === status ? undefined : after.value;
}
