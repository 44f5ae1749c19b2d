/**
 * For tests of the HTML report: opens one report in a browser. The report is about a server that
 * breaks rules.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { allFlags, hostile, run } from '../harness/fake-servers.ts';
import { launchBrowser, withoutBrowser } from '../testkit/browser.ts';

let folder = '';
let file = '';
const caseId = 'SEND-3/new-message-is-202';
let browser: Browser | undefined;

/** Declares `tests` with a shared report and browser. */
export function withReport(tests: () => void): void {
  describe.skipIf(withoutBrowser !== '')(`HTML report in a browser${withoutBrowser}`, () => {
    beforeAll(prepare, 60_000);
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
  await run(server.url, ...allFlags, '--timeout', '20s', '--report', `html=${file}`);
  await server.close();
  browser = await launchBrowser();
}

interface Opened {
  readonly page: Page;
  /** Requests of the page beyond itself, and its errors. */
  readonly unwanted: readonly string[];
}

export async function opened(colorScheme: 'light' | 'dark', width = 1280): Promise<Opened> {
  if (browser === undefined) throw new Error('there is no browser');
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } });
  page.setDefaultTimeout(6_000);
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
export async function openCase(page: Page) {
  const section = page.getByRole('group').filter({ hasText: caseId }).first();
  const article = section.getByRole('article').filter({ hasText: caseId });
  if (!(await article.isVisible())) await section.getByText('SEND-3', { exact: true }).click();
  await article.getByText(/^\d+ exchanges$/).click();
  return { section, article };
}
