/**
 * What the page answers: how to use a world, why a message waits, what became of a request, and
 * what an advance did.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
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
    await seen(page.getByText('4 of 124 requests match'));
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

    const [account] = simulator.accounts.list();
    await page.goto(`${controlUrl}/#/accounts/${account?.account_id}`);
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
    await seen(row(3).getByText('replay of 2'));
    const search = page.getByRole('combobox', { name: /^to:/ });
    await search.fill('to:+12025550161 status:2xx');
    await seen(page.getByText('2 of 3 requests match'));
    await row(2).getByRole('link').first().click();
    const detail = page.getByRole('complementary', { name: 'Request' });
    await seen(detail.getByText('"order-2"').first());
    await seen(detail.getByText('reply lost: the connection closed before a byte of it').first());
    expect(await detail.getByText('Wait').count()).toBe(0);
    const attempts = detail.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
    // Two requests, and the status of the message.
    await expect.poll(() => attempts.count()).toBe(3);
    await seen(
      detail.getByRole('link', { name: 'later: same recipient and text, same request_id: 200' }),
    );
    await detail.getByRole('link', { name: 'Next: › 3 200' }).click();
    await seen(detail.getByText('replay of 2'));
    await detail.getByRole('link', { name: 'Previous: ‹ 2 lost (202)' }).click();
    await attempts.filter({ hasText: 'replay 3' }).getByRole('link').click();
    await seen(detail.getByText('replay of 2'));
    await page.keyboard.press('Escape');
    await gone(detail);
    expect(await page.evaluate<string>('document.activeElement.textContent')).toContain('2026');
    expect(await search.inputValue()).toBe('to:+12025550161 status:2xx');
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
    await page.reload();
    await seen(page.getByText('3 messages', { exact: true }));
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    const opened = page.getByRole('complementary', { name: 'Message' });
    await seen(opened.getByText('later 1').first());
    await page.keyboard.press('/');
    await page.keyboard.press('Escape');
    await seen(page.getByText('63 messages', { exact: true }));
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await seen(opened.getByText('later 2').first());
  },
);

pageTest(
  'requests are saved as HAR, and what is found as JSON',
  {},
  async ({ page, controlUrl, send }) => {
    send({ request_id: 'order-1' });
    send({ from: '+12025550999' });
    await page.goto(`${controlUrl}/#/requests?search=status:403`);
    await seen(page.getByText('1 of 2 requests match'));
    expect(JSON.parse(await savedBy(page, 'Save all as HAR')).log.entries).toHaveLength(2);
    expect(JSON.parse(await savedBy(page, 'Save these as JSON'))).toMatchObject([
      { number: 2, status: 403 },
    ]);
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

/** The text of the file that a button saves. */
async function savedBy(page: Page, name: string): Promise<string> {
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name }).click();
  const stream = await (await download).createReadStream();
  return Buffer.concat(await stream.toArray()).toString();
}

