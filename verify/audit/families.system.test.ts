/**
 * What a known limiter does, its own family permits; and each request judged as it comes, as all at
 * once.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { algorithmOf } from '#audit/search.ts';
import { type Decision, type Version, withLimit } from '#judging/limiter/space/decision.ts';
import {
  type Family,
  families,
  rareFamilies,
  windowsWithBucket,
} from '#judging/limiter/space/families.ts';
import { Decisions, History } from '#judging/limiter/space/history.ts';
import {
  alignedWindow,
  fixedWindow,
  prolonged,
  slidingCounter,
  slidingCounterFromFirst,
  slidingLog,
  tokenBucket,
  windowAndBucket,
} from './limiters.ts';

const planted = [
  ['fixed_window', 'free', fixedWindow],
  ['aligned_window', 'free', alignedWindow],
  ['sliding_log', 'free', slidingLog],
  ['sliding_log', 'spend', (n: number, ms: number) => slidingLog(n, ms, true)],
  ['sliding_counter', 'free', slidingCounter],
  ['sliding_counter_from_first', 'free', slidingCounterFromFirst],
  [
    'sliding_counter_from_first',
    'spend',
    (n: number, ms: number) => slidingCounterFromFirst(n, ms, true),
  ],
  ['sliding_counter_capped', 'spend', (n: number, ms: number) => slidingCounter(n, ms, true)],
  ['token_bucket', 'free', tokenBucket],
  ['token_bucket', 'spend', (n: number, ms: number) => tokenBucket(n, ms, true)],
  ['prolonged_window', 'spend', prolonged],
] as const;

/** A limiter, requests to it, and how well an observer knows when each was decided. */
const runs = fc.record({
  limit: fc.integer({ min: 1, max: 8 }),
  windowMs: fc.integer({ min: 100, max: 2_000 }),
  begin: fc.integer({ min: 0, max: 100_000 }),
  /** How far the window and the place of its begin are known. */
  wider: fc.constantFrom(0, 0.01, 0.3),
  phaseWidth: fc.constantFrom(0, 0.01, 0.5),
  /** Requests of which the observer does not know. */
  unknown: fc.integer({ min: 0, max: 6 }),
  requests: fc.array(
    fc.record({
      gapMs: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1_500 })),
      beforeMs: fc.nat(30),
      afterMs: fc.nat(30),
    }),
    { minLength: 7, maxLength: 60 },
  ),
});

type Planted = (typeof planted)[number];
type RunOf<T> = T extends fc.Arbitrary<infer Value> ? Value : never;

function decided(make: Planted[2], run: RunOf<typeof runs>): Decision[] {
  const limiter = make(run.limit, run.windowMs)();
  let now = run.begin;
  const decisions = run.requests.map(({ gapMs, beforeMs, afterMs }) => {
    now += gapMs;
    const at = now - run.begin;
    return { from: at - beforeMs, to: at + afterMs, passed: limiter(now).passes, count: 1 };
  });
  // Later ones begin and end later.
  for (const [i, each] of decisions.entries()) {
    const to = Math.max(...decisions.slice(0, i + 1).map((other) => other.to));
    const from = Math.min(...decisions.slice(i).map((other) => other.from));
    decisions[i] = { ...each, from, to };
  }
  return decisions.slice(Math.min(run.unknown, run.requests.length));
}

function versionOf([name, refusals]: Planted, run: RunOf<typeof runs>, first: number): Version {
  const { windowMs, wider } = run;
  // An unknown request may have opened windows at any time.
  const phaseWidth = name === 'sliding_counter_from_first' ? 1 : run.phaseWidth;
  const place = (((-run.begin % windowMs) + windowMs) % windowMs) / windowMs;
  return {
    limit: [1, 20],
    windowMs: [windowMs * (1 - wider), windowMs * (1 + wider)],
    phase: [Math.max(0, place - phaseWidth), Math.min(1, place + phaseWidth)],
    refusalsSpend: refusals === 'spend',
    knownSince: run.unknown === 0 ? Number.NEGATIVE_INFINITY : first,
  };
}

/** The limits that permit the decisions, judged after each of them. */
function limitOneByOne(family: Family, whole: Version, list: readonly Decision[]) {
  const decisions = new Decisions();
  const history = new History(decisions, 0);
  let version: Version | undefined = whole;
  for (const decision of list) {
    const since = Math.max(0, history.groups.length - 1);
    const one: Version = version;
    // A question about the future changes nothing.
    history.followedBy([{ ...decision, passed: !decision.passed }], (part) =>
      family.possibleLimits(history, one, part),
    );
    decisions.add(decision);
    history.add();
    const limit = family.possibleLimits(history, one, { ...history.whole, since });
    version = withLimit(one, limit);
    if (version === undefined) return undefined;
  }
  return version.limit;
}

const rows = planted.map((row) => {
  const [name, refusals] = row;
  const known = [...families, ...rareFamilies];
  const family = known.find((each) => each.name === name && each.refusals === refusals);
  if (family === undefined) throw new Error(`no family ${name} ${refusals}`);
  return { row, family, name, refusals };
});

