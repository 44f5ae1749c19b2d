/**
 * Long looks at the page: much to show, and every page of it in little room and without sight.
 */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { sendBy } from '../testkit/control-fixture.ts';
import { gone, pageTest, seen, withBrowser } from './browser-fixture.ts';

withBrowser();

const pages = [
  'Messages',
  'Send',
  'SIMs',
  'API keys',
  'Received',
  'Limits',
  'Clock and Faults',
  'Requests',
  'Rules and assumptions',
];

/** Goes to a page by its link and waits for its content. */
async function visit(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).first().click();
  await seen(page.getByRole('heading', { name, level: 1 }));
  await gone(page.locator('.loading'));
}

const manyMessages = 10_000;

pageTest(
  'ten thousand messages make no more rows than are seen, and the oldest is reached',
  {
    settings: { noLimits: true },
    before: (simulator) => {
      for (let n = 1; n <= manyMessages; n++) sendBy(simulator, 0, { message: `number ${n}.` });
    },
  },
  async ({ page, controlUrl, send, simulator }) => {
    await page.goto(controlUrl);
    const table = page.getByRole('region', { name: 'Messages' });
    await seen(table.getByText(`number ${manyMessages}.`));
    const rows = table.getByRole('row');
    const oldest = table.getByText('number 1.', { exact: true });
    await expect
      .poll(
        async () => {
          await table.evaluate((element: { scrollTop: number }) => {
            element.scrollTop = 1e9;
          });
          return oldest.count();
        },
        { timeout: 25_000 },
      )
      .toBe(1);
    expect(await rows.count()).toBeLessThan(60);
    // What comes in above does not move what is read; all of it changes its status and the page
    // follows.
    send({ message: 'one more' });
    await seen(page.getByText('10,001 messages'));
    await seen(oldest);
    simulator.clock.advance('5m');
    await seen(table.getByRole('row').filter({ hasText: 'number 1.' }).getByText('delivered'));
    expect(await rows.count()).toBeLessThan(60);
  },
);

pageTest("every page fits a phone's width", { width: 360 }, async ({ page, controlUrl, send }) => {
  send({ message: 'a'.repeat(400) });
  await page.goto(controlUrl);
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
  'an accessibility checker finds nothing serious on any page, in light and in dark',
  {},
  async ({ page, controlUrl, send, simulator }) => {
    const to = ['+12025550123', '+12025550160', '+12025550163', '+12025550164', '+12025550165'];
    for (const number of to) send({ to: number });
    simulator.clock.advance('90s');
    for (let n = 0; n < 125; n++) send({ from: '+12025550999' });
    const { message_id: id } = JSON.parse(send({}, 1));
    simulator.faults.add({ when: { every: 2 }, fault: { kind: 'refuse' } });
    const [account] = simulator.accounts.list();
    const inbound = { from: 'Bank', to: '+12025550101', message: 'hello' };
    simulator.sims.receive(account?.account_id ?? '', inbound);
    simulator.assumptions.patch({ pollIntervalSeconds: 5 });
    await page.goto(controlUrl);
    await page.evaluate(axe.source);
    for (const name of pages) {
      await visit(page, name);
      await expectNothingSerious(page, name);
    }
    await page.goto(`${controlUrl}/#/messages/${id}`);
    await seen(page.getByRole('list', { name: 'Timeline' }));
    await expectNothingSerious(page, 'a message');
  },
);

/** Dark differs from light by colours alone, so only those are looked at again. */
async function expectNothingSerious(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await seriousProblems(page, "{ resultTypes: ['violations'] }"), name).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await seriousProblems(page, "{ runOnly: ['color-contrast'] }"), name).toEqual([]);
}

async function seriousProblems(page: Page, options: string): Promise<string[]> {
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(${options})`);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
