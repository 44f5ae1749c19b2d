import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Bucket as PermittedBucket, spendToken } from '#verify/model/reference-limiter.ts';
import { runs } from '#verify/testkit/runs.ts';
import type { Exchange } from '../evidence/exchange.ts';
import { type Bucket, excessIn } from './bucket.ts';
import { unexplained } from './explained.ts';

const limit = 3;

/** A request to the bucket, sent at this second and answered a moment later. */
function at(second: number, status: number, tookMs = 10): Exchange {
  const sentAt = second * 1_000;
  const reply = { status, interruptions: 0 };
  const exchange = { method: 'GET', sentAt, answeredAt: sentAt + tookMs, reply };
  return exchange as unknown as Exchange;
}

function bucket(exchanges: readonly Exchange[], more: Partial<Bucket> = {}): Bucket {
  const knownSince = Number.NEGATIVE_INFINITY;
  return {
    endpoint: 'received',
    limit,
    isOfAddress: false,
    exchanges,
    knownSince,
    hasExactTimes: false,
    spanErrorMs: 0,
    ahead: { least: 0, most: 0 },

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
  [
    'a token that comes back after 58 s',
    [at(60.6, 200), at(60.7, 200), at(60.8, 200), at(60.9, 429), at(118.8, 429), at(118.9, 200)],
    'passed',
  ],
  ['tokens that are away for two minutes', [...emptied, at(131, 429)], '429 after 0'],
])('LIMIT-4 no permitted limiter explains %s', (_, exchanges, actual) => {
  expect(unexplained(bucket(exchanges))?.actual).toContain(actual);
});

test('LIMIT-4 one too many is said to be one too many, whatever is refused later', () => {
  const flood = Array.from({ length: 121 }, (_, n) => at(15 + n / 20, 200));
  const found = unexplained(bucket([...flood, at(21.1, 429), at(40, 429)], { limit: 120 }));
  expect(found?.actual).toBe('121 passed within 6.0 s');
});

test('LIMIT-4 the requests that passed in a window took the time that is given', () => {
  const granted = Array.from({ length: 7 }, (_, n) => at(10 + n, 200));
  const spent = { granted, refused: [], doubtful: [], refusalsSpend: false, othersSpend: false };
  const found = excessIn({ ...bucket(granted), ...spent }, [{ from: 10_000, to: 70_000 }]);
  expect(found).toMatchObject({ exchange: granted[3], passed: 7 });
  expect(found?.spanMs).toBe((granted[6]?.answeredAt ?? 0) - 10_000);
});

test('LIMIT-4 no minute holds more than two intervals, whatever was open before the record', () => {
  const flood = Array.from({ length: 7 }, (_, n) => at(10 + n / 10, 200));
  const unknownStart = { knownSince: 10_000 };
  expect(unexplained(bucket(flood, unknownStart))?.actual).toBe('7 passed within 0.6 s');
  expect(unexplained(bucket(flood.slice(1), unknownStart))).toBeUndefined();
});

test('LIMIT-4 a burst from a full bucket with a continuous refill holds no more than the limit', () => {
  const burst = Array.from({ length: 121 }, (_, i) => at(10 + i / 500, 200));
  const plan = { limit: 120, knownSince: -60_000 };
  expect(unexplained(bucket([...burst, at(10.3, 429)], plan))?.actual).toContain('121 passed');
  expect(unexplained(bucket([...burst.slice(1), at(10.3, 429)], plan))).toBeUndefined();
});

test('LIMIT-4 a token that another client spent explains a refusal, and never a request too many', () => {
  const early = [at(10, 200), at(10.1, 429), at(80, 200), at(80.1, 200), at(80.2, 200)];
  expect(unexplained(bucket([...early, at(80.3, 429)]))).toBeDefined();
  expect(unexplained(bucket([...early, at(80.3, 429)]), 'possible')).toBeUndefined();
  // Requests of others may end an interval between two of ours: then six pass within a minute.
  expect(unexplained(bucket([...early, at(80.3, 200)]), 'possible')).toBeDefined();
  const twice = [...early, at(80.3, 200), at(80.4, 200), at(80.5, 200)];
  expect(unexplained(bucket(twice), 'certain')).toBeUndefined();
  expect(unexplained(bucket([...twice, at(80.6, 200)]), 'certain')).toBeDefined();
});