test.each(rows)('$name $refusals permits what such a limiter decides', ({ row, family }) => {
  fc.assert(
    fc.property(runs, (run) => {
      const decisions = decided(row[2], run);
      const history = History.of(decisions);
      const version = versionOf(row, run, decisions[0]?.to ?? 0);
      const whole = family.possibleLimits(history, version, history.whole);
      for (const limit of [whole, limitOneByOne(family, version, decisions)]) {
        expect(limit?.[0]).toBeLessThanOrEqual(run.limit);
        expect(limit?.[1]).toBeGreaterThanOrEqual(run.limit);
      }
    }),
    { numRuns: 300 },
  );
});

test('a window and a bucket at once permit what they decide', () => {
  fc.assert(
    fc.property(runs, (run) => {
      const decisions = decided(windowAndBucket, run);
      const history = History.of(decisions);
      const [family] = windowsWithBucket(run.limit, [0, 10_000]);
      const version = versionOf(['fixed_window', 'free', fixedWindow], run, decisions[0]?.to ?? 0);
      expect(family?.possibleLimits(history, version, history.whole)).toBeDefined();
    }),
    { numRuns: 300 },
  );
});

test.each(families.map((family) => ({ family, name: family.name, refusals: family.refusals })))(
  '$name $refusals judges requests one by one as all at once',
  ({ family }) => {
    fc.assert(
      fc.property(runs, fc.constantFrom(...planted), (run, row) => {
        const list = decided(row[2], run);
        const first = versionOf(
          ['', family.refusals, row[2]] as unknown as Planted,
          run,
          list[0]?.from ?? 0,
        );
        const history = History.of(list);
        const anew = family.possibleLimits(history, { ...first }, history.whole);
        expect(limitOneByOne(family, first, list)).toEqual(anew);
      }),
      { numRuns: 200 },
    );
  },
);

/** The limits from 1 to 20 of a family that permit the decisions, of windows of this length. */
function limitsOf(named: string, windowMs: number, list: readonly Decision[]) {
  const history = History.of(list);
  const version: Version = {
    limit: [1, 20],
    windowMs: [windowMs, windowMs],
    phase: [0, 0.01],
    refusalsSpend: false,
    knownSince: Number.NEGATIVE_INFINITY,
  };
  const family = families.find(({ name }) => name === named);
  return family?.possibleLimits(history, version, history.whole);
}

test('a bucket is judged by what may come back, whichever of two requests took its token first', () => {
  const at = (from: number, to: number, passed: boolean) => ({ from, to, passed, count: 1 });
  // The first two may both have been decided at 30 ms: then two tokens are gone at 31 ms.
  const list = [at(0, 30, true), at(1, 30, true), at(31, 31, false)];
  expect(limitsOf('token_bucket', 20, list)).toEqual([1, 2]);
});

test('a question about what may follow leaves no trace', () => {
  const at = (from: number) => ({ from, to: from + 4, passed: true, count: 1 });
  const decisions = new Decisions();
  const history = new History(decisions, 100);
  decisions.add(at(0));
  history.add();
  const before = structuredClone(history.groups);
  const asked = history.followedBy([at(10)], ({ since, until }) => until - since);
  expect([asked, history.groups, decisions.all.length]).toEqual([1, before, 1]);
});

test('a window that has refused a request lets none pass before its end', () => {
  const at = (from: number, passed: boolean) => ({ from, to: from + 15, passed, count: 1 });
  const limits = (...list: Decision[]) => limitsOf('aligned_window', 1_000, list);
  // The first request may be in this window or in the one before: either, but not both.
  const first = [at(0, true), at(100, true), at(200, true), at(300, false)];
  expect(limits(...first)).toEqual([2, 3]);
  expect(limits(...first, at(500, true))).toBeUndefined();
  expect(limits(...first, at(1_100, true))).toEqual([2, 3]);
});

test('a log gives a token back after exactly its window', () => {
  const at = (from: number, passed: boolean) => ({ from, to: from + 4, passed, count: 1 });
  // Two that passed within 12 ms at most, and one that was refused 12 ms later at least.
  const list = [at(0, true), at(8, true), at(24, false)];
  for (const windowMs of [11.9999, 12, 12.0001])
    expect(limitsOf('sliding_log', windowMs, list)?.[0]).not.toBe(1);
});

test.each([
  ['sliding_log', 100, 7],
  ['aligned_window', 100, 5],
  ['sliding_counter', 100, 5],
] as const)(
  'of many at once, a %s of %d ms lets its limit pass in each window',
  (name, ms, least) => {
    // 14 passed within 150 ms: in two windows, or with windows of a clock in three.
    const list = Array.from({ length: 14 }, () => ({ from: 0, to: 150, passed: true, count: 1 }));
    expect(limitsOf(name, ms, list)?.[0]).toBe(least);
  },
);

test.each([
  ['block', 1, ['fixed_window']],
  ['free', 1, ['token_bucket']],
  ['block', 2, ['fixed_window', 'sliding_log']],
] as const)('windows and logs that %s refusals, of %d, have these names', (mode, limit, names) => {
  const version = {
    limit: [limit, limit],
    windowMs: [9, 9],
    phase: [0, 0],
    knownSince: 0,
  } as const;
  const alike = families
    .filter(({ name, refusals }) => refusals === mode && /^fixed_window|_log$/.test(name))
    .map((family) => algorithmOf({ family, version: { ...version, refusalsSpend: false } }));
  expect([...new Set(alike)]).toEqual(names);
});
