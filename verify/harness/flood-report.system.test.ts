/**
 * A failed flood can be filed as it is reported: when, how many of which status, two exchanges, and
 * how long it took.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { refillOf } from '#conformance/floods/after-flood.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { runConformWithReport, startOwnSimulator } from '../testkit/conform-run.ts';

test('LIMIT-4 a failed flood is reported with times, counts and two exchanges', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'flood-report-'));
  const file = join(folder, 'junit.xml');
  try {
    const startOwn = () => startOwnSimulator({ clock: 'manual', limits: { received: 100 } });
    const argv = ['LIMIT-4/120-pass', '--report', `junit=${file}`];
    const { results } = await runConformWithReport(argv, { startOwn });
    expect(results).toMatchObject([
      {
        verdict: 'failed',
        broken: { status: 429 },
        before: { status: 200 },
        timeline: [
          expect.stringMatching(/the first of \d+ requests; \d+ answered 200, \d+ answered 429$/),
          expect.stringMatching(/^\+0\.000 s to \+\S+ s: 100 answered 200$/),
          expect.stringMatching(/answered 429, the first with Retry-After: \d+$/),
          expect.stringMatching(/^\+\d+\.600 s to \S+ s: 2 answered 200$/),
        ],
      },
    ]);
    const junit = readFileSync(file, 'utf8');
    expect(junit.match(/^Again: curl -i /gm)).toHaveLength(2);
    expect(junit).not.toMatch(/<testcase [^>]*time="0\.000"/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

async function observedRefill(limit: number, assumptions = {}) {
  const settings = { clock: 'manual', limits: { send: limit }, assumptions } as const;
  const startOwn = () => startOwnSimulator(settings);
  return (await runConformWithReport(['limiterRefill'], { startOwn })).results;
}

test.each(['sliding', 'continuous', 'interval', 'interval_aligned', 'sliding_counter'])(
  'a limiter that refills by %s is called so',
  async (limiterRefill) => {
    const results = await observedRefill(120, { limiterRefill });
    expect(results).toMatchObject([{ verdict: 'observed', seen: limiterRefill }]);
  },
);

test('a limiter that is none of the known ones is not called by the nearest name', async () => {
  expect(await observedRefill(100)).toMatchObject([
    { verdict: 'not_exercised', reason: expect.stringMatching(/^none of these: .*120 requests/) },
  ]);
});

const firstAt = 100_000;
const first = { sentAt: firstAt } as unknown as Reply;
/** A wait of a sliding window: asked 2 s after the first request of the flood. */
const wait = { seconds: 58, askedAt: firstAt + 2_000 };

test.each([
  ['the whole bucket returns', [], true, 'interval'],
  ['the first token returns', [], false, 'sliding'],
  ['two early tokens return', [firstAt - 20], false, 'sliding'],
  ['the whole bucket returns, and one was spent early', [firstAt - 20], true, 'interval'],
  ['early tokens may be all that returns', Array<number>(5).fill(firstAt - 20), true, undefined],
  ['a token was spent long before', [firstAt - 30_000], false, undefined],
  ['a reply is missing', [], undefined, undefined],
] as const)('if %s, no wrong limiter is named', (_, earlierAt, isWhole, expected) => {
  expect(refillOf(first, earlierAt, { ...wait, isWhole })).toBe(expected);
});
