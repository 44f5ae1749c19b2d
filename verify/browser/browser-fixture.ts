/**
 * For tests of the dashboard: one browser for all tests; a simulator and a page for each test.
 */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSimulator, type SettingsInput, type Simulator } from '../../src/simulator.ts';
import { launchBrowser, withoutBrowser } from '../testkit/browser.ts';
import { sendBy } from '../testkit/control-fixture.ts';

export interface PageOptions {
  readonly settings?: SettingsInput;
  readonly token?: string;
  readonly transport?: 'hyperexpress' | 'node';
  readonly dark?: boolean;
  readonly width?: number;
  /** Errors that the page may write to the console. */
  readonly mayLog?: RegExp;
  /** Prepares the simulator before the page is opened. */
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
 * One page for all tests, because Chromium spends half a second of CPU on each new one. Each
 * simulator has its own port, so the next test does not see data that a page stored for its origin.
 */
let onlyPage: Page | undefined;

async function blankPage({ dark = false, width = 1280 }: PageOptions): Promise<Page> {
  if (onlyPage === undefined || onlyPage.isClosed()) {
    // A context of its own, so that a test can open more tabs in it.
    onlyPage = await (await (browser as Browser).newContext()).newPage();
    // A page is slow while other tests keep both cores busy.
    onlyPage.setDefaultTimeout(15_000);
  }
  await onlyPage.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
  await onlyPage.setViewportSize({ width, height: 800 });
  return onlyPage;
}

/** Resets the page after a test. */
async function leave(page: Page): Promise<void> {
  page.removeAllListeners();
  if (page.isClosed()) return;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.context().clearPermissions();
  await page.goto('about:blank');
}

export function withBrowser(): void {
  beforeAll(async () => {
    if (withoutBrowser === '') browser = await launchBrowser();
  });
  afterAll(() => browser?.close());
}

export function pageTest(
  name: string,
  options: PageOptions,
  run: (opened: Opened) => Promise<void>,
): void {
  test.skipIf(withoutBrowser !== '')(
    `${name}${withoutBrowser}`,
    async () => {
      const simulator = await createSimulator({ clock: 'manual', ...options.settings });
      options.before?.(simulator);
      const { token, transport = 'hyperexpress' } = options;
      const { controlUrl } = await simulator.listen({ control: { token }, transport });
      const page = await blankPage(options);
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(error.message));
      page.on('console', (line) => {
        if (line.type() === 'error' && options.mayLog?.test(line.text()) !== true) {
          errors.push(line.text());
        }
      });
      try {
        await run({
          simulator,
          page,
          controlUrl: controlUrl ?? '',
          send: (body, account = 0) => sendBy(simulator, account, body ?? {}).body,
        });
        // A file that the content policy blocked would show here.
        expect(errors).toEqual([]);
      } finally {
        await leave(page);
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
