import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createActor } from 'xstate';
import {
  type MessageEvent,
  messageEvents,
  type Status,
  statuses,
} from '#contract/message-status.ts';
import { readerOf, Twin } from '#verify/testkit/twin/twin.ts';
import { messageHistory } from '../sim/store/message-view.ts';
import { messageMachine, messageSteps } from './lifecycle.ts';

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

const event = fc.constantFrom(...messageEvents);

test('STATE-3 under any events, the status follows the table, and history and counts agree', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(event, fc.nat(3), fc.nat(5_000)), { maxLength: 30 }),
      (events) => {
        const twin = new Twin();
        const { lifecycle } = twin.simulation;
        const heard: string[] = [];
        lifecycle.reader = readerOf((message, from) =>
          heard.push(`${message.arrival}: ${from} ${message.status}`),
        );
        const messages = [0, 1, 2, 3].map(() => twin.accepted({ to: '+12025550163' }));
        const expected = messages.map((): Status[] => ['queued']);
        const steps: string[] = [];
        for (const [type, which, waitMs] of events) {
          twin.advance(waitMs);
          const message = messages[which];
          const states = expected[which];
          const from = states?.at(-1);
          if (message === undefined || states === undefined || from === undefined) continue;
          const to = messageSteps[from][type];
          expect(lifecycle.step(message, type, 'why')).toBe(to !== undefined);
          if (to === undefined) continue;
          states.push(to);
          steps.push(`${which}: ${from} ${to}`);
          expect(message.changedAtMs).toBe(twin.now());
          expect(message.failureReason).toBe(to === 'failed' ? 'why' : undefined);
        }
        messages.forEach((message, i) => {
          const history = messageHistory(message);
          expect(history.map(({ status }) => status)).toEqual(expected[i]);
          expect(history.map(({ at }) => at)).toEqual([...history.map(({ at }) => at)].sort());
        });
        expect(heard).toEqual(steps);
        const { counts } = twin.account();
        for (const status of Object.keys(counts) as Status[]) {
          expect(counts[status]).toBe(expected.filter((states) => states.at(-1) === status).length);
        }
      },
    ),
  );
});
