/**
 * Makes `docs/screenshots/*.png`: every page of the dashboard, showing a small world with traffic.
 * Run it with `node --import tsx`; it needs Chromium.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { Simulator } from '#src/simulator.ts';
import { launchBrowser } from '../testkit/processes/browser.ts';
import { sendBy } from '../testkit/twin/twin.ts';

const folder = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));

const texts = [
  'Your code is 492 113',
  'Your table for two at 19:30 is confirmed',
  'The parcel is on its way',
  'See you at eight?',
  'Your appointment is tomorrow at 9:00',
  'Bitte bestätigen Sie Ihre Anmeldung',
];

/**
 * Makes a few minutes of traffic: sends, a burst that exceeds the limit, a client that retries too
 * early, faults and inbound replies. The numbers only make the pages look used.
 */
function populate(simulator: Simulator): void {
  for (let n = 0; n < 60; n++) {
    const to = n % 11 === 5 ? `+1202555016${n % 7}` : `+1202555${1200 + n * 37}`;
    const requestId = n % 4 === 0 ? { request_id: `order-${1000 + n}` } : {};
    sendBy(simulator, n % 3, { to, message: texts[n % texts.length], ...requestId });
    simulator.clock.advance('3s');
  }
  for (let n = 0; n < 118; n++) sendBy(simulator, 1, { from: '+12025550999' });
  for (const wait of ['3s', '7s', '1s']) {
    sendBy(simulator, 1, { from: '+12025550111', request_id: 'order-2002' });
    simulator.clock.advance(wait);
  }
  simulator.faults.add({
    match: { endpoint: 'send' },
    when: { nth: [3] },
    fault: { kind: 'lost_response' },
  });
  simulator.faults.add({ when: { probability: 0.1 }, fault: { kind: 'delay', ms: 250 } });
  sendBy(simulator, 0, { message: 'See you at eight?', request_id: 'order-2001' });
  const [account] = simulator.accounts.list();
  const inbound = { from: '+12025551274', to: '+12025550101' };
  for (const message of ['Yes, thank you!', 'Could we make it half past?']) {
    simulator.sims.receive(account?.account_id ?? '', { ...inbound, message });
    simulator.clock.advance('2s');
  }
  simulator.assumptions.patch({ heldStatus: 'scheduled' });
}

interface Shot {
  readonly name: string;
  /** The address of the page; by default its name. */
  readonly path?: string;
  /** What is done on the page before the screenshot. */
  readonly prepare?: (page: Page) => Promise<void>;
}

/** Follows a link to something with a timeline. */
async function open(link: Locator): Promise<void> {
  await link.click();
  await link.page().getByRole('list', { name: 'Timeline' }).waitFor();
}

const shots: readonly Shot[] = [
  { name: 'home' },
  { name: 'messages' },
  {
    name: 'message',
    path: 'messages',
    prepare: (page) => open(page.getByRole('table').getByRole('link').nth(9)),
  },
  {
    name: 'send',
    prepare: async (page) => {
      await page.getByRole('textbox', { name: 'request_id' }).fill('order-3001');
      await page.getByRole('button', { name: 'Send message' }).click();
      await page.getByRole('region', { name: 'Reply' }).waitFor();
    },
  },
  { name: 'received' },
  {
    name: 'limits',
    path: 'limits?endpoint=send',
    prepare: (page) => page.locator('.plot canvas').waitFor(),
  },
  { name: 'clock' },
  { name: 'time-machine', path: 'past/60' },
  { name: 'faults' },
  { name: 'accounts' },
  { name: 'worlds' },
  { name: 'requests' },
  {
    name: 'request',
    path: 'requests',
    prepare: (page) => open(page.getByRole('link', { name: /^Request / }).first()),
  },
  {
    name: 'referee',
    prepare: (page) => {
      const early = page.getByRole('region', { name: 'CLIENT-1', exact: true });
      return open(early.getByRole('link').last());
    },
  },
  { name: 'rules-and-assumptions', path: 'rules' },
];

interface Look {
  readonly scheme: 'light' | 'dark';
  /** The size of the window in pixels. */
  readonly width: number;
  readonly height: number;
  /** The end of the file's name. */
  readonly suffix: string;
}

const desktop: Look = { scheme: 'light', width: 1280, height: 820, suffix: '' };
const darkDesktop: Look = { ...desktop, scheme: 'dark', suffix: '-dark' };
const darkPhone: Look = { scheme: 'dark', width: 390, height: 780, suffix: '-dark-phone' };

async function shoot({ name, path = name, prepare }: Shot, look: Look): Promise<void> {
  const { scheme, width, height, suffix } = look;
  const page = await browser.newPage({ colorScheme: scheme, viewport: { width, height } });
  await page.goto(`${controlUrl}/#/${path}`);
  await page.getByText('live', { exact: true }).waitFor();
  await page.locator('.loading').first().waitFor({ state: 'hidden' });
  await prepare?.(page);
  await page.screenshot({ path: `${folder}${name}${suffix}.png` });
  await page.close();
}

const simulator = new Simulator({ clock: 'manual' });
populate(simulator);
simulator.worlds.create({ name: 'checkout' });
const { controlUrl } = await simulator.listen({ control: {} });
const browser = await launchBrowser();
mkdirSync(folder, { recursive: true });

const named = (names: readonly string[]) => shots.filter(({ name }) => names.includes(name));
for (const shot of shots) await shoot(shot, desktop);
for (const shot of named(['message', 'limits'])) await shoot(shot, darkDesktop);
for (const shot of named(['messages', 'message', 'faults'])) await shoot(shot, darkPhone);
await browser.close();
await simulator.close();
