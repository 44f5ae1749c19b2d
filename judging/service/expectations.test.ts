import { expect, test } from 'vitest';
import { difference } from './expectations.ts';

const body = (createdAt: string) =>
  `{"status":"queued","message_id":"8d3f1a52-0000-4000-8000-000000000000","created_at":"${createdAt}","to":"+12025550123"}`;

test('two replies are shown where they differ, with the name of the field', () => {
  const shown = difference(body('2026-01-01T00:00:00.001Z'), body('2026-01-01T00:00:00.002Z'));
  expect(shown.map((text) => /"created_at":"[^"]*"/.exec(text)?.[0])).toEqual([
    '"created_at":"2026-01-01T00:00:00.001Z"',
    '"created_at":"2026-01-01T00:00:00.002Z"',
  ]);
  for (const text of shown) expect(text.length).toBeLessThan(80);
});

test.each([
  ['', 'x', ['', 'x']],
  ['ab', 'abc', ['ab', 'abc']],
  ['same', 'same', ['same', 'same']],
])('texts of any length are compared: %j and %j', (one, other, shown) => {
  expect(difference(one, other)).toEqual(shown);
});