pageTest(
  'the time machine shows an earlier instant, forks there, and a reset is undone',
  { mayLog: /status of 404/ },
  async ({ page, controlUrl, simulator, send }) => {
    const { message_id: id } = JSON.parse(send({ message: 'the first' }));
    simulator.clock.advance('25s');
    send({ message: 'the second' });
    simulator.clock.advance('1h');
    await page.goto(`${controlUrl}/#/messages/${id}`);
    await page.getByRole('link', { name: 'At earlier instants' }).click();
    const scrubber = page.getByRole('slider');
    await seen(page.getByText('Line 5 of 5'));
    await seen(page.getByRole('row', { name: 'clock.advance by 1h' }));
    const last = page.getByRole('region', { name: 'The world after line 5' });
    await seen(last.getByText(/^0 → 2/));
    await scrubber.focus();
    for (let press = 0; press < 2; press++) await page.keyboard.press('ArrowLeft');
    const then = page.getByRole('region', { name: 'The world after line 3' });
    await seen(then.getByText('1 (now 2)').first());
    await seen(then.getByRole('list', { name: 'Timeline' }).getByText('sending'));
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await then.getByRole('button', { name: 'Copy as test' }).click();
    const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()');
    await expect.poll(clipboard).toContain("to: '2026-01-01T00:00:25.000Z'");
    expect(await clipboard()).toContain('toEqual(["sending"])');
    await then.getByRole('button', { name: 'Go back to here' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Go back to here' }).click();
    await expect.poll(() => simulator.state().messages).toMatchObject({ total: 1, sending: 1 });
    simulator.past.goBack({ entry: 5 });
    await expect.poll(() => simulator.state().messages.total).toBe(2);
    await then.getByRole('button', { name: 'Fork here' }).click();
    await then.getByRole('link', { name: 'open it' }).click();
    await page.getByRole('link', { name: 'Messages', exact: true }).click();
    await seen(page.getByText('the first'));
    expect(await page.getByText('the second').count()).toBe(0);

    await page.goto(`${controlUrl}/#/clock`);
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Start over' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => simulator.state().messages.delivered).toBe(2);
    await page.goto(`${controlUrl}/#/past`);
    expect(await savedBy(page, 'Save the journal')).toContain('"snapshot.restore"');
  },
);

pageTest(
  'older inputs are reached from the newest, down to the first',
  {},
  async ({ page, controlUrl, send }) => {
    for (let n = 0; n < 20; n++) send();
    await page.goto(`${controlUrl}/#/past`);
    const older = page.getByRole('link', { name: 'Older inputs' });
    const row = (line: number) => page.getByRole('rowheader', { name: String(line), exact: true });
    await seen(row(21));
    await older.click();
    await gone(row(21));
    await seen(row(2));
    await gone(older);
    await page.getByRole('link', { name: 'Newer inputs' }).click();
    await seen(row(21));
  },
);

pageTest(
  'a plot shows the last 60 s of each account by key and pointer, and zooms to requests',
  {},
  async ({ page, controlUrl, simulator, send }) => {
    simulator.faults.add({ fault: { kind: 'status', status: 503 }, when: { nth: [1] }, times: 1 });
    for (let n = 0; n < 123; n++) send();
    simulator.clock.advance('90s');
    send();
    await page.goto(`${controlUrl}/#/limits`);
    await page.getByRole('combobox', { name: 'Account' }).last().selectOption('acme');
    const plot = page.getByRole('slider', { name: /^124 requests, 2 of them/ });
    await expect.poll(() => plot.locator('.u-legend').textContent()).toContain('acme1limit120');
    const shows = (text: string) =>
      expect.poll(() => plot.getAttribute('aria-valuetext')).toBe(text);
    await plot.press('Home');
    await shows('00:00:00, acme 120, limit 120, answered 429 2');
    await plot.press('ArrowRight');
    await shows('00:00:01, acme 120, limit 120, answered 429 0');
    await plot.press('End');
    await plot.press('ArrowLeft');
    await shows('00:01:30, acme 1, limit 120, answered 429 0');
    await plot.press('+');
    const link = page.getByRole('link', { name: /^The requests from/ });
    await expect.poll(() => link.textContent()).not.toContain('00:00:00');
    await plot.press('0');
    await expect.poll(() => link.textContent()).toContain('00:00:00');
    const over = plot.locator('.u-over');
    const { x = 0, y = 0, width = 0 } = (await over.boundingBox()) ?? {};
    await page.mouse.move(x + width / 2, y + 60);
    await page.mouse.down();
    await page.mouse.move(x + width - 2, y + 60, { steps: 3 });
    await page.mouse.up();
    await expect.poll(() => link.textContent()).not.toContain('00:00:00');
    await link.click();
    await seen(page.getByText('1 of 124 requests match'));
    expect(page.url()).toContain('since');
    const csv = (await savedBy(page, 'Save these as CSV')).split('\r\n');
    expect(csv[0]).toMatch(/^number,at,method/);
    expect(csv).toHaveLength(3);
  },
);

pageTest(
  'a draft stays in the address, and a question mark shows the keys',
  {},
  async ({ page, controlUrl }) => {
    await page.goto(`${controlUrl}/#/send`);
    await page.getByRole('textbox', { name: 'Message' }).fill('not sent yet');
    await page.getByRole('link', { name: 'Limits' }).click();
    await page.goBack();
    const message = page.getByRole('textbox', { name: 'Message' });
    await expect.poll(() => message.inputValue()).toBe('not sent yet');
    await page.getByRole('heading', { level: 1 }).focus();
    await page.keyboard.press('?');
    await seen(page.getByRole('dialog', { name: 'Keys' }).getByText('the search of this page'));
    await page.keyboard.press('Escape');
    await gone(page.getByRole('dialog'));
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Send');
  },
);

pageTest(
  'keys go to a page or search for a text, and the next hour is seen in a copy',
  {},
  async ({ page, controlUrl, send, simulator }) => {
    simulator.limits.patch({ send: 2 });
    send({ message: 'to be delivered' });
    send({ message: 'another' });
    await page.goto(`${controlUrl}/#/limits`);
    await page.getByRole('heading', { level: 1 }).focus();
    for (const key of ['g', 'm']) await page.keyboard.press(key);
    await seen(page.getByRole('heading', { name: 'Messages', level: 1 }));
    await page.keyboard.press('Control+k');
    await page.keyboard.type('another');
    await page.keyboard.press('Enter');
    await gone(page.getByRole('dialog'));
    await seen(page.getByText('1 message', { exact: true }));
    await page.keyboard.press('Control+k');
    await page.keyboard.type('cloc');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Show the next hour' }).click();
    const row = page.getByRole('row').filter({ hasText: 'to +12025550123' });
    await seen(row.getByRole('cell', { name: 'delivered' }));
    const limits = page.getByRole('row').filter({ hasText: 'acme send' });
    await seen(limits.getByRole('cell', { name: /^0 of 2, 429 until \d\d:\d\d:\d\d$/ }));
    await seen(limits.getByRole('cell', { name: '2 of 2' }));
    expect(simulator.state().messages.queued).toBe(2);
    const worlds = page.getByRole('region', { name: 'Worlds', exact: true });
    await seen(worlds.getByText(/; deleted in (10 min|9 min \d+ s)$/));
    const overflow = 'document.querySelector(".table-scroll").scrollWidth';
    const width = 'document.querySelector(".table-scroll").clientWidth';
    expect(await page.evaluate<number>(`${overflow} - ${width}`)).toBeLessThanOrEqual(1);
  },
);

pageTest('any request of the service is sent', {}, async ({ page, controlUrl }) => {
  await page.goto(`${controlUrl}/#/send`);
  await page.getByText('Any other request').click();
  const form = page.getByRole('form', { name: 'Send any request' });
  const submit = form.getByRole('button', { name: 'Send request' });
  await submit.click();
  const reply = page.getByRole('region', { name: 'Reply' });
  await seen(reply.getByText('"sims_connected"'));
  await form.getByRole('combobox', { name: 'Method' }).selectOption('POST');
  await form.getByRole('combobox', { name: 'Path' }).fill('/api/v1/sms/send/');
  await form.getByRole('textbox', { name: 'Body' }).fill('{"to":');
  await submit.click();
  await seen(reply.getByText('400'));
});

pageTest('a finding of explore is opened', {}, async ({ page, controlUrl }) => {
  await page.goto(`${controlUrl}/#/referee`);
  const exchange = { at: '2026-01-01T00:00:00.000Z', method: 'POST', target: '/send', attempt: 1 };
  const finding = {
    cause: 'sent_twice',
    what: 'the message was accepted twice',
    failures: [{ cause: 'sent_twice', what: 'the message was accepted twice', exchanges: [1, 2] }],
    timeline: [
      { ...exchange, number: 1, fault: 'lost_response', status: 202, seen: false },
      { ...exchange, number: 2, fault: null, status: 202, seen: true, attempt: 2 },
    ],
  };
  const file = page.getByLabel('Open a finding-N.json');
  const text = (value: object) => Buffer.from(JSON.stringify(value));
  const upload = { name: 'finding-1.json', mimeType: 'application/json' };
  await file.setInputFiles({ ...upload, buffer: text(finding) });
  const steps = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
  await seen(steps.nth(0).getByText('fault: lost_response'));
  await seen(steps.nth(2).getByText('sent_twice: the message was accepted twice'));
  await file.setInputFiles({ ...upload, buffer: text({}) });
  await seen(page.getByRole('alert').getByText('finding-1.json is not a finding'));
});

pageTest(
  'six questions of somebody new are answered from Home, by what is seen',
  { settings: { limits: { send: 5 } } },
  async ({ page, controlUrl, simulator, send }) => {
    simulator.faults.add({ when: { nth: [3] }, fault: { kind: 'lost_response' } });
    for (const n of [1, 2, 3, 3]) send({ request_id: `order-${n}` });
    send({ to: '+12025550164', request_id: 'order-4' });
    for (const wait of ['3s', '0s']) {
      send({ request_id: 'order-5' });
      simulator.clock.advance(wait);
    }
    const go = (name: string | RegExp) => page.getByRole('link', { name }).first().click();
    const home = () => go('smstwin');
    await page.goto(controlUrl);

    // How do I point my Python client at this?
    await page.getByRole('combobox', { name: 'Language' }).selectOption('Python');
    await seen(page.getByText(`BASE_URL = "${simulator.baseUrl}"`));

    // Which request did my client send too early, and by how much?
    await go(/broken.* so far/);
    const early = page.getByRole('region', { name: 'CLIENT-1', exact: true });
    await seen(early.getByText('the retry arrived 57.0 s before'));
    await early.getByRole('link').last().click();
    await seen(page.getByText('waited 3 s of 1 min: 57 s too early'));

    // When does the next send pass?
    await home();
    await go('Limits');
    await seen(page.getByText('429 until 2026-01-01 00:01:00.000'));

    // What did the fault on my third send do, and did my client recover?
    await home();
    await go(/^\d+ requests since the start$/);
    await page.getByRole('row').filter({ hasText: 'reply lost' }).getByRole('link').first().click();
    const trace = page.getByRole('complementary').getByRole('list', { name: 'Timeline' });
    await seen(trace.getByText('The client did not see this reply.'));
    await seen(
      trace.getByRole('listitem').filter({ hasText: 'replay 4' }).getByText('This reply reached'),
    );

    // What changed when I advanced a day?
    await home();
    await go('Clock');
    await page.getByRole('button', { name: 'Advance +24h' }).click();
    await seen(page.getByRole('status').getByText(/timers fired: 3 delivered, 1 sending\.$/));

    // Why is the message to +12025550164 not delivered?
    await home();
    await go(/^sending 1/);
    await page.getByRole('row').filter({ hasText: '+12025550164' }).getByRole('link').click();
    await seen(page.getByText('The recipient +12025550164 is scripted: its messages stay sending'));
  },
);

pageTest(
  'a fork is compared with its origin',
  {},
  async ({ page, controlUrl, simulator, send }) => {
    const { message_id: id } = JSON.parse(send());
    simulator.worlds.fork('default', { name: 'retry' });
    simulator.messages.fail(id);
    await page.goto(`${controlUrl}/#/worlds`);
    const other = page.getByRole('combobox', { name: 'Compare with' });
    const differing = page.getByRole('row').filter({ hasText: `${id.slice(0, 8)} to` });
    // The only other world is compared without a choice.
    await seen(differing.getByRole('cell', { name: 'failed' }));
    simulator.worlds.create({ name: 'third' });
    await seen(page.getByRole('region', { name: 'Worlds', exact: true }).getByText('third'));
    await gone(differing);
    await other.selectOption('retry');
    await seen(differing.getByRole('cell', { name: 'failed' }));
    expect(page.url()).toContain('with=');
  },
);
