/**
 * Longer tests of the page: much data, small screens and screen readers, eight tabs, no connection,
 * no token, no mouse.
 */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { routeOf } from '#src/operations/table.ts';
import { Simulator } from '#src/simulator.ts';
import { sendBy } from '../testkit/twin/twin.ts';
import { gone, pageTest, seen, withBrowser } from './browser-fixture.ts';

withBrowser();

const pages = [
  'Home',
  'Messages',
  'Requests',
  'Referee',
  'Send',
  'Received',
  'Clock',
  'Time machine',
  'Faults',
  'Limits',
  'Accounts',
  'Worlds',
  'Rules and assumptions',
];

/** Goes to a page by its link and waits for its content. */
async function visit(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).first().click();
  await seen(page.getByRole('heading', { name, level: 1 }));
  await gone(page.locator('.loading'));
}

const manyAccounts = 300;

pageTest(
  'with 300 accounts a page reads what it shows in a few requests: a hundred rows and a search',
  {
    before: ({ accounts, sims }) => {
      for (let n = 0; n < manyAccounts; n++) {
        const { account_id: id } = accounts.create({ name: `account ${n}` });
        accounts.createKey(id, { name: `key ${n}` });
        sims.create(id, { number: `+1202555${2_000 + n}` });
      }
    },
  },
  async ({ page, controlUrl }) => {
    let asked: string[] = [];
    let lastAskedMs = 0;
    page.on('request', (request) => {
      asked.push(new URL(request.url()).pathname);
      lastAskedMs = performance.now();
    });
    await page.goto(`${controlUrl}/#/clock`);
    await seen(page.getByRole('button', { name: 'Set mode' }));
    await seen(page.getByText('live', { exact: true }));
    expect(asked).toContain(routeOf('simulator.state').path);
    expect(asked).not.toContain(routeOf('accounts.list').path);
    const lists = { accounts: 'account 299', received: '', limits: '' };
    for (const [name, last] of Object.entries(lists)) {
      await page.goto('about:blank');
      asked = [];
      await page.goto(`${controlUrl}/#/${name}`);
      await seen(page.getByRole('heading', { level: 1 }));
      await gone(page.locator('.loading'));
      expect(asked.length, asked.join()).toBeLessThanOrEqual(14);
      if (last === '') continue;
      const rows = page.getByRole('region', { name: 'Accounts', exact: true }).getByRole('row');
      expect(await rows.count()).toBe(101);
      await page.getByRole('searchbox').fill(last);
      await seen(rows.filter({ hasText: last }));
      await expect.poll(() => rows.count()).toBe(2);
    }
    // An idle page reads nothing but the stream.
    await seen(page.getByText('live', { exact: true }));
    await expect.poll(() => performance.now() - lastAskedMs).toBeGreaterThan(3_000);
  },
);

const manyMessages = 1_000;

pageTest(
  'many messages are shown page by page, and the oldest is reached',
  {
    settings: { noLimits: true },
    before: (simulator) => {
      for (let n = 1; n <= manyMessages; n++) sendBy(simulator, 0, { message: `number ${n}.` });
    },
  },
  async ({ page, controlUrl, send, simulator }) => {
    await page.goto(`${controlUrl}/#/messages`);
    const table = page.getByRole('region', { name: 'Messages' });
    await seen(table.getByText(`number ${manyMessages}.`));
    const rows = table.getByRole('row');
    const older = page.getByRole('button', { name: 'Older' });
    for (let first = manyMessages - 100; first > 0; first -= 100) {
      await older.click();
      await seen(table.getByText(`number ${first}.`, { exact: true }));
      // Drawing a row takes long, so those that are not near are left out.
      expect(await rows.count()).toBeLessThan(60);
      const atTheEnd = async () => [await table.press('End'), await rows.count()];
      await expect.poll(atTheEnd).toEqual([undefined, 101]);
    }
    await gone(older);
    // What comes in above does not move what is read; all of it changes its status and the page
    // follows.
    const oldest = table.getByRole('row').filter({ hasText: 'number 1.' });
    send({ message: 'one more' });
    simulator.clock.advance('5m');
    await seen(oldest.getByText('delivered'));
    expect(await rows.count()).toBe(101);
    await page.getByRole('button', { name: 'Newest' }).click();
    await seen(table.getByText('one more'));
  },
);

