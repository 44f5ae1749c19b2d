/**
 * The referee on a running simulator: its record, the operations, and the same verdicts from the
 * journal of the run.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { referee as command } from '#cli/referee/referee.ts';
import { checkpointTaken } from '#verify/testkit/journal-files.ts';
import { bearer, postTo, requestTo, sendPaths } from '#verify/testkit/twin/request.ts';
import { plainRequest, sendBy, Twin } from '#verify/testkit/twin/twin.ts';
import { controlApi } from '../../control/control-api.ts';
import { type SettingsInput, Simulator } from '../../simulator.ts';

function simulatorWith(settings: SettingsInput = {}): Simulator {
  return new Simulator({ clock: 'manual', limits: { send: 1 }, ...settings });
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-referee-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function verdictsOf({ rules }: { readonly rules: readonly { id: string; verdict: string }[] }) {
  return Object.fromEntries(rules.map(({ id, verdict }) => [id, verdict]));
}

/** The report on the journal of a simulator's run, as the command writes it. */
function offline(simulator: Simulator, ...flags: string[]) {
  return judged(simulator.journalText(), ...flags);
}

function judged(text: string, ...flags: string[]) {
  return judgedFile('run.ndjson', text, ...flags);
}

async function judgedFile(name: string, text: string, ...flags: string[]) {
  const folder = temporaryFolder();
  const [traffic, report] = [join(folder, name), join(folder, 'report.json')];
  writeFileSync(traffic, text);
  const io = { out: () => {}, error: () => {}, env: {}, version: '1' };
  await command([traffic, '--report', `json=${report}`, ...flags], io);
  return JSON.parse(readFileSync(report, 'utf8'));
}

function earlyRetry(simulator: Simulator): void {
  sendBy(simulator, 0, { request_id: 'a', message: 'One' });
  sendBy(simulator, 0, { request_id: 'b', message: 'Two' });
  simulator.clock.advance('59999ms');
  sendBy(simulator, 0, { request_id: 'b', message: 'Two' });
  simulator.clock.advance('1ms');
  sendBy(simulator, 0, { request_id: 'b', message: 'Two' });
}

test('GET /control/referee judges the run so far', async () => {
  const { simulator, call } = new Twin({ limits: { send: 1 } });
  earlyRetry(simulator);
  const { status, json } = await call('GET', '/control/referee');
  expect(status).toBe(200);
  expect(json).toMatchObject({ unattributable: 0, exchanges: 4 });
  expect(json.rules).toHaveLength(17);
  expect(json.rules[0]).toMatchObject({ id: 'CLIENT-1', level: 'must', verdict: 'failed' });
  expect(json.rules[0].findings[0]).toMatchObject({
    endpoint: 'send',
    what: expect.stringContaining('0.001 s before the 429 allowed it (Retry-After: 60)'),
    exchanges: [2, 3],
  });
  expect(json).toEqual(JSON.parse(JSON.stringify(simulator.referee())));
});

test('a long report lets other requests in between, and leaves them out', async () => {
  const { simulator, call } = new Twin({ limits: {} });
  for (let n = 0; n < 3_000; n++) sendBy(simulator, 0, { request_id: `id-${n}` });
  const alone = simulator.referee();
  // Two other questions, so that no kept report answers this one.
  for (const partial of [true, false]) simulator.referee({ strict: true, partial });
  let turns = 0;
  let next = setImmediate(function turn() {
    if (++turns === 2) sendBy(simulator, 0, { request_id: 'meanwhile' });
    next = setImmediate(turn);
  });
  const { json } = await call('GET', '/control/referee');
  clearImmediate(next);
  expect(turns).toBeGreaterThan(2);
  expect(json).toEqual(alone);
});

test('the report of the journal is the live report', async () => {
  const simulator = simulatorWith();
  earlyRetry(simulator);
  expect(await offline(simulator)).toEqual(simulator.referee());
});

test('a run that goes on from its journal has the record that it had', async () => {
  const journal = join(temporaryFolder(), 'run.ndjson');
  const settings = { clock: 'manual', limits: { send: 1 } } as const;
  const first = new Simulator(settings, { journal });
  earlyRetry(first);
  const before = first.referee();
  await first.close();
  const second = new Simulator(settings, { journal });
  onTestFinished(() => second.close());
  expect(second.referee()).toEqual(before);
});

