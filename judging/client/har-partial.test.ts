/**
 * Random HAR files. Cut at either end and judged as partial, or without the bodies of some sends, a
 * file breaks no rule that the whole keeps.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '#verify/testkit/runs.ts';
import { exchangesOfHar } from '#verify/testkit/traffic-text.ts';
import { latestByIntent } from './intents-file.ts';
import { type JudgeOptions, judge } from './judge.ts';

const from = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const line = fc.record({
  gapMs: from(0, 1, 500, 2_000, 15_000, 40_000, 90_000_000),
  time: from(0, 0, 0, 1_000, 30_000),
  isGet: from(false, false, false, true),
  id: from('', 'a', 'a', 'b'),
  message: from('Hi', 'Hi', 'Ho'),
  key: from('one', 'one', 'two'),
  status: from(202, 202, 200, 429, 429, 503, 0, 400, 403, 401),
  messageId: from('m1', 'm2', undefined),
  wait: from(1, 30),
  state: from('queued', 'delivered'),
});
type Line = typeof line extends fc.Arbitrary<infer L> ? L : never;

function entryOf(one: Line, atMs: number) {
  const { isGet, id, message, key, status, messageId, wait, state, time } = one;
  const read = message === 'Hi' ? 'received' : 'm1';
  const body = { to: '1', from: '2', message, ...(id !== '' && { request_id: id }) };
  return {
    startedDateTime: new Date(atMs).toISOString(),
    time,
    request: {
      method: isGet ? 'GET' : 'POST',
      url: `https://sms.example/api/v1/sms/${isGet ? read : 'send'}/`,
      headers: [{ name: 'authorization', value: `Bearer ${key}` }],
      ...(!isGet && { postData: { text: JSON.stringify(body) } }),
    },
    response: {
      status,
      headers: status === 429 ? [{ name: 'retry-after', value: String(wait) }] : [],
      content: {
        text: status === 0 ? '' : JSON.stringify({ message_id: messageId, status: state }),
      },
    },
  };
}

async function brokenBy(entries: readonly object[], options: JudgeOptions) {
  const exchanges = await exchangesOfHar(JSON.stringify({ log: { entries } }));
  const { rules } = judge(exchanges, options);
  return rules.filter(({ findings }) => findings.length > 0).map(({ id }) => id);
}

const order = { intent: 'order', to: '1', from: '2', message: 'Hi' } as const;
const bothIds = latestByIntent([
  { ...order, request_id: 'a' },
  { ...order, request_id: 'b', reported: 'accepted' },
]);

const numRuns = runs(20);

test.each([
  ['without an intents file', undefined],
  ['with two ids of one intent', bothIds],
])(
  'a HAR file %s that is cut at either end breaks no rule that the whole keeps',
  async (_, reports) => {
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), async (lines) => {
        let atMs = Date.parse('2026-01-01T00:00:00Z');
        const entries = lines.map((one) => {
          atMs += one.gapMs;
          return entryOf(one, atMs);
        });
        const whole = await brokenBy(entries, { reports });
        const cut = { reports, isPartial: true, isCutAtStart: true };
        for (let start = 0; start <= entries.length; start++) {
          for (let end = start; end <= entries.length; end++) {
            const broken = await brokenBy(entries.slice(start, end), cut);
            expect(broken.filter((id) => !whole.includes(id))).toEqual([]);
          }
        }
      }),
      { numRuns },
    );
  },
);

test.each([
  ['without an intents file', undefined],
  ['with two ids of one intent', bothIds],
])('a HAR file %s that lacks bodies breaks no rule that the whole keeps', async (_, reports) => {
  const lines = fc.array(fc.tuple(line, from(true, false, false)), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(lines, async (all) => {
      let atMs = Date.parse('2026-01-01T00:00:00Z');
      const entries = all.map(([one], at) => {
        atMs += one.gapMs;
        return entryOf({ ...one, messageId: `m${at}` }, atMs);
      });
      const whole = await brokenBy(entries, { reports });
      const lacking = entries.map((entry, at) => (all[at]?.[1] ? withoutBody(entry) : entry));
      const broken = await brokenBy(lacking, { reports });
      expect(broken.filter((id) => !whole.includes(id))).toEqual([]);
    }),
    { numRuns },
  );
});

function withoutBody(entry: ReturnType<typeof entryOf>): object {
  const { postData: _, ...request } = entry.request;
  return { ...entry, request: { ...request, bodySize: 90 } };
}
