import fc from 'fast-check';
import { expect, test } from 'vitest';
import { messageEvents, type Status } from '#contract/message-status.ts';
import { readerOf, Twin } from '#verify/testkit/twin/twin.ts';
import { messageHistory } from '../sim/store/message-view.ts';
import { messageSteps } from './message-machine.ts';

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
        for (const status of Object.keys(counts) as Status[])
          expect(counts[status]).toBe(expected.filter((states) => states.at(-1) === status).length);
      },
    ),
  );
});
