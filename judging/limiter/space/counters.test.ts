/**
 * What counters permit: where their border is not known exactly, how they round, and when they
 * begin anew.
 */
import { expect, test } from 'vitest';
import { alignedWindow, slidingCounter, slidingCounterFromFirst } from './counters.ts';
import type { Decision } from './decision.ts';
import { History, type PossibleLimits } from './history.ts';

const at = (from: number, passed: boolean) => ({ from, to: from + 15, passed, count: 1 });
const version = {
  limit: [1, 20] as const,
  windowMs: [1_000, 1_000] as const,
  phase: [0, 0.01] as const,
  refusalsSpend: false,
  knownSince: Number.NEGATIVE_INFINITY,
};

function limits(decisions: readonly Decision[]) {
  return limitsOf(alignedWindow, decisions, version);
}

function limitsOf(
  possibleLimits: PossibleLimits,
  decisions: readonly Decision[],
  of: Parameters<PossibleLimits>[1],
) {
  const history = History.of(decisions);
  return possibleLimits(history, of, history.whole);
}

const exactly = (from: number, passed: boolean, count = 1) => ({ from, to: from, passed, count });

test('a window that has refused a request lets none pass before its end', () => {
  // The first request may be in this window or in the one before: either, but not both.
  const decisions = [at(0, true), at(100, true), at(200, true), at(300, false)];
  expect(limits(decisions)).toEqual([2, 3]);
  expect(limits([...decisions, at(500, true)])).toBeUndefined();
  expect(limits([...decisions, at(1_100, true)])).toEqual([2, 3]);
});

test('a counter rounds alike each time', () => {
  // A share of 0.93 refused a request, and a share of 0.63 let one pass.
  const decisions = [exactly(0, true), exactly(160, false), exactly(205, true)];
  const counter = { ...version, windowMs: [150, 150] as const, phase: [0, 0] as const };
  expect(limitsOf(slidingCounter, decisions.slice(0, 2), counter)).toEqual([1, 1]);
  expect(limitsOf(slidingCounter, decisions, counter)).toBeUndefined();
});

test('a request after a window without any opens the windows anew, as in HAProxy', () => {
  // The pause is shorter than two windows. By the windows of before, the last one would pass.
  const passes = [exactly(0, true), exactly(900, true), exactly(2_100, true, 20)];
  const refusals = [exactly(2_150, false), exactly(3_090, false)];
  const counter = { ...version, limit: [1, 100] as const, phase: [0, 0] as const };
  expect(limitsOf(slidingCounterFromFirst, [...passes, ...refusals], counter)).toEqual([20, 20]);
});
