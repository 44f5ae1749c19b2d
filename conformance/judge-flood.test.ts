import { expect, test } from 'vitest';
import { mostInAMinute } from './cases/read-3-not-limited.ts';
import type { Flood } from './floods.ts';
import { isAlignedReturn, returnsAfterAMinute, returnTime } from './judge-flood.ts';
import { Trial } from './trial.ts';

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

test('LIMIT-4 a token may be spent at any time while its slow request is answered', () => {
  const [spentAt, slowMs] = [10_000, 1_500];
  const before = [{ sentAt: spentAt, answeredAt: spentAt + slowMs }];
  const reply = (status: number, sentAt: number, seconds = 0) => ({
    status,
    sentAt,
    answeredAt: sentAt + slowMs,
    headers: { 'retry-after': String(seconds) },
  });
  const wait = { seconds: 30, after: reply(200, 70_200), at: 70_200 };
  const flood = {
    limit: 120,
    before: { times: before },
    replies: [reply(200, 30_000)],
    refusals: [reply(429, 40_200, 30), reply(429, 39_000, 31)],
    wait: { ...wait, refusal: reply(429, 41_000, 29) },
  } as unknown as Flood;
  const trial = new Trial({} as Trial['target']);
  expect(() => returnsAfterAMinute(trial, flood)).not.toThrow();
  expect(trial.exercised).toBe(1);
});

test('LIMIT-6 counts the requests of the busiest minute, answered ones alone', () => {
  const every = (apartMs: number) =>
    Array.from({ length: 150 }, (_, i) => ({ sentAt: i * apartMs, answeredAt: i * apartMs + 100 }));
  expect([mostInAMinute(every(100)), mostInAMinute(every(700)), mostInAMinute([])]).toEqual([
    150, 86, 0,
  ]);
});