test('LIMIT-4 a counter that weighs the minute before is a permitted limiter', () => {
  const limited = { limit: 120 };
  const flood = Array.from({ length: 120 }, (_, i) => at(20 + i / 100, 200));
  const early = [...flood, ...Array.from({ length: 62 }, (_, i) => at(90 + i / 100, 200))];
  expect(unexplained(bucket([...early, at(90.63, 429)], limited))).toBeUndefined();
  expect(unexplained(bucket([...flood, at(100, 429)], limited))).toBeDefined();
  expect(unexplained(bucket([...flood, ...flood], limited))).toBeDefined();
  // A minute after 60, it lets 121 pass within a minute.
  const slow = Array.from({ length: 60 }, (_, i) => at(50 + i * 0.1, 200));
  const late = Array.from({ length: 61 }, (_, i) => at(96 + i * 0.2, 200));
  expect(unexplained(bucket([...slow, ...late], limited))).toBeUndefined();
});

test.each<[string, number[], string | undefined]>([
  ['spent a token', [200, 0, 200, 429], undefined],
  ['spent none', [200, 0, 200, 200, 429], undefined],
  ['changes no request too many', [200, 0, 200, 200, 200], '4 passed within'],
  ['explains one token, not two', [200, 0, 429], '429 after 2'],
])('LIMIT-4 a request without a reply %s', (_, statuses, actual) => {
  const exchanges = statuses.map((status, i) => at(10 + i / 10, status));
  expect(unexplained(bucket(exchanges))?.actual.slice(0, actual?.length)).toBe(actual);
});

test('LIMIT-4 a request that was repeated may have spent a token each time', () => {
  const repeated = (second: number, status: number) => {
    const exchange = at(second, status);
    return { ...exchange, reply: { ...exchange.reply, interruptions: 1 } };
  };
  expect(unexplained(bucket([at(10, 200), repeated(10.1, 200), at(10.2, 429)]))).toBeUndefined();
  expect(unexplained(bucket([at(10, 200), at(10.1, 200), repeated(10.2, 429)]))).toBeUndefined();
  expect(unexplained(bucket([repeated(10.1, 200), at(10.2, 429)]))).toBeDefined();
});

test('LIMIT-4 what was spent before the trace began may explain a refusal in its first minute', () => {
  const early = [at(10, 200), at(10.1, 429)];
  expect(unexplained(bucket(early, { knownSince: 5_000 }))).toBeUndefined();
  expect(unexplained(bucket([...early, at(131, 429)], { knownSince: 5_000 }))).toBeDefined();
});

/** Bursts of requests, as waits in milliseconds, durations, and when in it the server decides. */
const request = fc.record({
  waitMs: fc.oneof(fc.constantFrom(0, 5, 20), fc.nat(3_000), fc.nat(40_000)),
  tookMs: fc.oneof(fc.constantFrom(1, 10), fc.nat(800)),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
});

/** What a permitted limiter answers. The minutes of its clock begin `aheadMs` before ours. */
const permitted = fc.record({
  limiterRefill: fc.constantFrom(
    ...(['sliding', 'continuous', 'interval', 'interval_aligned', 'sliding_counter'] as const),
  ),
  refusedSpendsToken: fc.constantFrom('yes' as const, 'no' as const),
  size: fc.integer({ min: 2, max: 9 }),
  aheadMs: fc.integer({ min: -500, max: 500 }),
});

test('LIMIT-4 what others spent before the record contradicts no permitted limiter', () => {
  const history = fc.array(request, { minLength: 5, maxLength: 60 });
  const property = fc.property(permitted, history, fc.nat(59), (limiter, requests, hidden) => {
    const { size, aheadMs } = limiter;
    const refill = { ...limiter, windowMs: 60_000 };
    let now = 200_000;
    const calls = requests.map(({ waitMs, tookMs, share }) => {
      now += waitMs;
      return { sentAt: now, tookMs, decidedAt: now + Math.round(tookMs * share) };
    });
    const spent = new PermittedBucket();
    const decided = calls
      .toSorted((a, b) => a.decidedAt - b.decidedAt)
      .map(({ sentAt, tookMs, decidedAt }) => {
        const waitMs = spendToken(spent, size, decidedAt + aheadMs, refill);
        return { ...at(sentAt / 1_000, waitMs === 0 ? 200 : 429, tookMs), decidedAt };
      });
    const first = decided[Math.min(hidden, decided.length - 1)];
    const knownSince = first?.decidedAt ?? 0;
    const seen = decided
      .filter(({ decidedAt }) => decidedAt >= knownSince)
      .toSorted((a, b) => a.sentAt - b.sentAt);
    const ahead = { least: -500, most: 500 };
    const found = unexplained(bucket(seen, { limit: size, knownSince, ahead }));
    expect(found).toBeUndefined();
  });
  fc.assert(property, { numRuns: runs(300) });
});

