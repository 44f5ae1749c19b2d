/**
 * Launches the browser for tests of pages. Without a browser those tests are skipped with a
 * message; in CI a missing browser is a failure.
 */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const places = [
  // The headless build of Chromium renders the same pages for half the work.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = process.env['CHROMIUM'] ?? places.find((place) => existsSync(place));
const mayBeMissing = executablePath === undefined && process.env['CI'] === undefined;

/**
 * The reason why browser tests are skipped, for test names; empty if there is a browser, and in CI.
 */
export const withoutBrowser = mayBeMissing ? ` (no Chromium at ${places.join(', ')})` : '';

const browserArguments = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function launchBrowser(): Promise<Browser> {
  if (executablePath === undefined) throw new Error(`no Chromium at ${places.join(', ')}`);
  return chromium.launch({ executablePath, args: browserArguments });
}