pageTest("every page fits a phone's width", { width: 360 }, async ({ page, controlUrl, send }) => {
  send({ message: 'a'.repeat(400) });
  await page.goto(`${controlUrl}/#/messages`);
  for (const name of pages) {
    await visit(page, name);
    const widths = '[document.documentElement, document.querySelector("main")]';
    const overflow = `${widths}.map((one) => one.scrollWidth - one.clientWidth)`;
    expect(await page.evaluate<number[]>(overflow), name).toEqual([0, 0]);
  }
  await visit(page, 'Messages');
  await page.getByRole('table').getByRole('link').first().click();
  await seen(page.getByRole('complementary').getByText('a'.repeat(400)).first());
});

pageTest(
  'an accessibility checker finds nothing on any page, in light and in dark',
  { mayLog: /status of 404/, settings: { limits: { send: 10 } } },
  async ({ page, controlUrl, send, simulator }) => {
    const to = ['+12025550123', '+12025550160', '+12025550163', '+12025550164', '+12025550165'];
    for (const number of to) send({ to: number });
    simulator.clock.advance('90s');
    for (let n = 0; n < 12; n++) send({ from: '+12025550999' });
    const refused = simulator.requests.list({ limit: 1 })[0]?.number;
    const { message_id: id } = JSON.parse(send({}, 1));
    simulator.faults.add({ when: { every: 2 }, fault: { kind: 'refuse' } });
    const [account] = simulator.accounts.list();
    const inbound = { from: 'Bank', to: '+12025550101', message: 'hello' };
    simulator.sims.receive(account?.account_id ?? '', inbound);
    simulator.assumptions.patch({ pollIntervalSeconds: 5 });
    await page.goto(`${controlUrl}/#/messages`);
    await page.evaluate(axe.source);
    for (const name of pages) {
      await visit(page, name);
      await expectNothing(page, name);
    }
    await page.goto(`${controlUrl}/#/messages/${id}`);
    await seen(page.getByRole('list', { name: 'Timeline' }));
    await expectNothing(page, 'a message');
    await page.goto(`${controlUrl}/#/requests/${refused}`);
    await seen(page.getByRole('list', { name: 'Timeline' }));
    await expectNothing(page, 'a request');
    await page.goto(`${controlUrl}/#/referee/${refused}`);
    await seen(page.getByRole('list', { name: 'Timeline' }));
    await expectNothing(page, 'an intent');
    await page.goto(`${controlUrl}/#/past/2?message_id=${id}`);
    await seen(page.getByText('It was not there yet.'));
    await expectNothing(page, 'an earlier instant');
    await page.getByRole('button', { name: 'Keys: ?' }).click();
    await seen(page.getByRole('dialog'));
    await expectNothing(page, 'the keys');
  },
);

/**
 * Dark differs from light by colours alone, and smaller screens from a desk by sizes and by what
 * scrolls. Forced colours are left out: there, the checker reads colours that are not shown.
 */