test('a run that goes on from a checkpoint is judged as a partial record', async () => {
  const journal = join(temporaryFolder(), 'run.ndjson');
  const first = new Simulator({ clock: 'manual' }, { journal, journalMaxBytes: 2 });
  sendBy(first, 0, { request_id: 'a' });
  await checkpointTaken(journal, 1);
  await first.close();
  const second = new Simulator({ clock: 'manual' }, { journal });
  onTestFinished(() => second.close());
  expect(second.referee().notices[0]?.what).toContain('begins at a checkpoint');
  second.referee.restart();
  expect(second.referee()).not.toHaveProperty('notice');
});

test('DELETE /control/referee begins the record anew, in the journal too', async () => {
  const { simulator, call } = new Twin({ limits: { send: 1 } });
  earlyRetry(simulator);
  expect((await call('DELETE', '/control/referee')).status).toBe(204);
  expect(simulator.referee()).toMatchObject({ exchanges: 0 });
  sendBy(simulator, 0, { request_id: 'c', message: 'Three' });
  const live = simulator.referee();
  expect(live).toMatchObject({ exchanges: 1 });
  expect(await offline(simulator)).toEqual(live);
});

test('a reset begins the record anew, as does a restored snapshot', () => {
  const simulator = simulatorWith();
  earlyRetry(simulator);
  const snapshot = JSON.parse(JSON.stringify(simulator.snapshots.take()));
  simulator.reset();
  expect(simulator.referee().exchanges).toBe(0);
  sendBy(simulator, 0, {});
  simulator.snapshots.restore(snapshot);
  expect(simulator.referee().exchanges).toBe(0);
});

test('each world has a record of its own, a fork too', () => {
  const simulator = simulatorWith();
  earlyRetry(simulator);
  const { world_id: forked } = simulator.worlds.fork('default');
  const { world_id: made } = simulator.worlds.create({});
  for (const id of [forked, made]) {
    const world = simulator.hostedWorlds.get(id)?.simulator;
    expect(world?.referee().exchanges).toBe(0);
    sendBy(world as Simulator, 0, { request_id: 'x' });
    expect(world?.referee().exchanges).toBe(1);
  }
  expect(simulator.referee().exchanges).toBe(4);
});

test('a record that is full keeps nothing more, says so, and is judged as partial', () => {
  const bound = { exchanges: 2, characters: 1_000_000 };
  const simulator = new Simulator({ clock: 'manual' }, { recordBound: bound });
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'status', status: 503 } });
  for (const id of ['a', 'b', 'c']) sendBy(simulator, 0, { request_id: id });
  const report = simulator.referee();
  expect(report.exchanges).toBe(2);
  expect(report.notices[0]?.what).toContain('only the first 2 requests are judged');
  expect(verdictsOf(report)['CLIENT-9']).toBe('not_exercised');
});

test('the record is also bounded by characters', () => {
  const bound = { exchanges: 10, characters: 2_000 };
  const simulator = new Simulator({ clock: 'manual' }, { recordBound: bound });
  for (const id of ['a', 'b']) sendBy(simulator, 0, { request_id: id, message: 'x'.repeat(900) });
  expect(simulator.referee().exchanges).toBe(1);
});

test('?account, ?partial, ?strict and ?grace', async () => {
  const { simulator, call } = new Twin({ limits: { send: 1 } });
  sendBy(simulator, 0, { message: 'One' });
  sendBy(simulator, 0, { request_id: 'b', message: 'Two' });
  simulator.clock.advance('5s');
  sendBy(simulator, 0, { request_id: 'c', message: 'Three' });
  sendBy(simulator, 1, { request_id: 'd' });
  const of = async (query: string) => (await call('GET', `/control/referee${query}`)).json;
  expect(verdictsOf(await of(''))).toMatchObject({
    'CLIENT-2': 'advice',
    'CLIENT-4': 'advice',
    'CLIENT-9': 'failed',
  });
  expect(verdictsOf(await of('?partial=true'))).toMatchObject({ 'CLIENT-9': 'not_exercised' });
  expect(verdictsOf(await of('?strict=true'))).toMatchObject({ 'CLIENT-4': 'failed' });
  expect(verdictsOf(await of('?grace=6s'))).toMatchObject({ 'CLIENT-2': 'passed' });
  expect(await of('?account=globex')).toMatchObject({ exchanges: 1 });
  expect(await of('?account=initech')).toMatchObject({ exchanges: 0 });
  expect(await call('GET', '/control/referee?account=nemo')).toMatchObject({ status: 400 });
  expect(await call('GET', '/control/referee?grace=soon')).toMatchObject({ status: 400 });
});

