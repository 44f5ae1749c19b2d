import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PacedSteps } from './timed-work.ts';

const accounts = ['acme', 'globex'] as const;
const someSteps = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom(...accounts)));

test('STATE-3 paced steps are taken by their time, and those of one time in order of acceptance', () => {
  fc.assert(
    fc.property(someSteps, fc.integer({ min: 0, max: 10 }), (given, nowMs) => {
      const steps = given.map(([dueAtMs, account], n) => {
        const message = { arrival: n % 2 === 0 ? n : given.length * 2 - n, cohort: { account } };
        return { message, from: 'sending' as const, dueAtMs };
      });
      const sorted = [...steps].sort(
        (a, b) => a.dueAtMs - b.dueAtMs || a.message.arrival - b.message.arrival,
      );
      const paced = new PacedSteps<(typeof steps)[number]['message']>();
      for (const step of steps) paced.push(step);
      expect(paced.items).toEqual(sorted);
      expect(paced.nextDueAtMs).toBe(sorted[0]?.dueAtMs);
      const taken: unknown[] = [];
      for (let due = paced.takeDue(nowMs); due.length > 0; due = paced.takeDue(nowMs))
        taken.push(...due);
      expect(taken).toEqual(sorted.filter(({ dueAtMs }) => dueAtMs <= nowMs));
      paced.forget('acme');
      const isLeft = (step: (typeof steps)[number]) =>
        step.dueAtMs > nowMs && step.message.cohort.account !== 'acme';
      expect(paced.items).toEqual(sorted.filter(isLeft));
    }),
  );
});
