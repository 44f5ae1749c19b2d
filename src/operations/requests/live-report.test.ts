/**
 * The report is kept until something changes that it depends on: a stale verdict would be worse
 * than a slow one.
 */
import { expect, test } from 'vitest';
import { atOnce } from '#io/slices.ts';
import { defaultGraceMs } from '#judging/client/judge.ts';
import { Twin } from '#verify/testkit/twin/twin.ts';
import { reportingOn } from './referee.ts';

const asked = { isPartial: false, isStrict: false, graceMs: defaultGraceMs };

function runOf(settings: ConstructorParameters<typeof Twin>[0] = { limits: { send: 1 } }) {
  const { simulator, send } = new Twin(settings);
  const report = (options = asked) => atOnce(reportingOn(simulator, options));
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

test('a delayed reply that has left is judged at once', () => {
  const { simulator, send, report } = runOf({});
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'delay', ms: 60_000 } });
  send({ request_id: 'a' });
  const before = report().exchanges[0];
  expect(before).toMatchObject({ isOpenAtEnd: true });
  simulator.exchangeRecord.ended(1, simulator.simulation.clock.now() + 60_000, false);
  expect(report().exchanges[0]).toMatchObject({ isOpenAtEnd: false, isSeen: false });
});
