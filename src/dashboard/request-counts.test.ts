import { expect, test } from 'vitest';
import { RequestCounts } from './page/pages/request-counts.ts';
import type { Traffic } from './page/wire.ts';

const at = '2026-01-01T00:00:00.000Z';

function traffic(lastNumber: number, counts: Readonly<Record<number, number>>): Traffic {
  return {
    at,
    last_number: lastNumber,
    counts: Object.entries(counts).map(([status, count]) => ({
      endpoint: 'send',
      status: Number(status),
      count,
    })),
  };
}

test('each request counts once, whether the list or the traffic reports it first', () => {
  const tally = new RequestCounts();
  const listed = { method: 'POST', endpoint: 'send', status: 202, at } as const;
  const rest = {
    account_id: null,
    key_id: null,
    code: null,
    duration_ms: 1,
    is_replay: false,
    fault: null,
  };
  tally.start([2, 1].map((number) => ({ ...listed, ...rest, number })));
  tally.add(traffic(2, { 202: 2 }));
  expect(tally.counts().total).toBe(2);
  tally.add(traffic(5, { 202: 2, 429: 2 }));
  expect(tally.counts()).toMatchObject({ total: 5, throttled: 2 });
  tally.add(traffic(60_005, { 202: 50_000, 429: 10_000 }));
  expect(tally.counts()).toMatchObject({ total: 60_005, throttled: 10_002 });
});

test('traffic that came while the list was on its way is counted', () => {
  const tally = new RequestCounts();
  tally.add(traffic(40, { 202: 40 }));
  tally.start([]);
  expect(tally.counts().total).toBe(40);
  tally.forgetRecent();
  tally.start([]);
  expect(tally.counts().total).toBe(0);
});