test('?details adds the exchanges and the intents', () => {
  const simulator = simulatorWith();
  earlyRetry(simulator);
  const { details } = simulator.referee({ details: true });
  expect(details?.exchanges[1]).toMatchObject({
    number: 2,
    account: 'acme',
    endpoint: 'send',
    path: sendPaths.send,
    request_id: 'b',
    status: 429,
    retry_after: '60',
    seen: true,
  });
  expect(details?.intents).toMatchObject([
    { request_id: 'a', accepted: 1, exchanges: [1] },
    { request_id: 'b', accepted: 1, exchanges: [2, 3, 4] },
  ]);
});

test('CLIENT-10 POST /control/referee takes what the client reported', async () => {
  const { simulator, call } = new Twin();
  sendBy(simulator, 0, { request_id: 'a' });
  const said = { intent: 'one', to: '+12025550123', from: '+12025550101', message: 'Hello' };
  const report = async (intents: readonly unknown[]) =>
    verdictsOf((await call('POST', '/control/referee', { intents })).json)['CLIENT-10'];
  expect(await report([{ ...said, request_id: 'a', reported: 'accepted' }])).toBe('passed');
  expect(await report([{ ...said, request_id: 'a', reported: 'failed' }])).toBe('failed');
});

test('CLIENT-10 what was reported last of an intent counts, live as in an intents file', async () => {
  const { simulator, call } = new Twin();
  sendBy(simulator, 0, { request_id: 'a' });
  const said = { intent: 'one', to: '+12025550123', from: '+12025550101', message: 'Hello' };
  const intents = [
    { ...said, reported: 'failed' },
    { ...said, reported: 'accepted' },
    { ...said, reported: 'accepted' },
  ];
  const { json } = await call('POST', '/control/referee', { intents });
  expect(verdictsOf(json)['CLIENT-10']).toBe('passed');
});

test('a delayed reply that the client did not wait for is unseen, live and in the journal', async () => {
  const simulator = simulatorWith({ limits: {}, clock: 'real' });
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'delay', ms: 60_000 } });
  const apiKey = simulator.readyFile().accounts[0]?.api_key;
  const abort = new AbortController();
  const body = { to: '+12025550123', from: '+12025550101', message: 'Hi', request_id: 'a' };
  const init = {
    method: 'POST',
    headers: { authorization: bearer(apiKey), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const url = `https://sms.example${sendPaths.send}`;
  const first = simulator.fetch(url, { ...init, signal: abort.signal });
  while (simulator.exchangeRecord.total === 0)
    await new Promise((resolve) => setImmediate(resolve));
  abort.abort();
  await expect(first).rejects.toThrow();
  expect(verdictsOf(simulator.referee())['CLIENT-9']).toBe('failed');
  expect(simulator.journalText()).toContain('"ended":1,"seen":false');
  expect(await offline(simulator)).toEqual(simulator.referee());
  await simulator.fetch(url, init);
  expect(verdictsOf(simulator.referee())['CLIENT-9']).toBe('passed');
  expect(await offline(simulator)).toEqual(simulator.referee());
  await simulator.close();
});

test.each(['hyperexpress', 'node'] as const)(
  'on %s a client that leaves before a delayed reply has not seen it, one that waits has',
  async (transport) => {
    const simulator = simulatorWith({ limits: {}, clock: 'real' });
    const { baseUrl } = await simulator.listen({ transport });
    onTestFinished(() => simulator.close());
    const delayed = (nth: number, ms: number) =>
      simulator.faults.add({ when: { nth: [nth] }, fault: { kind: 'delay', ms } });
    delayed(1, 60_000);
    delayed(2, 20);
    const url = `${baseUrl}/api/v1/account/stats/`;
    const abort = new AbortController();
    const first = fetch(url, { signal: abort.signal });
    while (simulator.exchangeRecord.total === 0)
      await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    await expect(first).rejects.toThrow();
    while (!simulator.journalText().includes('"ended":1,"seen":false'))
      await new Promise((resolve) => setImmediate(resolve));
    await (await fetch(url)).text();
    const [left, waited] = simulator.referee({ details: true }).details?.exchanges ?? [];
    expect(left).toMatchObject({ number: 1, seen: false });
    expect(waited).toMatchObject({ number: 2, seen: true });
    const tookMs = Date.parse(waited?.answered_at ?? '') - Date.parse(waited?.at ?? '');
    expect(tookMs).toBeGreaterThanOrEqual(19);
    expect(await offline(simulator)).toEqual(simulator.referee());
  },
);

