/** The HTML report in a real browser: it shows the figures, draws the plots and fetches nothing. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { ownReport } from '#io/flag-values.ts';
import { obstacleTo } from '#io/own-file.ts';
import { launchBrowser, withoutBrowser } from '#verify/testkit/processes/browser.ts';
import { auditRun } from '../recount.ts';
import { htmlReport } from './html.ts';
import type { BenchResult, CaseResult, ServerFigures } from './result.ts';

function figures(cpu: number): ServerFigures {
  return {
    cpu_us_per_request: cpu,
    requests_per_second: cpu * 1_000,
    latency_ms: { p50: 1, p90: 2, p99: 3, p99_9: 4, max: 5 },
    rss_bytes: 1e8,
    statuses: { 202: 1_000 },
    rounds: [cpu],
  };
}

const valid: CaseResult = {
  case: 'send',
  scenario: 'send',
  what: 'a send </script><script>document.title = "broken"</script>',
  invalid: [],
  cpu_ratio: 1.25,
  without_floors: null,
  bar: 1.3,
  servers: { service: figures(12.5), hyperexpress: figures(10) },
  start_ms: 600,
  idle_rss_bytes: 9e7,
  slos: [{ slo: 'p99<50ms', met: true }],
  generator_cores: 0.5,
  seconds: [
    { accepted: 900, refused: 100, failed: 0 },
    { accepted: 800, refused: 200, failed: 0 },
  ],
  distribution: [
    [0, 0.5],
    [50, 1],
    [100, 5],
  ],
};

/** One user sends at twice the limit of 2 for three minutes. */
const entries = Array.from({ length: 12 }, (_, n) => {
  const entry = { endpoint: 'send' as const, user: 'acme', passed: n % 4 < 2 };
  return { ...entry, atMs: n * 15_000 };
});

const result: BenchResult = {
  node: 'v20',
  started_at: '2026-01-01T00:00:00.000Z',
  open_loop_rate: null,
  connections: 64,
  duration_ms: 10_000,
  held: 1_000_000,
  cases: [valid, { ...valid, case: 'read', invalid: ['the generator was late'], cpu_ratio: null }],
  audit: auditRun(entries, { send: 2 }),
};

test.each([
  ['html', await htmlReport(result)],
  ['json', `${JSON.stringify(result, null, 2)}\n`],
])('a later run replaces the %s report', (kind, text) => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-bench-'));
  const file = join(folder, kind);
  writeFileSync(file, text);
  expect(obstacleTo(file, ownReport)).toBeUndefined();
  rmSync(folder, { recursive: true });
});

test.skipIf(withoutBrowser !== '')(
  `the report shows its figures, links its troubles, draws each plot and fetches nothing${withoutBrowser}`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-html-'));
    const file = join(folder, 'report.html');
    writeFileSync(file, await htmlReport(result));
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      const unwanted: string[] = [];
      page.on('pageerror', (error) => unwanted.push(error.message));
      page.on('request', (request) => {
        if (!request.url().startsWith('file:')) unwanted.push(request.url());
      });
      await page.goto(pathToFileURL(file).href);
      const text = await page.locator('body').innerText();
      expect(text).toContain('1.25x the bare HyperExpress handler, the bar is 1.3x');
      expect(text).toMatch(/service\s+12\.5\s+12500\s+1\.00\s+3\.00\s+5\.00/);
      expect(text).toMatch(/p99<50ms\s+met/);
      const verdicts = page.getByRole('group', { name: 'verdicts by endpoint' });
      expect(await verdicts.getByRole('row', { name: /^send passed 2 / }).count()).toBe(1);
      expect(text).toContain(valid.what);
      // An invalid run has no headline and no CPU figure.
      expect(text).toContain('INVALID: the generator was late');
      expect(text.match(/x the bare HyperExpress handler/g)).toHaveLength(1);
      expect(text).toMatch(/service\s+-\s+12500/);
      await page.getByRole('link', { name: 'invalid read: the generator was late' }).click();
      expect(page.url()).toMatch(/#read$/);
      const plots = page.getByRole('slider');
      expect(await plots.evaluateAll((all) => all.map((one) => one.ariaLabel))).toEqual([
        'Latency by percentile of send',
        'Answered per second of send',
        'Latency by percentile of read',
        'Answered per second of read',
        'Accepted and refused per simulated second, and the limit',
      ]);
      expect(await plots.locator('canvas').count()).toBe(5);
      await plots.nth(1).press('End');
      const values = await plots.nth(1).getAttribute('aria-valuetext');
      expect(values).toBe('1, accepted 800, refused 200, failed 0');
      expect(await page.title()).toBe('Bench of Node v20');
      expect(unwanted).toEqual([]);
    } finally {
      await browser.close();
      rmSync(folder, { recursive: true });
    }
  },
);
