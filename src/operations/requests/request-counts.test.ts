/** Requests over simulated time: each counts once, by endpoint and account, within a bound. */
import { expect, test } from 'vitest';
import { requestTo } from '#verify/testkit/twin/request.ts';
import { sendBy, Twin } from '#verify/testkit/twin/twin.ts';
import { RecordedExchange } from '../../recording/recorded-exchange.ts';
import { mostSeries, RequestSeconds } from '../../recording/request-seconds.ts';

test('requests are counted by second, endpoint and account, since a reset', async () => {
  const { simulator, call } = new Twin({ limits: { send: 2 } });
  for (let n = 0; n < 3; n++) sendBy(simulator, 0, {});
  simulator.clock.advance('70s');
  sendBy(simulator, 1, {});
  simulator.handle(requestTo('/nowhere'));
  const sums = (query: Parameters<typeof simulator.requests.counts>[0]) => {
    const { bars } = simulator.requests.counts(query);
    return [sum(bars.map(({ count }) => count)), sum(bars.map(({ throttled }) => throttled))];
  };
  expect(sums({})).toEqual([5, 1]);
  expect(sums({ endpoint: 'send' })).toEqual([4, 1]);
  expect(sums({ account_id: 'globex' })).toEqual([1, 0]);
  const { json } = await call('GET', '/control/requests/counts?endpoint=send');
  expect(json).toMatchObject({ width_ms: 5_000, from: '2026-01-01T00:00:00.000Z' });
  expect(json.bars[0]).toEqual({ count: 3, throttled: 1, spent: 2 });
  expect(json.bars[14]).toEqual({ count: 1, throttled: 0, spent: 1 });
  const fine = simulator.requests.counts({ endpoint: 'send', bar_s: 1 });
  expect(fine).toMatchObject({ width_ms: 1_000, from: '2026-01-01T00:00:00.000Z' });
  expect([fine.bars.length, fine.bars[70]]).toEqual([71, { count: 1, throttled: 0, spent: 1 }]);
  simulator.clock.advance('2h');
  sendBy(simulator, 1, {});
  const last = simulator.requests.counts({ bar_s: 1 });
  expect([last.bars.length, last.bars.at(-1)?.count, last.bars[0]?.count]).toEqual([3_600, 1, 0]);
  simulator.reset();
  expect(sums({})).toEqual([0, 0]);
  await simulator.close();
});

test('only requests that kept a token count as spent', async () => {
  const { simulator } = new Twin({ limits: { send: 9 } });
  const spent = () => simulator.requests.counts({ endpoint: 'send' }).bars[0]?.spent;
  simulator.faults.add({ fault: { kind: 'status', status: 503 }, when: { nth: [1] } });
  simulator.faults.add({ fault: { kind: 'lost_response' }, when: { nth: [2] } });
  for (let n = 0; n < 2; n++) sendBy(simulator, 0, {});
  expect(spent()).toBe(1);
  for (const errorsSpendToken of ['yes', 'no'] as const) {
    simulator.assumptions.patch({ errorsSpendToken });
    sendBy(simulator, 0, { to: 'nonsense' });
    expect(spent()).toBe(2);
  }
  simulator.assumptions.patch({ replaySpends: 'nothing' });
  for (let n = 0; n < 2; n++) sendBy(simulator, 0, { request_id: 'order-1' });
  expect(spent()).toBe(3);
  expect(simulator.limits.buckets()[0]?.available).toBe(6);
  await simulator.close();
});

test('the counts of the oldest seconds are dropped above their bound', () => {
  const seconds = new RequestSeconds();
  const exchange = new RecordedExchange();
  for (let second = 0; second <= mostSeries; second++) {
    exchange.atMs = second * 1_000;
    seconds.add(exchange);
  }
  const kept = [...seconds];
  expect(kept).toHaveLength(mostSeries / 2);
  expect(kept.at(-1)?.startMs).toBe(mostSeries * 1_000);
});

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
