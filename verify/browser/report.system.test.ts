/**
 * The HTML report in a real browser: its content, the keyboard, and accessibility in light and dark
 * mode.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allFlags, hostile, run } from '../harness/fake-servers.ts';
import { launchBrowser, withoutBrowser } from '../testkit/processes/browser.ts';

withReport(() => {
  test('a rule is read with its sentence, its exchanges and a curl for each', async () => {
    const { page, unwanted } = await opened('light');
    await page.getByRole('heading', { level: 1, name: 'Conformance' }).waitFor();
    await page.getByRole('heading', { level: 2, name: 'Rules' }).waitFor();
    await page.getByRole('heading', { level: 2, name: 'Assumptions' }).waitFor();
    const { section, article } = await openCase(page);
    await section.getByText('A new message: 202 with the Message body').waitFor();
    await article.getByText('Expected', { exact: true }).waitFor();
    await article.getByText('HTTP 418').first().waitFor();
    await article.getByText('<script>alert(1)</script>').first().waitFor();
    const curl = article.getByRole('group', { name: 'curl' }).first();
    expect(await curl.innerText()).toMatch(/^curl -i[\s\S]*\/api\/v1\//);
    expect(await page.getByText(allFlags[1] ?? '').count()).toBe(0);
    expect(unwanted).toEqual([]);
    await page.close();
  });

  test('a section is opened by the keyboard alone', async () => {
    const { page } = await opened('light');
    const closed = page.locator('details.subject:not([open]) > summary').first();
    const section = closed.locator('..');
    const id = await section.getAttribute('id');
    await closed.focus();
    await page.keyboard.press('Enter');
    await page.locator(`details.subject[open][id="${id}"]`).getByRole('article').first().waitFor();
    await page.close();
  });

  // Dark differs from light by colours alone, so only those are looked at again.
  test.each([
    ['light', 1280, "{ resultTypes: ['violations'] }"],
    ['dark', 360, "{ runOnly: ['color-contrast'] }"],
  ] as const)(
    "in %s at %d px the colours are the scheme's, and axe finds nothing to object to, looking at %s",
    async (scheme, width, options) => {
      const { page } = await opened(scheme, width);
      const [ink, paper] = await page.evaluate<string[]>(
        '[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]',
      );
      const lightness = (color = '') => Number(/\d+/.exec(color)?.[0]);
      expect(lightness(ink) > lightness(paper)).toBe(scheme === 'dark');
      await openCase(page);
      const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
      await page.evaluate(readFileSync(axe, 'utf8'));
      const { violations } = await page.evaluate<{
        violations: { id: string; impact: string; nodes: { html: string }[] }[];
      }>(`axe.run(${options})`);
      expect(violations.map(({ id, impact, nodes }) => [id, impact, nodes[0]?.html])).toEqual([]);
      const wide = await page.evaluate<boolean>(
        'document.documentElement.scrollWidth > document.documentElement.clientWidth',
      );
      expect(wide).toBe(false);
      await page.close();
    },
  );
});

/**
 * For tests of the HTML report: opens one report in a browser. The report is about a server that
 * breaks rules.
 */
let folder = '';
let file = '';
const caseId = 'SEND-3/new-message-is-202';
let browser: Browser | undefined;

/** Declares `tests` with a shared report and browser. */
function withReport(tests: () => void): void {
  describe.skipIf(withoutBrowser !== '')(`HTML report in a browser${withoutBrowser}`, () => {
    beforeAll(prepare);
    afterAll(async () => {
      await browser?.close();
      rmSync(folder, { recursive: true });
    });
    tests();
  });
}

async function prepare(): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'conformance-html-'));
  file = join(folder, 'report.html');
  const server = await hostile();
  await run(server.baseUrl, ...allFlags, '--timeout', '20s', '--report', `html=${file}`);
  await server.close();
  browser = await launchBrowser();
}

interface Opened {
  readonly page: Page;
  /** Requests of the page beyond itself, and its errors. */
  readonly unwanted: readonly string[];
}

async function opened(colorScheme: 'light' | 'dark', width = 1280): Promise<Opened> {
  if (browser === undefined) throw new Error('there is no browser');
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } });
  page.setDefaultTimeout(60_000);
  const unwanted: string[] = [];
  const self = pathToFileURL(file).href;
  page.on('request', (request) => {
    if (request.url() !== self) unwanted.push(request.url());
  });
  page.on('dialog', (dialog) => {
    unwanted.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => unwanted.push(error.message));
  await page.goto(self);
  return { page, unwanted };
}

/** Opens a rule's section and the exchanges of its first case, as a reader would. */
async function openCase(page: Page) {
  const section = page.locator('details.subject').filter({ hasText: caseId }).first();
  const article = section.getByRole('article').filter({ hasText: caseId });
  if (!(await article.isVisible())) await section.getByText('SEND-3', { exact: true }).click();
  await article.getByText(/^\d+ exchanges$/).click();
  return { section, article };
}