async function expectNothing(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await problems(page, "{ resultTypes: ['violations'] }"), name).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await problems(page, "{ runOnly: ['color-contrast'] }"), name).toEqual([]);
  const sizes = "{ runOnly: ['target-size', 'scrollable-region-focusable', 'landmark-unique'] }";
  for (const width of [768, 390]) {
    await page.setViewportSize({ width, height: 800 });
    // A table is made reachable once it is measured.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
    expect(await problems(page, sizes), `${name} at ${width} px`).toEqual([]);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

/** Best practices count, too. */
async function problems(page: Page, options: string): Promise<string[]> {
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(${options})`);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Acts as if the tab were covered, or seen again: a browser without windows has no other way. */
const show = (state: 'visible' | 'hidden') => `
  Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));`;

pageTest(
  'eight tabs are all live on one stream, which is closed while all of them are hidden',
  {},
  async ({ page, controlUrl, send, simulator }) => {
    const more = Array.from({ length: 7 }, () => page.context().newPage());
    const tabs = [page, ...(await Promise.all(more))];
    for (const tab of tabs) {
      await tab.goto(`${controlUrl}/#/messages`);
      await seen(tab.getByText('live', { exact: true }));
    }
    expect(simulator.activity.openStreams).toBe(1);
    send({ message: 'told to all' });
    for (const tab of tabs) await seen(tab.getByText('told to all'));

    for (const tab of tabs) await tab.evaluate(show('hidden'));
    await expect.poll(() => simulator.activity.openStreams).toBe(0);
    const asked: string[] = [];
    const hidden = tabs.slice(1);
    let lastAskedMs = performance.now();
    for (const tab of hidden) {
      tab.on('request', (request) => {
        asked.push(request.url());
        lastAskedMs = performance.now();
      });
    }
    // A reading of the lists that was under way when the tab was hidden ends first.
    await expect.poll(() => performance.now() - lastAskedMs).toBeGreaterThan(1_000);
    asked.length = 0;
    send({ message: 'while all were hidden' });
    await page.evaluate(show('visible'));
    await seen(page.getByText('while all were hidden'));
    expect(simulator.activity.openStreams).toBe(1);
    // The page that is seen reads the numbers, and the others nothing meanwhile.
    expect(asked).toEqual([]);
    expect(await hidden[0]?.getByText('while all were hidden').count()).toBe(0);
    for (const tab of hidden) await tab.close();
  },
);

pageTest(
  'a browser without shared workers has a stream in each tab that is seen',
  {},
  async ({ page, controlUrl, send, simulator }) => {
    await page.addInitScript('if (location.search === "?alone") delete globalThis.SharedWorker');
    await page.goto(`${controlUrl}/?alone#/messages`);
    await seen(page.getByText('live', { exact: true }));
    send({ message: 'told by an event' });
    await seen(page.getByText('told by an event'));
    await page.evaluate(show('hidden'));
    await expect.poll(() => simulator.activity.openStreams).toBe(0);
  },
);

pageTest(
  'what the page itself changes is shown even while no event reaches it',
  { mayLog: /ERR_FAILED/ },
  async ({ page, controlUrl }) => {
    await page.addInitScript('if (location.search === "?alone") delete globalThis.SharedWorker');
    await page.route('**/control/events?*', (route) => route.abort());
    await page.goto(`${controlUrl}/?alone#/faults`);
    await page.getByRole('button', { name: 'Add fault' }).click();
    const remove = page.getByRole('button', { name: 'Remove fault-1' });
    await seen(remove);
    await remove.click();
    await seen(page.getByText('No faults are set.'));
  },
);

pageTest(
  'under load the lists are not read again at every event',
  { settings: { noLimits: true } },
  async ({ page, controlUrl, send, simulator }) => {
    await page.goto(`${controlUrl}/#/messages`);
    await seen(page.getByText('live', { exact: true }));
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const startedMs = performance.now();
    for (let burst = 0; burst < 20; burst++) {
      for (let n = 0; n < 500; n++) send({ message: `burst ${burst}` });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await seen(page.getByText('burst 19'));
    const seconds = (performance.now() - startedMs) / 1_000;
    const times = (path: string) => asked.filter((one) => one === path).length;
    expect(simulator.state().messages.total).toBe(10_000);
    // Two readings a second, of two requests at most, and one more at either end.
    expect(times(routeOf('messages.page').path)).toBeLessThan(4 * seconds + 4);
    expect(times(routeOf('accounts.list').path)).toBeLessThan(2 * seconds + 4);
  },
);

pageTest(
  'Requests reads a windowful of rows, and a hundred once the user points at them',
  { settings: { noLimits: true } },
  async ({ page, controlUrl, send }) => {
    for (let n = 0; n < 150; n++) send({ message: `number ${n}.` });
    const limits: (string | null)[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === routeOf('requests.list').path) limits.push(searchParams.get('limit'));
    });
    await page.goto(`${controlUrl}/#/requests`);
    const table = page.getByRole('region', { name: 'Requests' });
    await seen(table.getByText('number 149.'));
    const { height = 0 } = page.viewportSize() ?? {};
    expect(new Set(limits)).toEqual(new Set([`${Math.ceil(height / 34)}`]));
    await table.hover();
    await expect.poll(() => limits.at(-1)).toBe('100');
    await page.getByRole('button', { name: 'Show all' }).click();
    const atTheEnd = async () => [await table.press('End'), await table.getByRole('row').count()];
    await expect.poll(atTheEnd).toEqual([undefined, 151]);
  },
);

