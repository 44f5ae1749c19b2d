/**
 * What the page answers: how to use a world, why a message waits, what became of a request, and what
 * an advance did.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { gone, pageTest, seen, withBrowser } from './browser-fixture.ts';

withBrowser();

const run = promisify(execFile);

pageTest(
  'Home has commands that run as copied, and counts what happened with links',
  {},
  async ({ page, controlUrl, simulator, send }) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(controlUrl);
    await seen(page.getByText('Nothing has happened yet.'));
    await seen(page.getByText(simulator.baseUrl, { exact: true }));
    await seen(page.getByText('+12025550101', { exact: true }));
    const copy = page.getByRole('button', { name: 'Copy the example' });
    const shells: Readonly<Record<string, readonly [string, ...string[]]>> = {
      curl: ['bash', '-c'],
      Node: [process.execPath, '--input-type=module', '-e'],
      Python: ['python3', '-c'],
    };
    for (const [language, [command, ...flags]] of Object.entries(shells)) {
      await page.getByRole('combobox', { name: 'Language' }).selectOption(language);
      await copy.click();
      const text = await page.evaluate<string>('navigator.clipboard.readText()');
      const { stdout } = await run(command, [...flags, text]);
      expect(stdout, language).toContain('queued');
    }
    expect(simulator.state().messages.total).toBe(3);
    for (let n = 0; n < 121; n++) send({ to: '+12025550163' });
    await page.getByRole('link', { name: '4 answered 429' }).click();
    await seen(page.getByText('4 of the last 1,000'));
    await page.goBack();
    await page.getByRole('link', { name: /^queued 120/ }).click();
    expect(await page.getByRole('combobox', { name: 'Status' }).inputValue()).toBe('queued');
  },
);

pageTest(
  'a message says why it waits, and a button moves it on',
  {},
  async ({ page, controlUrl, simulator, send }) => {
    const { message_id: stuck } = JSON.parse(send({ to: '+12025550164' }));
    const { message_id: id, device_id: sim } = JSON.parse(send({}));
    const why = page.getByRole('region', { name: 'Why it waits' });
    await page.goto(`${controlUrl}/#/messages/${id}`);
    await seen(why.getByText(/It waits for the next poll of its SIM \+12025550101, in [\d.]+ s/));
    simulator.sims.patch(sim, { connected: false });
    await seen(why.getByText('Its SIM +12025550101 is disconnected'));
    await why.getByRole('button', { name: 'Connect the SIM' }).click();
    await why.getByRole('button', { name: 'Advance to then' }).click();
    await seen(why.getByText('It becomes sent in 20 s'));
    await seen(page.getByRole('status').getByText('1 timer fired: 2 sending.'));
    await page.goto(`${controlUrl}/#/messages/${stuck}`);
    await seen(why.getByText('The recipient +12025550164 is scripted: its messages stay sending'));
    await why.getByRole('button', { name: 'Make it fail' }).click();
    await gone(why);

    await page.goto(`${controlUrl}/#/sims`);
    send({ request_id: 'the-one' });
    await page.getByRole('link', { name: '1 Queue length of +12025550101' }).click();
    await seen(page.getByText('1 message', { exact: true }));
  },
);

pageTest(
  'a request is found by what it says, and opens with its fault, its message and its attempts',
  {},
  async ({ page, controlUrl, simulator, send }) => {
    simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
    send({ request_id: 'order-1', to: '+12025550160' });
    simulator.reset();
    simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
    send({ request_id: 'order-2', to: '+12025550161' });
    send({ request_id: 'order-2', to: '+12025550161' });
    send({ request_id: 'order-3' });
    await page.goto(`${controlUrl}/#/requests`);
    const row = (number: number) =>
      page.getByRole('row').filter({ has: page.getByRole('link', { name: `Request ${number}` }) });
    await seen(row(2).getByText('reply lost'));
    await seen(row(3).getByText('replay'));
    await page.getByRole('searchbox').fill('to:+12025550161 status:2xx');
    await seen(page.getByText('2 of the last 1,000'));
    await row(2).getByRole('link').click();
    const detail = page.getByRole('complementary', { name: 'Request' });
    await seen(detail.getByText('"order-2"').first());
    await seen(detail.getByText('A fault acts on this: reply lost'));
    const attempts = detail.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
    await expect.poll(() => attempts.count()).toBe(2);
    await attempts.nth(1).getByRole('link').click();
    await seen(detail.getByText('The reply to the first use of this request_id, again.'));
    await page.keyboard.press('Escape');
    await gone(detail);
    expect(await page.evaluate<string>('document.activeElement.textContent')).toContain('2026');
    expect(await page.getByRole('searchbox').inputValue()).toBe('to:+12025550161 status:2xx');
    await page.goBack();
    await detail.getByRole('link', { name: /^[0-9a-f-]{36}$/ }).click();
    await seen(page.getByRole('complementary', { name: 'Message' }).getByText('order-2').first());
  },
);

pageTest(
  'a double click on what deletes asks, and Cancel and Escape keep everything',
  {},
  async ({ page, controlUrl, simulator, send }) => {
    send();
    await page.goto(`${controlUrl}/#/clock`);
    const start = page.getByRole('button', { name: 'Start over' });
    await start.dblclick();
    const dialog = page.getByRole('dialog', { name: 'Start over?' });
    await seen(dialog);
    await page.keyboard.press('Escape');
    await gone(dialog);
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Start over');
    expect(simulator.state().messages.total).toBe(1);
  },
);

pageTest(
  'the page of a deleted world says so',
  { mayLog: /404/ },
  async ({ page, controlUrl, simulator }) => {
    const { world_id: id } = simulator.worlds.create({ name: 'short' });
    await page.goto(`${controlUrl}/w/${id}/`);
    await seen(page.getByText('live', { exact: true }));
    simulator.worlds.delete(id);
    await seen(page.getByRole('alert').getByText('This world was deleted.'));
    await page.getByRole('link', { name: 'Go to the first world' }).click();
    await seen(page.getByText('live', { exact: true }));
  },
);

pageTest(
  'rows stay under the pointer and say how many are new; their text can be selected; keys move',
  {},
  async ({ page, controlUrl, send }) => {
    for (let n = 0; n < 60; n++) send({ message: `text ${n}` });
    await page.goto(`${controlUrl}/#/messages`);
    const cell = page.getByRole('cell', { name: 'text 50', exact: true });
    await cell.hover();
    const top = async () => Math.round((await cell.boundingBox())?.y ?? 0);
    const before = await top();
    for (let n = 0; n < 3; n++) send({ message: `later ${n}` });
    await seen(page.getByRole('button', { name: '3 new' }));
    expect(await top()).toBe(before);
    const { x = 0, y = 0 } = (await cell.boundingBox()) ?? {};
    await page.mouse.move(x + 6, y + 17);
    await page.mouse.down();
    await page.mouse.move(x + 120, y + 17, { steps: 4 });
    await page.mouse.up();
    expect(await page.evaluate<string>('getSelection().toString()')).toContain('text 50');
    expect(await page.getByRole('complementary').count()).toBe(0);
    await page.getByRole('button', { name: '3 new' }).click();
    await seen(page.getByText('later 2'));
    await page.keyboard.press('/');
    await page.keyboard.type('later');
    await seen(page.getByText('3 messages', { exact: true }));
    await page.getByRole('table').getByRole('link').first().focus();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await seen(page.getByRole('complementary', { name: 'Message' }).getByText('later 1').first());
  },
);

pageTest(
  'requests are saved as HAR, and what is found as JSON',
  {},
  async ({ page, controlUrl, send }) => {
    send({ request_id: 'order-1' });
    send({ from: '+12025550999' });
    await page.goto(`${controlUrl}/#/requests?search=status:403`);
    await seen(page.getByText('1 of the last 1,000'));
    const saved = async (name: string) => {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name }).click();
      const stream = await (await download).createReadStream();
      return JSON.parse(Buffer.concat(await stream.toArray()).toString());
    };
    expect((await saved('Save all as HAR')).log.entries).toHaveLength(2);
    expect(await saved('Save these as JSON')).toMatchObject([{ number: 2, status: 403 }]);
  },
);

pageTest(
  'the list beside a detail keeps its text, and its rows reach its edge',
  {},
  async ({ page, controlUrl, send }) => {
    for (let n = 0; n < 60; n++) send({ message: `text ${n}` });
    const { message_id: id } = JSON.parse(send({ message: 'the one' }));
    await page.goto(`${controlUrl}/#/messages/${id}`);
    const cell = page.getByRole('cell', { name: 'the one', exact: true });
    await seen(cell);
    const edgeOf = async (what: typeof cell) => {
      const { x = 0, width = 0 } = (await what.boundingBox()) ?? {};
      return x + width;
    };
    const list = page.getByRole('region', { name: 'Messages' });
    expect((await edgeOf(list)) - (await edgeOf(cell))).toBeLessThan(20);
  },
);
