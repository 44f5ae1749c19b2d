/**
 * For tests of the dashboard in Chromium: `pageTest` runs a test with a simulator of its own. All
 * tests of a file share one browser and one page.
 */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SettingsInput, Simulator } from '#src/simulator.ts';
import { launchBrowser, withoutBrowser } from '../testkit/processes/browser.ts';
import { sendBy } from '../testkit/twin/twin.ts';

export interface PageOptions {
  readonly settings?: SettingsInput;
  readonly token?: string;
  readonly transport?: 'hyperexpress' | 'node';
  readonly dark?: boolean;
  readonly width?: number;
  /** Errors that the page may write to the console; any other error fails the test. */
  readonly mayLog?: RegExp;
  readonly before?: (simulator: Simulator) => void;
}

export interface Opened {
  readonly simulator: Simulator;
  readonly page: Page;
  readonly controlUrl: string;
  /** Sends from the first SIM of an account, with its first key. */
  readonly send: (body?: Readonly<Record<string, unknown>>, account?: number) => string;
}

let browser: Browser | undefined;
/**
 * Shared, because a new page costs half a second of CPU. Tests do not see each other's stored data:
 * each simulator has its own port, and so the page another origin.
 */
let sharedPage: Page | undefined;

async function preparedPage({ dark = false, width = 1280 }: PageOptions): Promise<Page> {
  if (sharedPage === undefined || sharedPage.isClosed()) {
    // Only an explicit context lets a test open further tabs.
    const context = await (browser as Browser).newContext();
    sharedPage = await context.newPage();
    // A page is slow while other tests keep the cores busy.
    sharedPage.setDefaultTimeout(60_000);
  }
  await sharedPage.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
  await sharedPage.setViewportSize({ width, height: 800 });
  return sharedPage;
}

/** Resets the page after a test. */
async function resetPage(page: Page): Promise<void> {
  page.removeAllListeners();
  if (page.isClosed()) return;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.context().clearPermissions();
  await page.goto('about:blank');
}

/** Must be called once in each file of page tests. */
export function withBrowser(): void {
  beforeAll(async () => {
    if (withoutBrowser === '') browser = await launchBrowser();
  });
  afterAll(() => browser?.close());
}

/** A test of the page; skipped if this machine has no browser. */
export function pageTest(
  name: string,
  options: PageOptions,
  run: (opened: Opened) => Promise<void>,
): void {
  test.skipIf(withoutBrowser !== '')(
    `${name}${withoutBrowser}`,
    async () => {
      const simulator = new Simulator({ clock: 'manual', ...options.settings });
      options.before?.(simulator);
      const { token, transport = 'hyperexpress' } = options;
      const { controlUrl } = await simulator.listen({ control: { token }, transport });
      const page = await preparedPage(options);
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(error.message));
      page.on('console', (line) => {
        if (line.type() === 'error' && options.mayLog?.test(line.text()) !== true)
          errors.push(line.text());
      });
      try {
        await run({
          simulator,
          page,
          controlUrl: controlUrl ?? '',
          send: (body, account = 0) => sendBy(simulator, account, body ?? {}).body,
        });
        // The console also reports files that the content policy blocked.
        expect(errors).toEqual([]);
        const shown = page.isClosed() ? '' : await page.innerText('body');
        expect(shown).not.toContain('[object ');
      } finally {
        await resetPage(page);
        await simulator.close();
      }
    },
    120_000,
  );
}

/** Resolves when the element is visible. */
export function seen(locator: Locator): Promise<void> {
  return locator.first().waitFor();
}

/** Resolves when the element is no longer visible. */
export function gone(locator: Locator): Promise<void> {
  return locator.first().waitFor({ state: 'hidden' });
}
