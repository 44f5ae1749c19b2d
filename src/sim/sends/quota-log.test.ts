import { expect, test } from 'vitest';
import { dayMs, minuteMs } from '#contract/time.ts';
import { mostQuotaRows, QuotaLog } from './quota.ts';

const spanMs = 30 * dayMs;
const start = Date.parse('2026-01-01T00:00:00.000Z');

test('a log with more rows than its bound merges messages by minute, without losing any', () => {
  const log = new QuotaLog(spanMs);
  const count = 3 * mostQuotaRows;
  const stepMs = 7_000;
  for (let n = 0; n < count; n++) log.add(start + n * stepMs, 2, start + n * stepMs);
  const lastMs = start + (count - 1) * stepMs;
  expect(log.sum(lastMs).slice(1)).toEqual([count, 2 * count, 0, 0]);
  expect(log.rows(lastMs).length).toBeLessThanOrEqual(mostQuotaRows);
  log.fail(start, 2, lastMs);
  expect(log.sum(lastMs).slice(1)).toEqual([count, 2 * count, 1, 2]);
  expect(log.sum(start + spanMs + minuteMs)[1]).toBe(count - Math.ceil(minuteMs / stepMs));
  expect(log.sum(lastMs + spanMs + minuteMs).slice(1)).toEqual([0, 0, 0, 0]);
});

test('a restored log continues as the original would', () => {
  const log = new QuotaLog(spanMs);
  for (let n = 0; n < 100; n++) log.add(start + n * dayMs, 1, start + n * dayMs);
  const nowMs = start + 99 * dayMs;
  const again = new QuotaLog(spanMs);
  again.restore(log.rows(nowMs));
  expect(again.sum(nowMs)).toEqual(log.sum(nowMs));
  expect(again.sum(nowMs + 10 * dayMs)).toEqual(log.sum(nowMs + 10 * dayMs));
});
