/**
 * Twelve questions of a reader who is new to the page: each is answered from Home in at most three
 * clicks, by what is seen.
 */
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { type Opened, pageTest, seen, withBrowser } from './browser-fixture.ts';

withBrowser();

const mostClicks = 3;

interface Question {
  readonly asked: string;
  /** Each is one click or choice. */
  readonly steps: (page: Page) => readonly (Locator | (() => Promise<unknown>))[];
  readonly answer: (page: Page) => Locator;
}

const link = (page: Page, name: string | RegExp) => page.getByRole('link', { name }).first();
const pageLink = (page: Page, name: string) =>
  page.getByRole('navigation').getByRole('link', { name, exact: true });
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const firstRow = (page: Page) => page.locator('.row-link').first();

const questions: readonly Question[] = [
  {
    asked: 'Who is throttled now, and until when?',
    steps: () => [],
    answer: (page) => page.getByRole('listitem').filter({ hasText: /^acme: send.*429 until/ }),
  },
  {
    asked: 'Which message was sent twice, and why?',
    steps: (page) => [
      link(page, /^CLIENT-5/),
      page.getByRole('region', { name: 'CLIENT-5', exact: true }).getByRole('link').last(),
    ],
    answer: (page) => page.getByText('The client did not see this reply.'),
  },
  {
    asked: 'Did my fault strike, and what did my client do then?',
    steps: (page) => [link(page, 'fault-1'), firstRow(page)],
    answer: (page) => page.getByRole('list', { name: 'Timeline' }).getByText('+2 s').first(),
  },
  {
    asked: 'Why has this message not moved?',
    steps: () => [],
    answer: (page) => page.getByText('its messages stay sending for ever'),
  },
  {
    asked: 'What differs between two worlds?',
    steps: (page) => [
      pageLink(page, 'Worlds'),
      () => page.getByRole('combobox', { name: 'Compare with' }).selectOption('copy'),
    ],
    answer: (page) => page.getByText(/^\d+ only in default$/),
  },
  {
    asked: 'How do I reproduce this in my test?',
    steps: (page) => [link(page, 'fault-1'), firstRow(page), button(page, 'Copy as test')],
    answer: (page) => button(page, 'Copied'),
  },
  {
    asked: 'What would the service answer?',
    steps: (page) => [pageLink(page, 'Send'), button(page, 'Send message')],
    answer: (page) => page.getByRole('region', { name: 'Reply' }).getByText('429'),
  },
  {
    asked: 'What happens in the next hour?',
    steps: (page) => [
      pageLink(page, 'Time machine'),
      link(page, 'what the next hour would change'),
      button(page, 'Show the next hour'),
    ],
    answer: (page) => page.getByRole('table').getByText('delivered', { exact: true }),
  },
  {
    asked: 'Which requests with this key were answered 4xx?',
    steps: (page) => [
      pageLink(page, 'Requests'),
      page
        .getByRole('row')
        .getByRole('link', { name: /^smst_/ })
        .first(),
      button(page, /^4xx/),
    ],
    answer: (page) => page.getByText(/^[1-9] of \d+ requests match$/),
  },
  {
    asked: 'How much of its quota has each account left?',
    steps: (page) => [pageLink(page, 'Accounts')],
    answer: (page) => page.getByRole('row').filter({ hasText: /^acme.*9,99\d of 10,000/ }),
  },
  {
    asked: 'How do I undo what I just did?',
    steps: (page) => [
      pageLink(page, 'Faults'),
      button(page, 'Remove fault-1').first(),
      button(page, 'Undo'),
    ],
    answer: (page) => page.getByRole('row').filter({ hasText: 'fault-1' }),
  },
  {
    asked: 'What does SEND-4 mean?',
    steps: (page) => [
      pageLink(page, 'Rules and assumptions'),
      () => page.getByRole('searchbox', { name: 'Search rules and assumptions' }).fill('SEND-4'),
    ],
    answer: (page) => page.getByRole('row').filter({ hasText: /^SEND-4.*request_id/ }),
  },
];

/** A reply is lost and sent again, the limit is reached, and one message is stuck. */
function makeTrouble({ simulator, send }: Pick<Opened, 'simulator' | 'send'>): void {
  simulator.faults.add({
    match: { endpoint: 'send' },
    when: { nth: [1] },
    fault: { kind: 'lost_response' },
  });
  send({ message: 'your code is 1234' });
  simulator.clock.advance('2s');
  send({ message: 'your code is 1234' });
  send({ from: '+12025550999' });
  send({ to: '+12025550164' });
  simulator.clock.advance('30s');
  simulator.worlds.fork('default', { name: 'copy' });
  for (let n = 0; n < 5; n++) send({ message: `number ${n}` });
}

pageTest(
  'twelve questions of a new reader are answered in three clicks each',
  { settings: { limits: { send: 6 } } },
  async ({ page, controlUrl, ...opened }) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    makeTrouble(opened);
    for (const { asked, steps, answer } of questions) {
      await page.goto('about:blank');
      await page.goto(controlUrl);
      await seen(page.getByText('live', { exact: true }));
      const clicks = steps(page);
      expect(clicks.length, asked).toBeLessThanOrEqual(mostClicks);
      for (const click of clicks) await (typeof click === 'function' ? click() : click.click());
      await seen(answer(page)).catch((error: Error) => {
        throw new Error(`${asked} ${error.message}`);
      });
    }
  },
);
