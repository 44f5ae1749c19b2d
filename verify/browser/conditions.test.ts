/**
 * The page under conditions: no connection, no token, no mouse.
 */
import { expect } from 'vitest';
import { routeOf } from '../../src/operations/table.ts';
import { createSimulator } from '../../src/simulator.ts';
import { sendBy } from '../testkit/control-fixture.ts';
import { gone, pageTest, seen, withBrowser } from './browser-fixture.ts';

withBrowser();

/** As when the tab is covered, or seen again: a browser without windows has no other way. */
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
      await tab.goto(controlUrl);
      await seen(tab.getByText('live', { exact: true }));
    }
    expect(simulator.activity.streams).toBe(1);
    send({ message: 'told to all' });
    for (const tab of tabs) await seen(tab.getByText('told to all'));

    for (const tab of tabs) await tab.evaluate(show('hidden'));
    await expect.poll(() => simulator.activity.streams).toBe(0);
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
    expect(simulator.activity.streams).toBe(1);
    // The page that is seen reads the numbers every two seconds, and the others nothing meanwhile.
    await page.waitForResponse(`**${routeOf('simulator.state').path}`);
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
    await page.goto(`${controlUrl}/?alone`);
    await seen(page.getByText('live', { exact: true }));
    send({ message: 'told by an event' });
    await seen(page.getByText('told by an event'));
    await page.evaluate(show('hidden'));
    await expect.poll(() => simulator.activity.streams).toBe(0);
  },
);

pageTest(
  'under load the lists are not read again at every event',
  { settings: { noLimits: true } },
  async ({ page, controlUrl, send, simulator }) => {
    await page.goto(controlUrl);
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
    expect(times(routeOf('messages.list').path)).toBeLessThan(4 * seconds + 4);
    expect(times(routeOf('accounts.list').path)).toBeLessThan(2 * seconds + 4);
  },
);

pageTest(
  'a lost connection is shown, and the page goes on when the simulator is back',
  // The other server leaves its port taken for a while after its connections have ended.
  { mayLog: /ERR_|Failed to load/, transport: 'node' },
  async ({ page, controlUrl, send, simulator }) => {
    send({ message: 'before' });
    await page.goto(controlUrl);
    await seen(page.getByText('before'));
    await simulator.close();
    await seen(page.getByRole('alert').getByText('The simulator does not answer.'));
    expect(await page.getByText('before').count()).toBe(1);
    const other = await createSimulator({ clock: 'manual', seed: 2 });
    const port = Number(new URL(controlUrl).port);
    await other.listen({ control: { port }, transport: 'node' });
    sendBy(other, 0, { message: 'after' });
    await page.getByRole('button', { name: 'Try now' }).click();
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
    await page.goto(controlUrl);
    const token = page.getByLabel('Control token', { exact: true }).last();
    await token.fill('wrong');
    await page.getByRole('button', { name: 'Continue' }).click();
    await seen(page.getByText('That was not the token.'));
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
    await page.goto(controlUrl);
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