/** A flood of 120 after one request, at the start of a run, and what came a minute later. */
test.each<[string, number, [number, number][], string | undefined]>([
  [
    '121 of a minute',
    121,
    [
      [59.3, 429],
      [60.3, 200],
      [60.4, 429],
    ],
    'passed',
  ],
  [
    '120 of 59 s',
    120,
    [
      [57, 429],
      [59.4, 200],
      [60.8, 429],
    ],
    'passed',
  ],
  [
    '120 of 61 s',
    120,
    [
      [60.3, 429],
      [62.3, 200],
      [62.4, 429],
    ],
    '429 after',
  ],
  [
    '120 of a minute',
    120,
    [
      [57, 429],
      [60.1, 200],
      [60.2, 429],
    ],
    undefined,
  ],
])('LIMIT-1 a flood in the first minute of a run shows %s', (_, passes, later, actual) => {
  const flood = Array.from({ length: passes - 1 }, (_, i) => at(12 + i / 500, 202));
  const refusals = [0, 1, 2].map((i) => at(12.3 + i / 500, 429));
  const rest = later.map(([second, status]) => at(10 + second, status));
  const plan = { limit: 120, knownSince: 9_500, ahead: { least: -500, most: 500 } };
  const found = unexplained(bucket([at(10, 202), ...flood, ...refusals, ...rest], plan));
  if (actual === undefined) expect(found).toBeUndefined();
  else expect(found?.actual).toContain(actual);
});

test('LIMIT-4 a token may be spent at any time while its slow request is answered', () => {
  const slow = [at(58, 200, 1_500), at(58, 200, 1_500), at(58, 200, 1_500), at(59.6, 429)];
  const limited = { hasExactTimes: true };
  expect(unexplained(bucket([...slow, at(119.4, 429)], limited))).toBeUndefined();
  expect(unexplained(bucket([...slow, at(119.6, 429)], limited))).toBeDefined();
});

test('AUTH-6 an address may be answered 401 for ever, or be throttled at its limit', () => {
  const calls = (statuses: number[]) => statuses.map((status, i) => at(10 + i / 10, status));
  const ofAddress = (statuses: number[]) =>
    unexplained(bucket(calls(statuses), { isOfAddress: true }));
  expect(ofAddress([401, 401, 401, 401, 401])).toBeUndefined();
  expect(ofAddress([401, 401, 401, 429, 429])).toBeUndefined();
  expect(ofAddress([401, 401, 429])).toBeDefined();
});

test('LIMIT-4 where the clock of the target is unknown, its minute may begin within a flood', () => {
  const flood = [...full, at(10.3, 200), at(10.4, 200), at(10.5, 429)];
  const unknown = { ahead: undefined };
  expect(unexplained(bucket(flood))).toBeDefined();
  expect(unexplained(bucket(flood, unknown))).toBeUndefined();
  // A second flood at another phase leaves no minute that explains both.
  const again = flood.map(({ sentAt, reply }) => at(sentAt / 1_000 + 140.5, reply.status));
  expect(unexplained(bucket([...flood, ...again], unknown))).toBeDefined();
});

test('LIMIT-4 an interval may have been opened by any request since the last one certainly ended', () => {
  const first = [at(10, 200), at(10.1, 200), at(10.2, 200), at(10.3, 429)];
  // The first interval ends at 70: the slow request may open the next one at once, or at 79.
  const second = [at(69.5, 200, 9_500), at(79.1, 200), at(79.2, 200), at(79.3, 429)];
  const foundIn = (seconds: number[]) =>
    unexplained(bucket([...first, ...second, ...seconds.map((second) => at(second, 200))]));
  const early = [130.5, 130.6, 130.7];
  const late = [139.3, 139.4, 139.5];
  expect(foundIn(early)).toBeUndefined();
  expect(foundIn(late)).toBeUndefined();
  // No interval that ends by 130.5 is followed by one that ends before 190.
  expect(foundIn([...early, ...late])).toBeDefined();
});
