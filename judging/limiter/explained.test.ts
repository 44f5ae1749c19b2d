import { expect, test } from 'vitest';
import type { Exchange } from '../service/exchange.ts';
import { unexplained, weightedCounterExplains } from './explained.ts';
import type { Bucket } from './permitted-limiters.ts';

const limit = 3;

/** A request to the bucket, sent at this second and answered a moment later. */
function at(second: number, status: number, tookMs = 10): Exchange {
  const sentAt = second * 1_000;
  const exchange = { method: 'GET', sentAt, answeredAt: sentAt + tookMs, reply: { status } };
  return exchange as unknown as Exchange;
}

function bucket(exchanges: readonly Exchange[], more: Partial<Bucket> = {}): Bucket {
  const knownSince = Number.NEGATIVE_INFINITY;
  return {
    name: 'received',
    limit,
    isOfAddress: false,
    exchanges,
    knownSince,
    hasExactTimes: false,
    slackMs: 0,
    ...more,
  };
}

const full = [at(10, 200), at(10.1, 200), at(10.2, 200)];
const emptied = [...full, at(10.3, 429)];

test.each<[string, Exchange[]]>([
  ['a sliding window', [...emptied, at(69.5, 429), at(70.05, 200), at(70.06, 429)]],
  ['a continuous refill', [...emptied, at(30.5, 200), at(30.6, 429)]],
  ['all at once after a minute', [...emptied, at(69.9, 429), at(70.1, 200), at(70.2, 200)]],
  ['all at once at the minute of the clock', [...emptied, at(57, 429), at(63, 200), at(63.1, 200)]],
  ['a window that refusals prolong', [...emptied, at(40, 429), at(70.05, 429), at(100.1, 200)]],
])('LIMIT-4 %s is a permitted limiter', (_, exchanges) => {
  expect(unexplained(bucket(exchanges))).toBeUndefined();
});

test.each<[string, Exchange[], string]>([
  ['one too few', [at(10, 200), at(10.1, 200), at(10.2, 429)], '429 after 2'],
  ['one too many', [...full, at(10.3, 200)], '4 passed within'],
  ['a token that comes back after 59 s', [...emptied, at(63, 429), at(69, 200)], '4 passed within'],
  ['a token that is away for 61 s', [...emptied, at(70.9, 429)], '429 after 0'],
])('LIMIT-4 no permitted limiter explains %s', (_, exchanges, actual) => {
  expect(unexplained(bucket(exchanges))?.actual).toContain(actual);
});

test('LIMIT-4 one too many is said to be one too many, whatever is refused later', () => {
  const flood = Array.from({ length: 121 }, (_, n) => at(15 + n / 20, 200));
  const found = unexplained(bucket([...flood, at(21.1, 429), at(40, 429)], { limit: 120 }));
  expect(found?.actual).toBe('121 passed within 6.0 s');
});

test('LIMIT-4 a burst from a full bucket with a continuous refill holds no more than the limit', () => {
  const burst = Array.from({ length: 121 }, (_, i) => at(10 + i / 500, 200));
  const plan = { limit: 120, knownSince: 0 };
  expect(unexplained(bucket([...burst, at(10.3, 429)], plan))?.actual).toContain('121 passed');
  expect(unexplained(bucket([...burst.slice(1), at(10.3, 429)], plan))).toBeUndefined();
});

test('LIMIT-4 a token that another client spent explains a refusal, and never a request too many', () => {
  const early = [at(10, 200), at(10.1, 429), at(80, 200), at(80.1, 200), at(80.2, 200)];
  expect(unexplained(bucket([...early, at(80.3, 429)]))).toBeDefined();
  expect(unexplained(bucket([...early, at(80.3, 429)]), { othersSpend: true })).toBeUndefined();
  expect(unexplained(bucket([...early, at(80.3, 200)]), { othersSpend: true })).toBeDefined();
});

test('AUTH-6 a counter that weighs the minute before says nothing about whose requests it counts', () => {
  const flood = Array.from({ length: 120 }, (_, i) => at(20 + i / 100, 200));
  const refusal = at(100, 429);
  const early = [...flood, ...Array.from({ length: 80 }, (_, i) => at(90 + i / 100, 200))];
  const isExplained = (before: Exchange[], last: Exchange, isTooFew: boolean) =>
    weightedCounterExplains(bucket([...before, last], { limit: 120 }), {
      exchange: last,
      isTooFew,
    });
  expect(isExplained(early, refusal, true)).toBe(true);
  expect(isExplained(flood, refusal, true)).toBe(false);
  // Two minutes after 60, it lets 121 pass within a minute; at once it never lets 240.
  const late = [...flood.slice(0, 60), ...flood.slice(0, 60)].map((_, i) => at(50 + i * 0.4, 200));
  expect(isExplained(late, at(99, 200), false)).toBe(true);
  expect(isExplained([...flood, ...flood], at(22, 200), false)).toBe(false);
});

test('LIMIT-4 what was spent before the trace began may explain a refusal in its first minute', () => {
  const early = [at(10, 200), at(10.1, 429)];
  expect(unexplained(bucket(early, { knownSince: 5_000 }))).toBeUndefined();
  expect(unexplained(bucket([...early, at(70.5, 429)], { knownSince: 5_000 }))).toBeDefined();
});

test('LIMIT-4 a token may be spent at any time while its slow request is answered', () => {
  const slow = [at(10, 200, 1_500), at(10, 200, 1_500), at(10, 200, 1_500), at(12, 429)];
  expect(unexplained(bucket([...slow, at(71.2, 429)]))).toBeUndefined();
  expect(unexplained(bucket([...slow, at(71.6, 429)]))).toBeDefined();
});

test('AUTH-6 an address may be answered 401 for ever, or be throttled at its limit', () => {
  const calls = (statuses: number[]) => statuses.map((status, i) => at(10 + i / 10, status));
  const ofAddress = (statuses: number[]) =>
    unexplained(bucket(calls(statuses), { isOfAddress: true }));
  expect(ofAddress([401, 401, 401, 401, 401])).toBeUndefined();
  expect(ofAddress([401, 401, 401, 429, 429])).toBeUndefined();
  expect(ofAddress([401, 401, 429])).toBeDefined();
});
