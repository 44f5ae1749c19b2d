/** Durations in words. */
import { expect, test } from 'vitest';
import { durationText } from './time.ts';

test.each([
  [250, '250 ms'],
  [1_509, '1.5 s'],
  [59_999, '59.99 s'],
  [60_000, '1 min'],
  [119_999, '1 min 59 s'],
  [90_000_000, '1 d 1 h'],
])('%d ms are %s: rounded down', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
