import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '#contract/time.ts';
import { recipient, Twin } from '#verify/testkit/twin/twin.ts';
import type { Account, Message } from '../accounts/account.ts';
import type { Assumptions } from '../assumptions.ts';
import { mostQuotaRows, QuotaLog, unitsOf } from './quota.ts';
import { segmentText } from './segments.ts';

type QuotaAnswers = Pick<Assumptions, 'quotaUnit' | 'quotaMonth' | 'quotaRefund'>;

const defaults: QuotaAnswers = {
  quotaUnit: 'messages',
  quotaMonth: 'calendar_utc',
  quotaRefund: 'no',
};

function at(startTime: string): {
  twin: Twin;
  account: Account;
  used: (answers?: Partial<QuotaAnswers>) => number;
} {
  const twin = new Twin({ startTime });
  const account = twin.account();
  return {
    twin,
    account,
    used: (answers = {}) => account.quota.used(twin.now(), { ...defaults, ...answers }),
  };
}

test.each([
  ['2026-01-31T23:59:59.998Z', 1, 1],
  ['2026-01-31T23:59:59.999Z', 1, 0],
  ['2026-02-28T23:59:59.999Z', 1, 0],
  ['2028-02-28T23:59:59.999Z', 1, 1],
  ['2028-02-29T23:59:59.999Z', 1, 0],
  ['2026-12-31T23:59:59.999Z', 1, 0],
  ['2026-04-01T00:00:00.000Z', 30 * dayMs - 1, 1],
  ['2026-04-01T00:00:00.000Z', 30 * dayMs, 0],
])('ERR-1 calendar_utc: a message of %s counts %i ms later as %i', (startTime, laterMs, count) => {
  const { twin, used } = at(startTime);
  twin.accepted();
  expect(used()).toBe(1);
  twin.advance(laterMs);
  expect(used()).toBe(count);
});

test.each([
  [30 * dayMs - 1, 1],
  [30 * dayMs, 0],
])(
  'ERR-1 rolling_30_days: a message counts %i ms later as %i, whatever the month',
  (laterMs, count) => {
    const { twin, used } = at('2026-01-31T23:59:59.999Z');
    twin.accepted();
    twin.advance(laterMs);
    expect(used({ quotaMonth: 'rolling_30_days' })).toBe(count);
  },
);

test('ERR-1 quotaUnit: messages counts one each, segments what each takes', () => {
  const { twin, used } = at('2026-01-01T00:00:00.000Z');
  twin.accepted({ message: 'a'.repeat(161) });
  twin.accepted({ message: 'ü€'.repeat(200) });
  twin.accepted({ message: '☎' });
  expect(used()).toBe(3);
  expect(used({ quotaUnit: 'segments' })).toBe(2 + 4 + 1);
  expect(used()).toBe(3);
});

test.each([
  ['no', 2],
  ['yes', 1],
] as const)(
  'ERR-1 quotaRefund %s: of two messages, one of them failed, %i count',
  (quotaRefund, count) => {
    const { twin, used } = at('2026-01-01T00:00:00.000Z');
    const failing = twin.accepted({ to: '+12025550160' });
    twin.accepted();
    used({ quotaRefund });
    twin.advance(hourMs);
    expect(failing.status).toBe('failed');
    expect(used({ quotaRefund })).toBe(count);
  },
);

/** What counts, looked up among all messages anew. */
function recount(
  account: Account,
  nowMs: number,
  { quotaUnit, quotaMonth, quotaRefund }: QuotaAnswers,
): number {
  const month = new Date(nowMs).toISOString().slice(0, 7);
  const counts = (message: Message) =>
    (quotaMonth === 'rolling_30_days'
      ? nowMs - message.createdAtMs < 30 * dayMs
      : new Date(message.createdAtMs).toISOString().startsWith(month)) &&
    (quotaRefund === 'no' || message.status !== 'failed');
  return [...account.messages]
    .filter(counts)
    .reduce(
      (sum, { text }) => sum + (quotaUnit === 'messages' ? 1 : segmentText(text).segments),
      0,
    );
}

const answers: fc.Arbitrary<QuotaAnswers> = fc.record({
  quotaUnit: fc.constantFrom('messages', 'segments'),
  quotaMonth: fc.constantFrom('calendar_utc', 'rolling_30_days'),
  quotaRefund: fc.constantFrom('no', 'yes'),
});
const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('send' as const),
      length: fc.integer({ min: 1, max: 500 }),
      fails: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('fail' as const), at: fc.nat(20) }),
    fc.record({ kind: fc.constant('ask' as const), answers }),
    fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.oneof(
        fc.nat(hourMs),
        fc.nat(10 * dayMs),
        fc.constantFrom(30 * dayMs - 1, 30 * dayMs, 40 * dayMs),
      ),
    }),
  ),
  { maxLength: 40 },
);

test('ERR-1 the count is that of a recount, through months, failures and switches', () => {
  fc.assert(
    fc.property(steps, answers, (list, lastAnswers) => {
      const twin = new Twin({ startTime: '2026-01-31T23:00:00.000Z', noLimits: true });
      const account = twin.account();
      const ask = (given: QuotaAnswers) =>
        expect(account.quota.used(twin.now(), given)).toBe(recount(account, twin.now(), given));
      for (const step of list) {
        if (step.kind === 'send') {
          twin.accepted({
            message: 'a'.repeat(step.length),
            to: step.fails ? '+12025550162' : recipient,
          });
        } else if (step.kind === 'fail') {
          const message = account.messages.at(step.at % Math.max(1, account.messages.length));
          if (message !== undefined) twin.simulation.deviceActors.fail(message, 'test');
        } else if (step.kind === 'ask') ask(step.answers);
        else twin.advance(step.ms);
      }
      ask(lastAnswers);
    }),
    { numRuns: 120 },
  );
});

test('ERR-1 a message takes one unit, or as many as it has segments', () => {
  expect(unitsOf('a'.repeat(307), 'messages')).toBe(1);
  expect(unitsOf('a'.repeat(307), 'segments')).toBe(3);
});

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