test('CLIENT-1 a request that came before a delayed 429 had left is not a retry of it', () => {
  const simulator = simulatorWith();
  sendBy(simulator, 0, { request_id: 'first', message: 'One' });
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'delay', ms: 3_000 } });
  sendBy(simulator, 0, { request_id: 'a' });
  simulator.clock.advance('2s');
  sendBy(simulator, 0, { request_id: 'a' });
  simulator.clock.advance('60s');
  sendBy(simulator, 0, { request_id: 'a' });
  expect(verdictsOf(simulator.referee())['CLIENT-1']).toBe('passed');
});

const hexOf = (character: string) => character.charCodeAt(0).toString(16);
const percentOf = (key: string) => key.replaceAll(/[a-z]/g, (one) => `%${hexOf(one)}`);
const escapeOf = (key: string) => key.replaceAll(/[A-Z_]/g, (one) => `\\u00${hexOf(one)}`);

test.each(['query', 'path', 'body', 'message', 'escaped query', 'escaped path', 'escaped message'])(
  'CLIENT-16 a key in the %s is found, and it does not leave by the control port',
  async (where) => {
    const { simulator } = new Twin();
    const { control } = controlApi(simulator, { host: '127.0.0.1', token: undefined });
    const key = simulator.readyFile().accounts[0]?.api_key ?? '';
    const own = { authorization: bearer(key), clientIp: '127.0.0.1' };
    const send = { to: '+12025550123', from: '+12025550101', message: 'Hello', request_id: 'a' };
    const written = postTo(sendPaths.send, { ...send, message: key }, own);
    const requests = {
      query: requestTo('/api/v1/sms/received/', { query: `api_key=${key}`, clientIp: '1.1.1.1' }),
      path: requestTo(`/api/v1/sms/${key}/`, own),
      body: postTo(sendPaths.send, { ...send, api_key: key }, own),
      message: postTo(sendPaths.send, { ...send, message: `it is ${key}!` }, own),
      'escaped query': requestTo('/api/v1/sms/received/', {
        query: `api_key=${percentOf(key)}`,
        clientIp: '1.1.1.1',
      }),
      'escaped path': requestTo(`/api/v1/sms/${percentOf(key)}/`, own),
      'escaped message': { ...written, body: String(written.body).replace(key, escapeOf(key)) },
    };
    const events: unknown[] = [];
    simulator.activity.listen('request', (event) => events.push(event));
    simulator.handle(requests[where as keyof typeof requests]);
    const report = simulator.referee({ details: true });
    expect(verdictsOf(report)['CLIENT-16']).toBe('failed');
    const paths = ['requests', 'requests/1', 'messages', 'snapshot', 'journal', 'referee'];
    const left = paths.map((path) => control({ ...plainRequest, path: `/control/${path}` }));
    const held = [report, events, ...(await Promise.all(left))];
    expect(JSON.stringify(held)).not.toContain(key);
    const { details, ...rest } = report;
    expect(await offline(simulator)).toEqual(rest);
    const journal = await control({ ...plainRequest, path: '/control/journal' });
    expect(await judged('content' in journal ? String(journal.content) : '')).toEqual(rest);
  },
);

test('a request has one number in the report and in the list, also after the record starts anew', async () => {
  const { simulator, call } = new Twin({ limits: { send: 1 } });
  sendBy(simulator, 0, { request_id: 'before' });
  await call('DELETE', '/control/referee');
  simulator.clock.advance('60s');
  earlyRetry(simulator);
  const { json } = await call('GET', '/control/referee?details=true');
  expect(json.rules[0].findings[0].exchanges).toEqual([3, 4]);
  for (const number of json.details.exchanges.map((each: { number: number }) => each.number)) {
    expect(simulator.requests.get(number)).toMatchObject({
      number,
      status: number === 2 || number === 5 ? 202 : 429,
    });
  }
  await simulator.close();
});

test('CLIENT-15 a 400 that a fault chose is not the fault of the body', () => {
  const simulator = simulatorWith({ limits: {} });
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'status', status: 400 } });
  sendBy(simulator, 0, { request_id: 'a' });
  expect(verdictsOf(simulator.referee())['CLIENT-15']).toBe('passed');
  sendBy(simulator, 0, { request_id: 'b', to: 'no number' });
  expect(verdictsOf(simulator.referee())['CLIENT-15']).toBe('advice');
});

