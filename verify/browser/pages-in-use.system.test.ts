/** Every page in a real browser, operated by its visible text. */
import type { Response } from 'playwright-core';
import { expect } from 'vitest';
import { routeOf } from '#src/operations/table.ts';
import type { Simulator } from '#src/simulator.ts';
import { sendBy } from '../testkit/twin/twin.ts';
import { gone, pageTest, seen, withBrowser } from './browser-fixture.ts';

withBrowser();

/** Nothing for a reply that the end of the page cut off. */
const textOf = (response: Response) => response.text().catch(() => '');

/** The browser reports a refusal of the control API, which these tests provoke. */
const refused = /status of 400/;

pageTest(
  'Messages shows each message as it happens',
  {},
  async ({ page, controlUrl, send, simulator }) => {
    await page.goto(`${controlUrl}/#/messages`);
    await seen(page.getByText('No messages yet.'));
    send({ message: 'first of all', request_id: 'order-1' });
    const row = page.getByRole('row').filter({ hasText: 'first of all' });
    await seen(row.getByText('queued'));
    simulator.clock.advance('20s');
    await seen(row.getByText('sending'));
    simulator.clock.advance('60s');
    await seen(row.getByText('delivered'));

    await row.getByRole('link').click();
    const detail = page.getByRole('complementary', { name: 'Message' });
    const steps = detail.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
    await seen(steps.filter({ hasText: 'delivered' }));
    expect(await steps.count()).toBe(5);
    await seen(steps.filter({ hasText: '+20 s' }));
    await seen(steps.filter({ hasText: 'request 1' }).getByText('202'));
    await seen(detail.getByText('12 characters, 1 segment, GSM-7'));
    await seen(detail.getByText('order-1'));
    await detail.getByRole('link', { name: 'Close' }).click();
    await gone(detail);
  },
);

pageTest(
  'Messages are searched and filtered by number, text and status',
  {},
  async ({ page, controlUrl, send, simulator }) => {
    send({ message: 'the red one' });
    send({ message: 'the blue one', to: '+12025550163' });
    send({ message: 'of another account' }, 1);
    simulator.clock.advance('20s');
    await page.goto(`${controlUrl}/#/messages`);
    const rows = page
      .getByRole('table')
      .getByRole('row')
      .filter({ has: page.getByRole('cell') });
    await expect.poll(() => rows.count()).toBe(3);
    const search = page.getByRole('searchbox');
    await search.fill('RED');
    await expect.poll(() => rows.count()).toBe(1);
    await search.fill('550163');
    await seen(rows.filter({ hasText: 'the blue one' }));
    await expect.poll(() => rows.count()).toBe(1);
    await search.fill('');
    await page.getByRole('combobox', { name: 'Status' }).selectOption('sending');
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole('combobox', { name: 'Account' }).selectOption('globex');
    await expect.poll(() => rows.count()).toBe(1);
    await search.fill('nothing of the kind');
    await seen(page.getByText('No message matches.'));
  },
);

