/** What counters permit: how they round, and when their windows begin anew. */
import { expect, test } from 'vitest';
import { slidingCounter } from './counters.ts';
import type { Decision } from './decision.ts';
import { alwaysRounded } from './families.ts';
import { History, type PossibleLimits } from './history.ts';
import { Space } from './space.ts';
import { slidingCounterFromFirst } from './windows.ts';

const limitsOfCounter = alwaysRounded(slidingCounter);
const limitsFromFirst = alwaysRounded(slidingCounterFromFirst);

const version = {
  limit: [1, 20] as const,
  windowMs: [1_000, 1_000] as const,
  phase: [0, 0.01] as const,
  refusalsSpend: false,
  knownSince: Number.NEGATIVE_INFINITY,
};

function limitsOf(
  possibleLimits: PossibleLimits,
  decisions: readonly Decision[],
  of: Parameters<PossibleLimits>[1],
) {
  const history = History.of(decisions);
  return possibleLimits(history, of, history.whole);
}

const exactly = (from: number, passed: boolean, count = 1) => ({ from, to: from, passed, count });

test('a counter rounds alike each time', () => {
  // A share of 0.93 refused a request, and a share of 0.63 let one pass.
  const decisions = [exactly(0, true), exactly(160, false), exactly(205, true)];
  const counter = { ...version, windowMs: [150, 150] as const, phase: [0, 0] as const };
  expect(limitsOf(limitsOfCounter, decisions.slice(0, 2), counter)).toEqual([1, 1]);
  expect(limitsOf(limitsOfCounter, decisions, counter)).toBeUndefined();
});

test('a request after a window without any opens the windows anew, as in HAProxy', () => {
  // The pause is shorter than two windows. By the windows of before, the last one would pass.
  const passes = [exactly(0, true), exactly(900, true), exactly(2_100, true, 20)];
  const refusals = [exactly(2_150, false), exactly(3_090, false)];
  const counter = { ...version, limit: [1, 100] as const, phase: [0, 0] as const };
  expect(limitsOf(limitsFromFirst, [...passes, ...refusals], counter)).toEqual([20, 20]);
});

test('windows that an earlier request has opened are followed, and opened anew after a pause', () => {
  // A request at -300 ms opened windows of a second: the first requests end one, the next begin one.
  const before = [exactly(600, true, 20), exactly(760, true, 2), exactly(770, false)];
  // By the same windows, the last one would pass.
  const after = [exactly(5_000, true, 20), exactly(5_050, false), exactly(5_950, false)];
  const space = new Space(0);
  space.widen(3_000);
  space.update([...before, ...after]);
  expect(space.candidates.some(({ family }) => family.isFromFirst)).toBe(true);
});

/** How often judges search for the first decision of a window from now on. */
function searchesOf({ decisions }: History): () => number {
  let searches = 0;
  const { firstFrom } = decisions;
  decisions.firstFrom = (...of) => {
    searches += 1;
    return firstFrom.apply(decisions, of);
  };
  return () => searches;
}

test('beside slow replies, each of which may open windows, twice as many take twice the work', () => {
  const workFor = (count: number) => {
    const replies = Array.from({ length: count }, (_, i) => ({ from: 90 * i, to: 90 * i + 60 }));
    const history = History.of(replies.map((each) => ({ ...each, passed: true, count: 1 })));
    const searches = searchesOf(history);
    const counter = { ...version, windowMs: [100, 110] as const, phase: [0, 0] as const };
    expect(limitsFromFirst(history, counter, history.whole)).toBeDefined();
    return searches();
  };
  expect(workFor(80) / workFor(40)).toBeLessThan(2.5);
});

test('with a low limit, of which each rounding is judged, a request costs the same at any time', () => {
  const workFor = (count: number) => {
    const history = History.of(
      Array.from({ length: count }, (_, i) => exactly(1_000 * i, i % 2 === 0)),
    );
    const searches = searchesOf(history);
    const counter = { ...version, limit: [1, 1] as const };
    for (let since = 0; since < count; since += 1) {
      const part = { begin: 0, since, until: since + 1 };
      expect(limitsOfCounter(history, counter, part)).toEqual([1, 1]);
    }
    return searches();
  };
  expect(workFor(80) / workFor(40)).toBeLessThan(2.5);
});