test('CLIENT-16 a body with a key keeps its other bytes, UTF-8 or not', () => {
  const simulator = simulatorWith({ limits: {} });
  const key = simulator.readyFile().accounts[0]?.api_key ?? '';
  const send = (message: string, encoding: BufferEncoding) => {
    const fields = { to: '+12025550123', from: '+12025550101', message, key };
    const own = { authorization: bearer(key) };
    const body = Buffer.from(JSON.stringify(fields), encoding);
    return simulator.handle({ ...postTo(sendPaths.send, {}, own), body }).status;
  };
  expect(send('Grüße, 你好', 'utf8')).toBe(202);
  expect(simulator.messages.list()[0]?.message).toBe('Grüße, 你好');
  expect(send('Grüße', 'latin1')).toBe(400);
});

test('CLIENT-16 a request_id that is a key comes back unchanged, and is known again', () => {
  const simulator = simulatorWith({ limits: {} });
  const key = simulator.readyFile().accounts[0]?.api_key ?? '';
  const first = sendBy(simulator, 0, { request_id: key });
  expect(JSON.parse(first.body)).toMatchObject({ request_id: key });
  const again = sendBy(simulator, 0, { request_id: key });
  expect(again).toMatchObject({ status: 200, body: first.body });
});

test('CLIENT-16 a key of a world file is found; a text that looks like a key is not', async () => {
  const key = 'team-key-of-acme';
  const accounts = [
    { name: 'acme', keys: [{ name: 'own', key }], sims: [{ number: '+12025550101' }] },
  ];
  const simulator = new Simulator({ clock: 'manual', world: { accounts } });
  sendBy(simulator, 0, {
    message: 'no key, team-key-of-acm, and 0123456789abcdef0123456789abcdef',
  });
  expect(verdictsOf(simulator.referee())['CLIENT-16']).toBe('passed');
  sendBy(simulator, 0, { message: `"${key}"` });
  expect(verdictsOf(simulator.referee())['CLIENT-16']).toBe('failed');
  expect(verdictsOf(await offline(simulator))['CLIENT-16']).toBe('failed');
});

test('CLIENT-1 --retry-after real counts the seconds of the client on a scaled clock', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const simulator = simulatorWith({ clock: 'scaled', rate: 60, retryAfterSeconds: 'real' });
  onTestFinished(() => simulator.close());
  sendBy(simulator, 0, { request_id: 'a', message: 'One' });
  const { headers } = sendBy(simulator, 0, { request_id: 'b', message: 'Two' });
  expect(headers).toMatchObject({ 'retry-after': '1' });
  simulator.clock.advance('30s');
  sendBy(simulator, 0, { request_id: 'b', message: 'Two' });
  const [rule] = simulator.referee({ partial: true }).rules;
  expect(rule?.findings[0]?.what).toMatch(
    /^the retry arrived 30\.0 s before the 429 allowed it \(Retry-After: 1\)/,
  );
});

test.each([
  [429, 'CLIENT-1'],
  [503, 'CLIENT-17'],
])(
  'a %d with a date as Retry-After asks for a wait, live, in a journal and in a HAR file',
  async (status, rule) => {
    const { simulator, call } = new Twin({ limits: {} });
    const headers = { 'Retry-After': new Date(simulator.clock.now() + 44_000).toUTCString() };
    simulator.faults.add({ when: { nth: [1, 4] }, fault: { kind: 'status', status, headers } });
    for (const id of ['a', 'b']) {
      sendBy(simulator, 0, { request_id: id });
      simulator.clock.advance('40s');
      sendBy(simulator, 0, { request_id: id });
      simulator.clock.advance('4s');
      sendBy(simulator, 0, { request_id: id });
    }
    const live = simulator.referee();
    const { json: har } = await call('GET', '/control/har');
    const reports = [
      live,
      await offline(simulator),
      await judgedFile('run.har', JSON.stringify(har)),
    ];
    for (const { rules } of reports) {
      const { findings } = rules.find(({ id }: { id: string }) => id === rule);
      expect(findings.map(({ exchanges }: { exchanges: number[] }) => exchanges)).toEqual([[1, 2]]);
    }
  },
);