pageTest(
  'a lost connection is shown, and the page goes on when the simulator is back',
  // The other server leaves its port taken for a while after its connections have ended.
  { mayLog: /ERR_|Failed to load/, transport: 'node' },
  async ({ page, controlUrl, send, simulator }) => {
    send({ message: 'before' });
    await page.goto(`${controlUrl}/#/messages`);
    await seen(page.getByText('before'));
    await simulator.close();
    await seen(page.getByRole('alert').getByText('The simulator does not answer.'));
    expect(await page.getByText('before').count()).toBe(1);
    // Another page, and this one again, show what they last showed.
    await page.getByRole('link', { name: 'Requests', exact: true }).click();
    await page.getByRole('link', { name: 'Messages', exact: true }).click();
    await seen(page.getByText('before'));
    const other = new Simulator({ clock: 'manual', seed: 2 });
    const port = Number(new URL(controlUrl).port);
    await other.listen({ control: { port }, transport: 'node' });
    sendBy(other, 0, { message: 'after' });
    // The page may come back by itself before the button is reached.
    await page
      .getByRole('button', { name: 'Try now' })
      .click({ timeout: 1_000 })
      .catch(() => {});
    await seen(page.getByText('after'));
    await gone(page.getByText('before'));
    await gone(page.getByText('The simulator does not answer.'));
    await page.close();
    await other.close();
  },
);

pageTest(
  'the control token is asked for once, kept for the tab, and sent with the events too',
  { token: 'open-sesame', mayLog: /401/ },
  async ({ page, controlUrl, send }) => {
    await page.goto(`${controlUrl}/#/messages`);
    const token = page.getByLabel('Control token', { exact: true }).last();
    await token.fill('wrong');
    await page.getByRole('button', { name: 'Continue' }).click();
    await seen(page.getByText('This token is wrong.'));
    await token.fill('open-sesame');
    await page.getByRole('button', { name: 'Continue' }).click();
    await seen(page.getByText('live', { exact: true }));
    send({ message: 'told by an event' });
    await seen(page.getByText('told by an event'));
    await page.reload();
    await seen(page.getByText('told by an event'));
    const kept = await page.evaluate<number[]>('[localStorage.length, sessionStorage.length]');
    expect(kept).toEqual([0, 1]);
    expect(await page.evaluate<string>('document.cookie')).toBe('');
  },
);

pageTest(
  'a message is sent and opened with the keyboard alone',
  {},
  async ({ page, controlUrl }) => {
    await page.goto(`${controlUrl}/#/messages`);
    await seen(page.getByText('No messages yet.'));
    const focused = () =>
      page.evaluate<string>(
        "(document.activeElement?.labels?.[0] ?? document.activeElement)?.textContent?.trim() ?? ''",
      );
    const tabTo = async (name: string) => {
      for (let presses = 0; presses < 40; presses++) {
        await page.keyboard.press('Tab');
        if ((await focused()) === name) return;
      }
      throw new Error(`the keyboard does not reach ${name}`);
    };
    await tabTo('Skip to the page');
    await tabTo('Send');
    await page.keyboard.press('Enter');
    await expect.poll(focused).toBe('Send');
    await seen(page.getByRole('button', { name: 'Send message' }));
    await tabTo('Message');
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type('by hand');
    await tabTo('Send message');
    await page.keyboard.press('Enter');
    await seen(page.getByRole('region', { name: 'Reply' }).getByText('202'));
    await tabTo('Watch this message');
    await page.keyboard.press('Enter');
    await seen(page.getByRole('complementary').getByText('by hand').first());
  },
);
