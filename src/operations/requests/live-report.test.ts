/**
 * The report is kept until something changes that it depends on: a stale verdict would be worse
 * than a slow one.
 */
import { afterEach, expect, test, vi } from 'vitest';
import { atOnce } from '#io/event-loop.ts';
import { defaultGraceMs } from '#judging/client/record.ts';
import { Twin } from '#verify/testkit/twin/twin.ts';
import { keptReportOn } from './kept-reports.ts';
import { referee } from './referee.ts';

afterEach(() => void vi.useRealTimers());

const asked = { isPartial: false, isStrict: false, graceMs: defaultGraceMs };

/** More exchanges than are judged so fast that a report is never recent. */
const manySends = 2_000;

function runOf(settings: ConstructorParameters<typeof Twin>[0] = { limits: { send: 1 } }) {
  const { simulator, send } = new Twin(settings);
  const report = (options = asked) => atOnce(keptReportOn(simulator, options)).report;
  const retryAfter = () => report().rules.find(({ id }) => id === 'CLIENT-1')?.verdict;
  return { simulator, send, report, retryAfter };
}

test('the same question on the same record is not judged twice', () => {
  const { send, report } = runOf();
  send({ request_id: 'a' });
  const first = report();
  expect(report()).toBe(first);
  expect(report({ ...asked, isStrict: true })).not.toBe(first);
});

test('a request, a restart and a reset are judged at once', () => {
  const { simulator, send, report, retryAfter } = runOf();
  send({ request_id: 'a', message: 'One' });
  send({ request_id: 'b', message: 'Two' });
  expect(retryAfter()).toBe('not_exercised');
  simulator.clock.advance('59s');
  send({ request_id: 'b', message: 'Two' });
  expect(retryAfter()).toBe('failed');
  simulator.referee.restart();
  expect(retryAfter()).toBe('not_exercised');
  expect(report().exchanges).toEqual([]);
  send({ request_id: 'c', message: 'Three' });
  expect(report().exchanges).toHaveLength(1);
  simulator.reset();
  expect(report().exchanges).toEqual([]);
});

test('who takes a recent report gets one that is kept for longer, until a restart', () => {
  const { simulator, send } = runOf({ noLimits: true });
  for (let n = 0; n < manySends; n++) send({ request_id: `a${n}` });
  const ask = () => simulator.referee({ recent: true, most: 1 });
  expect(ask().again_in_ms).toBeUndefined();
  send({ request_id: 'b' });
  expect(simulator.referee({ strict: true }).exchanges).toBe(manySends + 1);
  const recent = ask();
  expect(recent.exchanges).toBe(manySends);
  expect(recent.again_in_ms).toBeGreaterThan(0);
  expect(simulator.referee().exchanges).toBe(manySends + 1);
  expect(ask()).toMatchObject({ exchanges: manySends + 1 });
  simulator.referee.restart();
  expect(ask().exchanges).toBe(0);
});

declare function slicesOf(live: unknown, query: object): Generator<undefined, object>;

test('while a recent report is renewed, others take the last one', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { simulator, send } = runOf({ noLimits: true });
  for (let n = 0; n < manySends; n++) send({ request_id: `a${n}` });
  const ask = () => simulator.referee({ recent: true }).exchanges;
  expect(ask()).toBe(manySends);
  send({ request_id: 'b' });
  expect(ask()).toBe(manySends);
  vi.advanceTimersByTime(2_000);
  const { slices } = referee.report as unknown as { slices: typeof slicesOf };
  const first = slices(simulator, { recent: true, partial: false, strict: false, details: false });
  expect(first.next().done).toBe(false);
  expect(ask()).toBe(manySends);
  expect(atOnce(first)).toMatchObject({ exchanges: manySends + 1 });
  expect(ask()).toBe(manySends + 1);
});

test('a report with few findings says how many there are', () => {
  const { simulator, send } = runOf();
  for (const id of ['a', 'b', 'b', 'b', 'b']) send({ request_id: id });
  const ruleIn = (report: ReturnType<typeof simulator.referee>) =>
    report.rules.find(({ id }) => id === 'CLIENT-1');
  expect(ruleIn(simulator.referee())?.findings).toHaveLength(3);
  expect(ruleIn(simulator.referee({ most: 2 }))).toMatchObject({ found: 3, findings: [{}, {}] });
});

test('a delayed reply that has left is judged at once', () => {
  const { simulator, send, report } = runOf({});
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'delay', ms: 60_000 } });
  send({ request_id: 'a' });
  const before = report().exchanges[0];
  expect(before).toMatchObject({ isOpenAtEnd: true });
  simulator.exchangeRecord.ended(1, simulator.simulation.clock.now() + 60_000, false);
  expect(report().exchanges[0]).toMatchObject({ isOpenAtEnd: false, isSeen: false });
});
