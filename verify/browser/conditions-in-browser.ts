/**
 * The page under conditions: no connection, no token, no mouse.
 */
import { expect } from 'vitest';
import { createSimulator } from '../../src/simulator.ts';
import { gone, pageTest, seen, sendFrom } from './browser-fixture.ts';

pageTest('events are taken up after a break where they ended', {}, async ({ page, controlUrl }) => {
  const asked: (string | undefined)[] = [];
  await page.route('**/control/events*', async (route) => {
    asked.push(route.request().headers()['last-event-id']);
    if (asked.length > 1) return route.continue();
    await route.fulfill({
      contentType: 'text/event-stream',
      body: ': open\n\nid: 41\nevent: clock\ndata: {"now":"2026-01-01T00:00:07.000Z","mode":"manual","rate":0,"pending":0,"next_at":null}\n\n',
    });
  });
  await page.goto(controlUrl);
  await expect.poll(() => asked.slice(0, 2)).toEqual([undefined, '41']);
  await seen(page.getByText('live', { exact: true }));
});

pageTest(
  'a lost connection is told, and the page goes on when the simulator is back',
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
    sendFrom(other, { message: 'after' });
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
