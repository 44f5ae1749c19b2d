/** What the windows of a clock permit where their border is not known exactly. */
import { expect, test } from 'vitest';
import { alignedWindow } from './counters.ts';
import { type Decision, History } from './decision.ts';

const at = (from: number, passed: boolean) => ({ from, to: from + 15, passed, count: 1 });
const version = {
  limit: [1, 20] as const,
  windowMs: [1_000, 1_000] as const,
  phase: [0, 0.01] as const,
  refusalsSpend: false,
  knownSince: Number.NEGATIVE_INFINITY,
};

function limits(decisions: readonly Decision[]) {
  const history = History.of(decisions);
  return alignedWindow(history, version, history.whole);
}

test('a window that has refused a request lets none pass before its end', () => {
  // The first request may be in this window or in the one before: either, but not both.
  const decisions = [at(0, true), at(100, true), at(200, true), at(300, false)];
  expect(limits(decisions)).toEqual([2, 3]);
  expect(limits([...decisions, at(500, true)])).toBeUndefined();
  expect(limits([...decisions, at(1_100, true)])).toEqual([2, 3]);
});
