import fc from 'fast-check';
import { expect, test } from 'vitest';
import { unfinishedStatuses } from '#contract/message-status.ts';
import { defaultAssumptions } from '../assumptions.ts';
import { Rng } from '../random.ts';
import { isUnprompted, numberTest, type Outcome, Outcomes } from './outcomes.ts';

const rng = () => Rng.stream(1, 'fates');

test('STATE-3 a recipient without a matching outcome has no scripted fate', () => {
  const outcomes = new Outcomes([{ to: '+12025550160', ends: 'failed', in: 'queued' }]);
  expect(outcomes.fateOf('+12025550161', defaultAssumptions, rng())).toBeUndefined();
});

test.each([
  ['+1202555016*', '+12025550160', true],
  ['+1202555016*', '+1202555016', true],
  ['+1202555016*', '+120255501600', true],
  ['+1202555016*', '+12025550170', false],
  ['+1202*60', '+12025550160', true],
  ['+1202*60', '+120260', true],
  ['+1202*60', '+12025550161', false],
  ['+*', '+12025550160', true],
  ['+1*5*0', '+12025550160', true],
  ['+1*5*0', '+12020000000', false],
  ['+12025550160', '+12025550160', true],
])('STATE-4 the outcome of %s holds for %s: %s', (pattern, to, holds) => {
  const outcomes = new Outcomes([{ to: pattern, ends: 'failed', in: 'sent' }]);
  expect(outcomes.fateOf(to, defaultAssumptions, rng()) !== undefined).toBe(holds);
});

const outcome: fc.Arbitrary<Outcome> = fc
  .tuple(
    fc.constantFrom('+1*', '+12*', '+1*2', '+12', '+122', '+1212', '+13', '+*'),
    fc.constantFrom('failed' as const, 'stuck' as const),
    fc.constantFrom(...unfinishedStatuses),
    fc.integer({ min: 1, max: 5 }),
  )
  .map(([to, ends, status, polls]) => ({ to, ends, in: status, polls }));

test('STATE-4 the first outcome that names a recipient wins, patterns and numbers mixed', () => {
  fc.assert(
    fc.property(
      fc.array(outcome),
      fc.constantFrom('+12', '+122', '+1212', '+13', '+9'),
      (list, to) => {
        const names = (pattern: string) =>
          new RegExp(`^${pattern.replace('+', '[+]').replaceAll('*', '\\d*')}$`).test(to);
        const expected = list.find((entry) => names(entry.to));
        const fate = new Outcomes(list).fateOf(to, defaultAssumptions, rng());
        expect(fate).toEqual(
          expected && { ends: expected.ends, in: expected.in, polls: expected.polls },
        );
      },
    ),
  );
});

test('STATE-4 failsFrom: a scripted failure outside of it is delivered at the same pace; a stuck one stays', () => {
  const outcomes = new Outcomes([
    { to: '+12', ends: 'failed', in: 'sent', polls: 3 },
    { to: '+13', ends: 'stuck', in: 'sent' },
  ]);
  const assumptions = { ...defaultAssumptions, failsFrom: ['queued', 'sending'] as const };
  expect(outcomes.fateOf('+12', assumptions, rng())).toEqual({ ends: 'delivered', polls: 3 });
  expect(outcomes.fateOf('+13', assumptions, rng())).toEqual({
    ends: 'stuck',
    in: 'sent',
    polls: 1,
  });
});

test.each([
  [0, 0, 0],
  [0.3, 2_700, 3_300],
  [1, 10_000, 10_000],
])(
  'STATE-4 failureRate %d fails between %i and %i of 10,000, evenly over failsFrom',
  (failureRate, least, most) => {
    const outcomes = new Outcomes([]);
    const chance = rng();
    const counts: Record<string, number> = {};
    for (let i = 0; i < 10_000; i++) {
      const fate = outcomes.fateOf('+12', { ...defaultAssumptions, failureRate }, chance);
      if (fate === undefined) continue;
      expect(isUnprompted(fate) && fate.ends === 'failed').toBe(true);
      counts[String(fate.in)] = (counts[String(fate.in)] ?? 0) + 1;
    }
    const failed = Object.values(counts).reduce((sum, count) => sum + count, 0);
    expect(failed).toBeGreaterThanOrEqual(least);
    expect(failed).toBeLessThanOrEqual(most);
    for (const count of Object.values(counts))
      expect(Math.abs(count - failed / 3)).toBeLessThan(250);
  },
);

test('STATE-4 failureRate draws from failsFrom alone, and from nothing where it is empty', () => {
  const outcomes = new Outcomes([]);
  const draws = (failsFrom: readonly ('queued' | 'sending' | 'sent')[]) => {
    const chance = rng();
    const assumptions = { ...defaultAssumptions, failsFrom, failureRate: 1 };
    return new Set(
      Array.from({ length: 100 }, () => outcomes.fateOf('+12', assumptions, chance)?.in),
    );
  };
  expect(draws(['sending'])).toEqual(new Set(['sending']));
  expect(draws([])).toEqual(new Set([undefined]));
});

test('STATE-4 a scripted recipient draws nothing, so that scripts shift no other message', () => {
  const outcomes = new Outcomes([{ to: '+12', ends: 'delivered' }]);
  const chance = rng();
  const before = chance.state;
  const fate = outcomes.fateOf('+12', { ...defaultAssumptions, failureRate: 1 }, chance);
  expect(fate).toEqual({ ends: 'delivered', polls: 1 });
  expect(fate && isUnprompted(fate)).toBe(false);
  expect(chance.state).toEqual(before);
});

test('outcomes are replaced as a whole', () => {
  const outcomes = new Outcomes([
    { to: '+1*', ends: 'stuck', in: 'queued' },
    { to: '+12', ends: 'delivered' },
  ]);
  outcomes.replace([{ to: '+13', ends: 'delivered' }]);
  expect(outcomes.fateOf('+12', defaultAssumptions, rng())).toBeUndefined();
  expect(outcomes.list).toHaveLength(1);
});

test('a pattern names the numbers that its stars make of digits', () => {
  const patterns = fc.stringMatching(/^\+[12*]{1,8}$/);
  fc.assert(
    fc.property(patterns, fc.stringMatching(/^\+?[12+x]{0,9}$/), (pattern, number) => {
      const shape = new RegExp(`^\\${pattern.replaceAll('*', '[0-9]*')}$`);
      expect(numberTest(pattern)(number), `${pattern} ${number}`).toBe(shape.test(number));
    }),
    { numRuns: 1_000 },
  );
});

test('no pattern takes long to refuse what a client calls a number', () => {
  const endless = `+${'1'.repeat(60_000)}x`;
  for (const pattern of ['+*5*5*5', '+*1*1*1*1*1*1*2', '+1**************2']) {
    // With a backtracking expression this would outlast every test.
    expect(numberTest(pattern)(endless)).toBe(false);
    expect(numberTest(pattern)(endless.slice(0, -1))).toBe(false);
  }
});
