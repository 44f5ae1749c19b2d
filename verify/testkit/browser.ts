/**
 * Launches the browser for tests of pages. Where there is none, those tests are skipped and say
 * so; in CI that is a failure.
 */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const places = [
  // Chromium without windows: the same pages for half the work.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = process.env['CHROMIUM'] ?? places.find((place) => existsSync(place));
const mayBeMissing = executablePath === undefined && process.env['CI'] === undefined;

/**
 * Why a test that needs a browser is skipped, for its name; empty where there is one, and in CI.
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
