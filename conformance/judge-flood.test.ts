import { expect, test } from 'vitest';
import { isAlignedReturn, returnTime } from './judge-flood.ts';

const minuteMs = 60_000;

/** A 429 at that time of the run's clock. */
const refusal = (atMs: number, seconds: number) => ({
  sentAt: atMs,
  answeredAt: atMs + 10,
  seconds,
});

test.each([
  ['a minute of the clock begins', [refusal(30_200, 30), refusal(58_100, 2)], 60_100, true],
  ['the same, asked 8 s late', [refusal(30_200, 30), refusal(58_100, 2)], 68_000, true],
  ['a window of 50 s ends', [refusal(10_200, 40), refusal(48_100, 3)], 50_500, false],
  ['the same, asked as the minute ends', [refusal(10_200, 40)], minuteMs - 3_000, false],
])('LIMIT-1 a bucket is full again when %s', (_, refusals, backAt, isAligned) => {
  expect(isAlignedReturn(returnTime(refusals), backAt)).toBe(isAligned);
});
