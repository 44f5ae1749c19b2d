/**
 * A failed flood can be filed as it is reported: when, how many of which status, two exchanges, and
 * how long it took.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
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

test('a limiter that is none of the known ones is not called by the nearest name', async () => {
  const refillOf = async (limit: number) => {
    const startOwn = () => startOwnSimulator({ clock: 'manual', limits: { send: limit } });
    return (await runConformWithReport(['limiterRefill'], { startOwn })).results;
  };
  expect(await refillOf(120)).toMatchObject([{ verdict: 'observed', seen: 'sliding' }]);
  expect(await refillOf(100)).toMatchObject([
    { verdict: 'not_exercised', reason: expect.stringMatching(/^none of these: .*120 requests/) },
  ]);
});