test('CLIENT-1 an unauthenticated 429 covers its address', async () => {
  const simulator = simulatorWith({ limits: { received: 1 } });
  const get = (clientIp: string) =>
    simulator.handle(requestTo('/api/v1/sms/received/', { clientIp })).status;
  expect([get('192.0.2.1'), get('192.0.2.1'), get('192.0.2.2')]).toEqual([401, 429, 401]);
  simulator.clock.advance('10s');
  expect(get('192.0.2.1')).toBe(429);
  expect(get('192.0.2.2')).toBe(429);
  const report = simulator.referee();
  const [rule] = report.rules;
  expect(rule?.findings.map(({ exchanges, account_id }) => [exchanges, account_id])).toEqual([
    [[2, 4], null],
  ]);
  expect(await offline(simulator)).toEqual(report);
});

test.each(['send', 'dashboard_send', 'external_send'] as const)(
  'the intents of %s are judged as any',
  (endpoint) => {
    const simulator = new Simulator({ clock: 'manual', limits: { [endpoint]: 1 } });
    const key = simulator.readyFile().accounts[0]?.api_key;
    const send = (id: string) =>
      simulator.handle(
        postTo(
          sendPaths[endpoint],
          { to: '+12025550123', from: '+12025550101', message: id, request_id: id },
          { authorization: bearer(key) },
        ),
      );
    for (const id of ['a', 'b', 'b']) send(id);
    expect(verdictsOf(simulator.referee())).toMatchObject({
      'CLIENT-1': 'failed',
      'CLIENT-9': 'failed',
    });
  },
);

test('one request_id on two endpoints is one intent, and two for two accounts', () => {
  const simulator = new Simulator({ clock: 'manual' });
  const [acme, globex] = simulator.readyFile().accounts;
  const send = (path: keyof typeof sendPaths, account: typeof acme) =>
    simulator.handle(
      postTo(
        sendPaths[path],
        {
          to: '+12025550123',
          from: account?.sims[0]?.number,
          message: 'Hello',
          request_id: 'a',
        },
        { authorization: bearer(account?.api_key) },
      ),
    );
  send('send', acme);
  send('external_send', acme);
  send('send', globex);
  const { details, rules } = simulator.referee({ details: true });
  expect(details?.intents.map(({ exchanges }) => exchanges)).toEqual([[1, 2], [3]]);
  expect(rules.flatMap(({ findings }) => findings)).toEqual([]);
});

test.each([
  ['+12025550161', 'passed'],
  ['+12025550163', 'passed'],
  ['+12025550123', 'failed'],
])(
  'CLIENT-10 a message to %s that was reported as failed: %s, at any time, live and offline',
  async (to, verdict) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const simulator = simulatorWith({ clock: 'scaled', rate: 60 });
    onTestFinished(() => simulator.close());
    const from = simulator.readyFile().accounts[0]?.sims[0]?.number ?? '';
    sendBy(simulator, 0, { to, from, request_id: 'a', message: 'One' });
    const report = { intent: 'one', to, from, message: 'One', request_id: 'a', reported: 'failed' };
    const file = join(temporaryFolder(), 'intents.jsonl');
    writeFileSync(file, JSON.stringify(report));
    for (const seconds of [0, 10]) {
      vi.setSystemTime(Date.now() + seconds * 1_000);
      const live = simulator.referee({ intents: [{ ...report, reported: 'failed' }] });
      expect(verdictsOf(live)['CLIENT-10']).toBe(verdict);
      expect(await offline(simulator, '--intents', file)).toEqual(live);
    }
  },
);

test('a clock that jumps determines the reply', () => {
  const simulator = simulatorWith();
  sendBy(simulator, 0, { request_id: 'a', message: 'One' });
  sendBy(simulator, 0, { request_id: 'b', message: 'Two' });
  simulator.clock.advance('2d');
  sendBy(simulator, 0, { request_id: 'b', message: 'Two' });
  expect(simulator.referee().rules.flatMap(({ findings }) => findings)).toEqual([]);
});

test('CLIENT-8 another content type makes another request, live and from the journal', async () => {
  const simulator = simulatorWith({ limits: {} });
  const { accounts } = simulator.readyFile();
  const send = (type: string) =>
    simulator.fetch('http://x/api/v1/sms/send/', {
      method: 'POST',
      headers: { authorization: `Bearer ${accounts[0]?.api_key}`, 'content-type': type },
      body: '{"to":"1"}',
    });
  for (const type of ['text/plain', 'application/json']) await send(type);
  expect(verdictsOf(simulator.referee())['CLIENT-8']).toBe('passed');
  await send('application/json');
  expect(verdictsOf(simulator.referee())['CLIENT-8']).toBe('advice');
  expect(verdictsOf(await offline(simulator))['CLIENT-8']).toBe('advice');
});