pageTest('A message is stepped, failed and copied', {}, async ({ page, controlUrl, send }) => {
  const { message_id: id } = JSON.parse(send({ message: "it's here" }));
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${controlUrl}/#/messages/${id}`);
  const detail = page.getByRole('complementary');
  await detail.getByRole('button', { name: 'Next step' }).click();
  await seen(detail.getByText('sending').first());
  await detail.getByRole('button', { name: 'Make it fail' }).click();
  await seen(detail.getByText('forced'));
  await gone(detail.getByRole('button', { name: 'Next step' }));
  const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()');
  await detail.getByRole('button', { name: 'Copy as curl' }).click();
  await expect
    .poll(clipboard)
    .toMatch(/^curl -sS http:.*\/api\/v1\/sms\/send\/[\s\S]*it'\\''s here/);
  await detail.getByRole('button', { name: 'Copy as test' }).click();
  await expect.poll(clipboard).toContain('toEqual(["failed"])');
});

pageTest(
  'Send shows the length as one types, and the real exchange',
  {},
  async ({ page, controlUrl }) => {
    await page.goto(`${controlUrl}/#/send`);
    const text = page.getByRole('textbox', { name: 'Message' });
    await text.fill('x'.repeat(161));
    await seen(page.getByText('161 of 1,600 characters · 2 segments · GSM-7'));
    await text.fill('Grüße 🙂');
    await seen(page.getByText('7 of 1,600 characters · 1 segment · UCS-2'));
    await page.getByRole('textbox', { name: 'request_id' }).fill('again');
    const submit = page.getByRole('button', { name: 'Send message' });
    await submit.click();
    const reply = page.getByRole('region', { name: 'Reply' });
    await seen(reply.getByText('202'));
    await seen(reply.getByText('"status": "queued"'));
    await submit.click();
    await seen(reply.getByText('200'));
    await page.getByRole('link', { name: 'Watch this message' }).click();
    await seen(page.getByRole('complementary').getByText('Grüße 🙂').first());
  },
);

pageTest(
  'Send shows refusals: a sender not of the account, a time in the past, an empty plan',
  {},
  async ({ page, controlUrl, simulator }) => {
    await page.goto(`${controlUrl}/#/send`);
    const reply = page.getByRole('region', { name: 'Reply' });
    const submit = page.getByRole('button', { name: 'Send message' });
    await page.getByRole('combobox', { name: 'From' }).fill('+12025550111');
    await submit.click();
    await seen(reply.getByText('"from_number_access_deniedd"'));
    await page.getByRole('combobox', { name: 'Account' }).selectOption('initech');
    await seen(page.getByText('sends from the shared pool.'));
    await page.getByRole('combobox', { name: 'From' }).fill('+12025550190');
    await page.getByRole('textbox', { name: 'send_at' }).fill('2020-01-01T00:00:00Z');
    await submit.click();
    await seen(reply.getByText('"send_at"'));
    await page.getByRole('button', { name: 'in an hour' }).click();
    const account = simulator.accounts.list()[2];
    simulator.accounts.patch(account?.account_id ?? '', { monthly_quota: 0 });
    await submit.click();
    await seen(reply.getByText('402'));
    const request = page.getByRole('region', { name: 'Request' });
    await seen(request.getByText('2026-01-01T01:00:00.000Z'));
    await seen(request.getByText(/^Bearer smst_.{4}…$/));
  },
);

pageTest(
  'SIMs are connected, disconnected, deactivated and polled',
  { mayLog: refused },
  async ({ page, controlUrl, send, simulator }) => {
    send();
    await page.goto(`${controlUrl}/#/accounts/${simulator.accounts.list()[0]?.account_id}`);
    const row = page.getByRole('row').filter({ hasText: '+12025550101' });
    await seen(row.getByRole('link', { name: '1 Queue length of +12025550101' }));
    await row.getByRole('button', { name: 'Poll' }).click();
    await seen(page.getByRole('status').getByText('+12025550101: 1 picked up.'));
    await seen(row.getByRole('cell', { name: '0', exact: true }));
    const switchOf = (name: string) => row.getByRole('switch', { name: `${name} of +12025550101` });
    await switchOf('Connected').click();
    await seen(switchOf('Connected').and(page.getByRole('switch', { checked: false })));
    await switchOf('Connected').click();
    await switchOf('Active').click();
    await seen(switchOf('Active').and(page.getByRole('switch', { checked: false })));
    expect(JSON.parse(send()).code).toBe('device_inactive');
    const form = page.getByRole('region', { name: 'Connect a SIM' });
    await form.getByRole('textbox', { name: 'Number' }).fill('12');
    await form.getByRole('button', { name: 'Connect SIM' }).click();
    await seen(form.getByText(/E\.164/));
    await form.getByRole('textbox', { name: 'Number' }).fill('+12025550177');
    await form.getByRole('button', { name: 'Connect SIM' }).click();
    const paired = page.getByRole('row').filter({ hasText: '+12025550177' });
    await seen(paired);
    await paired.getByRole('button', { name: 'Remove' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove +12025550177?' });
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await gone(paired);
  },
);

pageTest(
  'AUTH-2 a full key is in the page exactly once, after its creation, and in no other reply',
  {},
  async ({ page, controlUrl, simulator }) => {
    const replies: Promise<string>[] = [];
    page.on('response', (response) => {
      if (!response.url().includes(routeOf('events.stream').path)) replies.push(textOf(response));
    });
    await page.goto(`${controlUrl}/#/accounts/${simulator.accounts.list()[0]?.account_id}`);
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('for the shop');
    await page.getByRole('button', { name: 'Create key' }).click();
    const panel = page.getByRole('alert', { name: 'New key' });
    const key = (await panel.getByText(/^smst_[A-Za-z0-9]{40}$/).textContent()) ?? '';
    const timesInPage = async () => (await page.content()).split(key).length - 1;
    expect(await timesInPage()).toBe(1);
    await seen(page.getByRole('row').filter({ hasText: 'for the shop' }).getByText('smst_'));
    await panel.getByRole('button', { name: 'I have it' }).click();
    await gone(panel);
    expect(await timesInPage()).toBe(0);

    const row = page.getByRole('row').filter({ hasText: 'for the shop' });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await gone(row.getByRole('button', { name: 'Revoke' }));
    await seen(row.getByRole('cell', { name: '2026-01-01 00:00:00.000' }).nth(1));
    for (const name of ['Messages', 'Send', 'Requests', 'Accounts']) {
      await page.getByRole('link', { name, exact: true }).click();
      await seen(page.getByRole('heading', { name, level: 1 }));
    }
    const texts = await Promise.all(replies);
    expect(texts.filter((text) => text.includes(key))).toHaveLength(1);
    const first = simulator.readyFile().accounts.map(({ api_key: own }) => own);
    expect(texts.filter((text) => first.some((own) => text.includes(own)))).toEqual([]);
  },
);

pageTest('Received: a message is injected and listed', {}, async ({ page, controlUrl }) => {
  await page.goto(`${controlUrl}/#/received`);
  await seen(page.getByText('Nothing received yet.'));
  await page.getByRole('combobox', { name: 'To' }).selectOption('+12025550102');
  await page.getByRole('textbox', { name: 'Message' }).fill('hello from outside');
  await page.getByRole('button', { name: 'Inject' }).click();
  const row = page.getByRole('row').filter({ hasText: 'hello from outside' });
  await seen(row.getByText('+12025550102'));
});

pageTest(
  'Limits: buckets empty and fill, refusals are plotted',
  {},
  async ({ page, controlUrl, send }) => {
    await page.goto(`${controlUrl}/#/limits`);
    await seen(page.getByText('No request yet.'));
    const gauge = page.getByRole('meter', { name: 'send of acme: requests left', exact: true });
    // A meter that is drawn at 0 first has no attribute.
    await seen(gauge);
    for (let n = 0; n < 125; n++) send();
    await expect.poll(() => gauge.getAttribute('value')).toBe('0');
    await seen(page.getByText('429 until 2026-01-01 00:01:00.000'));
    await seen(page.getByRole('slider', { name: /^125 requests, 5 of them answered 429/ }));
    await seen(page.locator('.plot canvas'));
    await page.getByRole('button', { name: 'Fill every bucket' }).click();
    await gone(page.getByText('429 until 2026-01-01 00:01:00.000'));
    const tasks = page.getByRole('textbox', { name: 'tasks' });
    await tasks.fill('7');
    await tasks.press('Enter');
    await seen(page.getByRole('row').filter({ hasText: 'acme' }).getByText('of 7'));
  },
);

pageTest(
  'Clock: time is moved by, to, to the next event, until idle, and set running',
  { mayLog: refused },
  async ({ page, controlUrl, send }) => {
    await page.goto(`${controlUrl}/#/clock`);
    const now = page.getByRole('region', { name: 'Clock' }).locator('time').first();
    const shows = (text: string) => expect.poll(() => now.textContent()).toBe(text);
    await page.getByRole('button', { name: 'Advance +24h' }).click();
    await shows('2026-01-02 00:00:00.000');
    const advance = page.getByRole('button', { name: 'Advance', exact: true });
    await page.getByRole('textbox', { name: 'By' }).fill('soon');
    await advance.click();
    await seen(page.getByText(/is not a duration/));
    await page.getByRole('textbox', { name: 'By' }).fill('90s');
    await advance.click();
    await shows('2026-01-02 00:01:30.000');
    await page.getByRole('combobox', { name: 'Advance' }).selectOption('to a time');
    await page.getByRole('textbox', { name: 'To', exact: true }).fill('2026-02-01T00:00:00Z');
    await advance.click();
    await shows('2026-02-01 00:00:00.000');
    send();
    const untilIdle = page.getByRole('button', { name: 'Until idle' });
    const place = (await untilIdle.boundingBox())?.x;
    await page.reload();
    await seen(now);
    await page.getByRole('button', { name: 'Next event' }).click();
    await seen(page.getByRole('status').getByText('1 timer fired: 1 sending.'));
    expect((await untilIdle.boundingBox())?.x, 'a button stays where it is').toBe(place);
    await page.getByRole('button', { name: 'Until idle' }).click();
    await seen(page.getByText('0 timers pending'));
    await page.getByRole('combobox', { name: 'Mode' }).selectOption('scaled');
    await page.getByRole('textbox', { name: 'Rate' }).fill('60');
    await page.getByRole('button', { name: 'Set mode' }).click();
    await seen(page.getByText('scaled ×60'));
    const before = await now.textContent();
    await expect.poll(() => now.textContent()).not.toBe(before);
    await page.getByRole('button', { name: 'Start over' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start over?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await gone(dialog);
    expect(await now.textContent()).not.toBe('2026-01-01 00:00:00.000');
    await page.getByRole('button', { name: 'Start over' }).click();
    await dialog.getByRole('button', { name: 'Start over' }).click();
    await shows('2026-01-01 00:00:00.000');
  },
);

pageTest(
  'Faults and scripted recipients are added, seen to strike, and removed',
  {},
  async ({ page, controlUrl, send, simulator }) => {
    await page.goto(`${controlUrl}/#/faults`);
    const form = page.getByRole('region', { name: 'Add a fault' });
    await seen(page.getByText('No faults are set.'));
    await form.getByRole('combobox', { name: 'Fault' }).selectOption('status: another status');
    await form.getByRole('textbox', { name: 'Status' }).fill('502');
    await form.getByRole('button', { name: 'Add fault' }).click();
    const fault = page.getByRole('row').filter({ hasText: '502 in place' });
    await seen(fault.getByRole('cell', { name: '1st send' }));
    expect(await fault.getByRole('cell', { name: '0', exact: true }).count()).toBe(2);
    send();
    await seen(fault.getByRole('link', { name: '1 Struck' }));
    await seen(fault.getByText('1st send; spent: it cannot strike again'));
    await fault.getByRole('switch', { name: /^Paused of/ }).click();
    await expect.poll(() => simulator.faults.list()[0]?.paused).toBe(true);
    await seen(page.getByRole('button', { name: 'Undo' }));
    await fault.getByRole('link', { name: '1 Struck' }).click();
    const struck = page.getByRole('row').filter({ hasText: 'fault answered 502' });
    await seen(struck);
    expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
    await struck.getByRole('link', { name: 'fault-1' }).click();
    await fault.getByRole('button', { name: 'Remove' }).click();
    await seen(page.getByText('No faults are set.'));
    await page.getByRole('button', { name: 'Undo' }).click();
    await seen(fault);
    expect(simulator.faults.list()).toMatchObject([{ fault_id: 'fault-1', hits: 1 }]);
    await form.getByRole('button', { name: '503 every 10th' }).click();
    await form.getByRole('button', { name: 'Add fault' }).click();
    await seen(page.getByRole('cell', { name: 'every 10th send' }));

    const scripts = page.getByRole('region', { name: 'Add a recipient' });
    await scripts.getByRole('textbox', { name: 'To' }).fill('+1202555017*');
    await scripts.getByRole('combobox', { name: 'In' }).selectOption('sent');
    await scripts.getByRole('button', { name: 'Add recipient' }).click();
    const script = page.getByRole('row').filter({ hasText: '+1202555017*' });
    await seen(script.getByText('fails while sent'));
    send({ to: '+12025550175' });
    await seen(script.getByRole('cell', { name: '1', exact: true }));
    await script.getByRole('button', { name: 'Remove' }).click();
    await gone(script);
  },
);

pageTest(
  'Requests are listed as they come, and filtered',
  { mayLog: /status of 400/ },
  async ({ page, controlUrl, send }) => {
    await page.goto(`${controlUrl}/#/requests`);
    await seen(page.getByText('No request yet.'));
    send();
    send({ from: '+12025550999' });
    await seen(page.getByRole('row').filter({ hasText: 'from_number_not_found' }).getByText('403'));
    await seen(page.getByText('2 requests', { exact: true }));
    const accepted = page
      .getByRole('row')
      .filter({ hasText: '+12025550123' })
      .getByText('202', { exact: true });
    await seen(accepted);
    await page.getByRole('button', { name: '4xx 1' }).click();
    await gone(accepted);
    await seen(page.getByText('1 of 2 requests match'));
    await page.getByRole('combobox', { name: /^to:/ }).fill('acount:acme');
    await seen(page.getByRole('alert').getByText('did you mean `account`?'));
  },
);

pageTest(
  'Rules and assumptions: each is found, an assumption is switched',
  {},
  async ({ page, controlUrl, simulator }) => {
    await page.goto(`${controlUrl}/#/rules`);
    await page.getByRole('combobox', { name: 'limiterRefill' }).selectOption('continuous');
    const row = (name: string) => page.getByRole('row').filter({ hasText: name });
    await seen(row('limiterRefill').getByText('not the default'));
    await seen(row('limiterRefill').getByRole('cell', { name: 'sliding', exact: true }));
    expect(simulator.assumptions.get().limiterRefill).toBe('continuous');
    const refill = page.getByRole('combobox', { name: 'limiterRefill' });
    expect(await refill.textContent()).toContain('sliding (default)');
    const interval = page.getByRole('textbox', { name: 'pollIntervalSeconds' });
    await interval.fill('never');
    await interval.press('Enter');
    await seen(page.getByText(/^expected a whole number from .*; got "never"$/));
    await interval.fill('5');
    await interval.press('Enter');
    await seen(row('pollIntervalSeconds').getByText('not the default'));
    const stated = page.getByRole('region', { name: 'Rules' });
    await page.getByRole('searchbox').fill('send-4');
    await seen(stated.getByRole('row').filter({ hasText: 'SEND-4' }));
    expect(await stated.getByRole('row').count()).toBe(2);
    await page.getByRole('link', { name: 'Home', exact: true }).click();
    await seen(page.getByText('limiterRefill = continuous, pollIntervalSeconds = 5'));
    await page.getByRole('link', { name: 'Not the default: 2 assumptions' }).click();
    await seen(page.getByText('Rules: nothing matches.'));
    for (const name of ['limiterRefill', 'pollIntervalSeconds'])
      await page.getByRole('button', { name: `Reset ${name}` }).click();
    await seen(page.getByText('pollIntervalSeconds is now '));
    await seen(page.getByText('Assumptions: every assumption has its default.'));
  },
);

pageTest(
  'a mistyped number is named next to its field, and nothing is sent',
  {},
  async ({ page, controlUrl, simulator }) => {
    const changes: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') changes.push(`${request.method()} ${request.url()}`);
    });
    const named = (text: string, got: string) =>
      seen(page.locator('.field, td').getByText(`expected ${text}, in plain digits; got "${got}"`));
    const enter = async (name: string, text: string) => {
      const input = page.getByRole('textbox', { name, exact: true });
      await input.fill(text);
      await input.press('Enter');
    };
    await page.goto(`${controlUrl}/#/limits`);
    const limit = 'a whole number from 1 to 1000000';
    for (const typed of ['abc', '1,000', '0x10', '1e3', '-5', '1.5', '0']) {
      await enter('send', typed);
      await named(limit, typed);
    }
    await enter('tasks', 'many');
    await named(limit, '0');
    await named(limit, 'many');
    expect(simulator.limits.get()).toMatchObject({ send: 120, tasks: 60 });

    await page.goto(`${controlUrl}/#/faults`);
    const faults = page.getByRole('region', { name: 'Add a fault' });
    await faults.getByRole('combobox', { name: 'Fault' }).selectOption('delay: the reply is late');
    await faults.getByRole('textbox', { name: 'Ms' }).fill('1s');
    await faults.getByRole('textbox', { name: 'Nth' }).fill('1,,3');
    await faults.getByRole('button', { name: 'Add fault' }).click();
    await named('a whole number from 0 to 600000', '1s');
    await named('a whole number from 1 to 1000000000', '1,,3');
    const scripts = page.getByRole('region', { name: 'Add a recipient' });
    await scripts.getByRole('textbox', { name: 'Polls' }).fill('0x10');
    await scripts.getByRole('button', { name: 'Add recipient' }).click();
    await named('a whole number from 1 to 1000000', '0x10');
    expect(changes).toEqual([]);

    await page.goto(`${controlUrl}/#/clock`);
    await page.getByRole('combobox', { name: 'Mode' }).selectOption('scaled');
    await page.getByRole('textbox', { name: 'Rate' }).fill('1e3');
    await page.getByRole('button', { name: 'Set mode' }).click();
    await named('a number from 0 to 1000000', '1e3');
    expect(changes).toEqual([]);
  },
);

pageTest(
  'Accounts are created, renamed, given a quota and deleted',
  { mayLog: refused },
  async ({ page, controlUrl, simulator }) => {
    await page.goto(`${controlUrl}/#/accounts`);
    await page.getByRole('button', { name: 'Create account' }).click();
    await seen(page.getByText('expected a value for name'));
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('hooli');
    await page.getByRole('textbox', { name: 'Monthly quota', exact: true }).fill('7');
    await page.getByRole('checkbox', { name: 'with a key and a number' }).check();
    await page.getByRole('button', { name: 'Create account' }).click();
    await seen(page.getByRole('alert').getByText(/^smst_[A-Za-z0-9]{40}$/));
    await page.getByRole('row').getByRole('link', { name: 'hooli' }).click();
    const quota = page.getByRole('textbox', { name: 'Monthly quota of hooli' });
    expect(await quota.inputValue()).toBe('7');
    await quota.fill('unlimited');
    await quota.press('Enter');
    const named = (name: string) => simulator.accounts.list().find((each) => each.name === name);
    await expect.poll(() => named('hooli')?.monthly_quota).toBe('unlimited');
    const name = page.getByRole('textbox', { name: 'Name of hooli' });
    await name.fill('hooli xyz');
    await name.press('Enter');
    await page.getByRole('button', { name: 'Delete hooli xyz' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await gone(page.getByRole('button', { name: 'Delete hooli xyz' }));
    expect(named('hooli xyz')).toBeUndefined();
  },
);

pageTest(
  'an address that is not percent-encoded text shows a message that is not there',
  { mayLog: /status of 404/ },
  async ({ page, controlUrl }) => {
    await page.goto(`${controlUrl}/#/messages/%`);
    await seen(page.getByRole('heading', { name: 'Messages', level: 1 }));
    await seen(page.getByRole('complementary').getByRole('alert'));
  },
);

pageTest(
  'the exchange that created a message is reached while it is kept',
  { settings: { noLimits: true } },
  async ({ page, controlUrl, send }) => {
    const { message_id: id } = JSON.parse(
      send({ from: undefined, from_number: '+12025550102', nonce: 7 }),
    );
    await page.goto(`${controlUrl}/#/messages/${id}`);
    await page.getByRole('link', { name: 'Its exchanges' }).click();
    await page.getByRole('row').filter({ hasText: '202' }).getByRole('link').first().click();
    const request = page.getByRole('complementary').getByRole('region', { name: 'Request' });
    await seen(request.getByText('"from_number": "+12025550102"'));
    await seen(request.getByText('"nonce": 7'));
    await seen(request.getByText(/^Bearer smst_.{4}…$/));
    for (let n = 0; n < 1_000; n++) send();
    await page.goto(`${controlUrl}/#/requests?search=message_id%3A${id}`);
    await seen(page.getByText('No request matches.'));
  },
);

pageTest(
  'the plot keeps its axis above a thousand requests a bar',
  { settings: { noLimits: true } },
  async ({ page, controlUrl, send }) => {
    await page.goto(`${controlUrl}/#/messages`);
    await page.getByRole('link', { name: 'Limits', exact: true }).click();
    await seen(page.getByText('No request yet.'));
    for (let n = 0; n < 25_000; n++) send({ to: 'nonsense' });
    const plot = page.getByRole('slider', { name: /^25,000 requests, 0 of them answered 429/ });
    await plot.press('End');
    await expect.poll(() => plot.getAttribute('aria-valuetext')).toContain('acme 25000');
  },
);

pageTest(
  'Referee shows what a client did wrong, and how long it waited',
  { settings: { limits: { send: 1 } } },
  async ({ page, controlUrl, send, simulator }) => {
    await page.goto(`${controlUrl}/#/referee`);
    await seen(page.getByText('No request yet.'));
    send({ request_id: 'order-1' });
    send({ request_id: 'order-2' });
    await seen(page.getByText('2 requests judged. Rules: 0 failed'));
    simulator.clock.advance('3s');
    send({ request_id: 'order-2' });
    const early = page.getByRole('region', { name: 'CLIENT-1', exact: true });
    await seen(early.getByText('failed', { exact: true }));
    await seen(early.getByText('the retry arrived 57.0 s before'));
    await seen(early.getByText('acme, send, requests 2, 3'));

    await early.getByRole('link', { name: 'Timeline of request 3' }).click();
    const detail = page.getByRole('complementary', { name: 'Intent' });
    await seen(detail.getByText('order-2'));
    const attempts = detail.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
    expect(await attempts.count()).toBe(3);
    await seen(attempts.nth(2).getByText('CLIENT-1: the retry arrived 57.0 s before'));
    await seen(attempts.nth(0).getByText('Retry-After: 1 min'));
    await seen(attempts.nth(1).getByText('waited 3 s of 1 min: 57 s too early'));
    await detail.getByRole('link', { name: 'Close' }).click();
    await gone(detail);

    const givenUp = page.getByRole('region', { name: 'CLIENT-9' });
    expect(await givenUp.count()).toBe(0);
    const open = page.getByRole('row').filter({ hasText: 'CLIENT-9' });
    await seen(open.getByText('1 more finding if finished'));
    await seen(open.getByText('open', { exact: true }));
    await page.getByRole('checkbox', { name: /^Judge as finished/ }).check();
    await seen(givenUp.getByText('the message was given up after a 429'));
    await page.getByRole('link', { name: 'Home', exact: true }).click();
    const now = page.getByRole('listitem').filter({ hasText: 'CLIENT-1' });
    await seen(now.getByText('1 finding: The client waits at least Retry-After'));
    await page.getByRole('link', { name: 'Referee', exact: true }).click();
    await page.getByRole('button', { name: 'Clear record' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Clear record' }).click();
    await seen(page.getByText('No request yet.'));
  },
);

pageTest(
  'a retry under a new id after a lost reply is found from Home, and its ids lead to the sends',
  { settings: { limits: { send: 2 } } },
  async ({ page, controlUrl, simulator, send }) => {
    const ids = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
    simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
    for (const id of ids) send({ request_id: id });
    await page.goto(`${controlUrl}/#/referee`);
    await seen(page.getByText('2 requests judged. Rules: 0 failed'));
    await page.goto(`${controlUrl}/#/home`);
    await seen(page.getByText('CLIENT-5: one message accepted twice'));
    const box = page.getByRole('checkbox', { name: /^Judge as finished/ });
    await page.getByRole('link', { name: '0 rules broken so far' }).click();
    await seen(page.getByText('open: fails if the client has finished: CLIENT-3, CLIENT-5'));
    expect(await box.isChecked()).toBe(false);
    await page.getByRole('button', { name: 'Judge as finished' }).click();
    await expect.poll(() => box.isChecked()).toBe(true);
    await page.getByRole('link', { name: 'Home', exact: true }).click();
    await page.getByRole('link', { name: '0 rules broken so far' }).click();
    await expect.poll(() => box.isChecked()).toBe(false);
    await page.getByRole('link', { name: 'Home', exact: true }).click();
    await page.getByRole('link', { name: '2 rules broken (2 findings) if the' }).click();
    await expect.poll(() => box.isChecked()).toBe(true);
    await page
      .getByRole('region', { name: 'CLIENT-3' })
      .getByText(ids[0] ?? '')
      .click();
    await seen(page.getByText('1 of 2 requests match'));
    await page.getByRole('link', { name: 'Referee', exact: true }).click();
    await expect.poll(() => box.isChecked()).toBe(true);
    const messages = page.getByRole('region', { name: 'CLIENT-5' }).getByRole('link');
    await messages
      .filter({ hasText: /^[0-9a-f-]{36}$/ })
      .first()
      .click();
    await seen(page.getByRole('complementary', { name: 'Message' }));
    await page.goto(`${controlUrl}/#/referee`);
    await seen(page.getByText('Request 1, to +12025550123: ').first());
    await page.goto(`${controlUrl}/#/requests/2`);
    await seen(page.getByText(/^Before: request 1, .* earlier.* its reply was lost$/));
    await page.getByRole('link', { name: 'Home', exact: true }).click();
    send();
    await seen(page.getByText(/^answered 429 until/));
    simulator.clock.advance('61s');
    await seen(page.getByText('free again since 00:01:00'));
  },
);

pageTest(
  'Referee says why there are no verdicts, and which request is not recorded',
  { mayLog: /Failed to load resource/ },
  async ({ page, controlUrl }) => {
    await page.goto(`${controlUrl}/#/referee/abc`);
    await seen(page.getByRole('alert').filter({ hasText: 'expected a whole number' }));
    await page.goto(`${controlUrl}/#/referee/7`);
    await seen(page.getByRole('alert').filter({ hasText: 'the record has no request 7' }));
    await page.route('**/control/referee?*', (route) => route.abort());
    await page.reload();
    await seen(page.getByRole('alert').filter({ hasText: 'The simulator does not answer.' }));
  },
);

pageTest(
  'Worlds are created, shown apart from each other, forked and deleted',
  // The page compares two worlds, and may ask once more for the one that was just deleted.
  { mayLog: /404/ },
  async ({ page, controlUrl, send, simulator }) => {
    send({ message: 'in the first world' });
    await page.goto(`${controlUrl}/#/worlds`);
    await page.getByLabel('Name').fill('checkout');
    await page.getByRole('button', { name: 'Create world' }).click();
    const created = page.getByRole('alert', { name: 'New world' });
    await seen(created.getByText(/\/w\/\w+$/));
    expect(await created.getByText(/^smst_[A-Za-z0-9]{40}$/).count()).toBe(3);
    await page.getByRole('link', { name: 'checkout' }).click();
    await page.getByRole('link', { name: 'Messages' }).click();
    await seen(page.getByText('No messages yet.'));
    const [world] = simulator.worlds.list();
    const own = simulator.hostedWorlds.get(world?.world_id ?? '')?.simulator;
    sendBy(own as Simulator, 0, { message: 'in the other world' });
    await seen(page.getByText('in the other world'));
    await page.getByRole('combobox', { name: 'World' }).selectOption('default');
    await seen(page.getByText('in the first world'));
    await gone(page.getByText('in the other world'));
    await page.getByRole('link', { name: 'Worlds' }).click();
    await page.getByRole('button', { name: 'Fork checkout' }).click();
    await expect.poll(() => simulator.worlds.list().length).toBe(2);
    await page.getByRole('button', { name: 'Delete checkout' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await gone(page.getByRole('row').filter({ hasText: 'checkout' }));
    expect(simulator.worlds.list()).toHaveLength(1);
  },
);
