import { expect, test } from 'vitest';
import { createActor } from 'xstate';
import {
  type MessageEvent,
  messageEvents,
  type Status,
  statuses,
} from '#contract/message-status.ts';
import { messageMachine, messageSteps } from './message-machine.ts';

/** The document's table of transitions; every pair that is not here leaves the status unchanged. */
const documented: readonly (readonly [Status, MessageEvent, Status])[] = [
  ['queued', 'picked_up', 'sending'],
  ['sending', 'progressed', 'sent'],
  ['sent', 'progressed', 'delivered'],
  ['queued', 'failed', 'failed'],
  ['sending', 'failed', 'failed'],
  ['sent', 'failed', 'failed'],
];

const pairs = statuses.flatMap((status) => messageEvents.map((event) => [status, event] as const));

test.each(pairs)(
  'STATE-3 %s on %s goes where the document says, and nowhere else',
  (status, event) => {
    const expected = documented.find(([from, on]) => from === status && on === event)?.[2];
    expect(messageSteps[status][event]).toBe(expected);
  },
);

test.each(pairs)(
  'STATE-3 what is remembered of %s on %s is what a running actor does',
  (status, event) => {
    const snapshot = messageMachine.resolveState({ value: status });
    const actor = createActor(messageMachine, { snapshot }).start();
    // XState warns of events for an actor that has ended; there the answer is that it has.
    if (actor.getSnapshot().status === 'active') actor.send({ type: event });
    else expect(messageSteps[status][event]).toBeUndefined();
    expect(actor.getSnapshot().value).toBe(messageSteps[status][event] ?? status);
  },
);

test('STATE-1 a message starts as queued, and the states are the five of the document', () => {
  expect(createActor(messageMachine).start().getSnapshot().value).toBe('queued');
  expect(Object.keys(messageMachine.states)).toEqual(statuses);
});

test.each(['delivered', 'failed'] as const)('STATE-5 %s is final', (status) => {
  expect(messageMachine.states[status]?.type).toBe('final');
  for (const event of messageEvents) expect(messageSteps[status][event]).toBeUndefined();
});

test('STATE-3 no sequence of steps reaches a state twice', () => {
  const walk = (status: Status, seen: readonly Status[]): void => {
    expect(seen).not.toContain(status);
    for (const event of messageEvents) {
      const next = messageSteps[status][event];
      if (next !== undefined) walk(next, [...seen, status]);
    }
  };
  walk('queued', []);
});
