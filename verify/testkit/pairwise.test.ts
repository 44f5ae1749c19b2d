/** Pairwise rows cover every two answers. */
import { expect, test } from 'vitest';
import { pairwise } from './pairwise.ts';

test('any two answers stand together in some row, in far fewer rows than there are combinations', () => {
  const choices = Object.fromEntries(
    [4, 3, 2, 5, 2, 2, 3, 4, 2, 2].map((many, n) => [
      `q${n}`,
      Array.from({ length: many }, (_, a) => `a${a}`),
    ]),
  );
  const rows = pairwise(choices);
  for (const [q, ofQ] of Object.entries(choices)) {
    for (const [r, ofR] of Object.entries(choices)) {
      if (q < r) {
        for (const a of ofQ)
          for (const b of ofR) expect(rows.some((row) => row[q] === a && row[r] === b)).toBe(true);
      }
    }
  }
  expect(rows.length).toBeLessThanOrEqual(30);
});

test('a question with one answer, and a lone question, are answered', () => {
  expect(pairwise({ one: ['a'], two: ['b', 'c'] })).toEqual([
    { one: 'a', two: 'b' },
    { one: 'a', two: 'c' },
  ]);
});
