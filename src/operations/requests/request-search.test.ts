/** Which requests a search finds, what marks a row, and the one number of a request. */
import { expect, test } from 'vitest';
import { sendBy, Twin } from '#verify/testkit/twin/twin.ts';

test.each([
  ['', [5, 4, 3, 2, 1]],
  ['to:+12025550164', [2]],
  ['status:403', [3]],
  ['status:2xx', [5, 4, 2, 1]],
  ['request_id:order-1', [4, 1]],
  ['account:globex', [5]],
  ['account:acme status:200', [4]],
  ['endpoint:send from_number_not_found', [3]],
  ['HELLO-THERE', [2]],
  ['key:smst_', [5, 4, 3, 2, 1]],
  ['key:""', []],
  ['from:+12025550999', [3]],
  ['from:+12025550111', [5]],
  ['is:replay', [4]],
  ['"hello there"', []],
  ['"message":"hello-there', [2]],
  ['since:2026-01-01T00:00:00Z', [5, 4, 3, 2, 1]],
  ['until:2026-01-01T00:00:00Z', []],
  ['to:+12025550164 status:403', []],
])('the search "%s" finds the requests %j', async (search, numbers) => {
  const { call, send, simulator } = new Twin();
  send({ request_id: 'order-1' });
  send({ to: '+12025550164', message: 'hello-there' });
  send({ from: '+12025550999' });
  send({ request_id: 'order-1' });
  sendBy(simulator, 1, {});
  const { json } = await call('GET', `/control/requests?search=${encodeURIComponent(search)}`);
  expect(json.requests.map(({ number }: { number: number }) => number)).toEqual(numbers);
});

test('a value with blanks is in quotes, and finds that account', async () => {
  const { call, simulator } = new Twin();
  const { account_id: id } = simulator.accounts.create({ name: 'my client' });
  const { key } = simulator.accounts.createKey(id, { name: 'k' });
  const stats = { method: 'GET', path: '/api/v1/account/stats/', query: '', body: '' };
  const from = { clientIp: '127.0.0.1', forwardedFor: undefined, contentType: undefined };
  simulator.handle({ ...stats, ...from, authorization: `Bearer ${key}` });
  const search = encodeURIComponent('account:"my client"');
  const { json } = await call('GET', `/control/requests?search=${search}`);
  expect(json.requests).toMatchObject([{ number: 1, account: 'my client' }]);
});

test.each([
  ['acount:acme', 'no word `acount`: did you mean `account`?'],
  ['xyzzy:1', 'no word `xyzzy`; the words are to, from, status'],
  ['__proto__:1', 'no word `__proto__`'],
  ['status:abc', '`abc` is not a status'],
  ['status:4', '`4` is not a status'],
  ['since:yesterday', '"yesterday" is not a time'],
  ['until:00:03:00', '"00:03:00" is not a time'],
  ['endpoint:sned', 'no endpoint `sned`: did you mean `send`?'],
  ['fault:lost_respons', 'no fault `lost_respons`: did you mean `lost_response`?'],
  ['is:replayed', 'no mark `replayed`: did you mean `replay`?'],
])('the search "%s" is refused with 400', async (search, message) => {
  const { call } = new Twin();
  const asked = encodeURIComponent(search);
  for (const path of ['/control/requests', '/control/requests/found']) {
    const { status, json } = await call('GET', `${path}?search=${asked}`);
    expect([status, json.error.path]).toEqual([400, 'search']);
    expect(json.error.message).toContain(message);
  }
});

test('what a fault struck is found by its id, its kind and its mark, and is counted', () => {
  const { simulator } = new Twin({ limits: { send: 4 } });
  const first = simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
  simulator.faults.add({ when: { nth: [2] }, fault: { kind: 'malformed' } });
  const third = simulator.faults.add({ when: { nth: [3] }, fault: { kind: 'delay', ms: 10 } });
  for (let n = 0; n < 5; n++) sendBy(simulator, 0, { request_id: 'order-1' });
  const find = (search: string) => simulator.requests.list({ search }).map(({ number }) => number);
  expect(find('fault:any')).toEqual([3, 2, 1]);
  expect(find(`fault:${first.fault_id}`)).toEqual([1]);
  expect(find('fault:malformed')).toEqual([2]);
  expect(find(`fault:delay fault:${third.fault_id}`)).toEqual([3]);
  expect(find('is:lost')).toEqual([1]);
  expect(find('is:throttled')).toEqual([5]);
  expect(simulator.requests.found({ search: 'is:replay' })).toEqual({
    matched: 3,
    kept: 5,
    marks: { replay: 3, lost: 1, throttled: 1, faults: 3, refused: 1 },
  });
});

test('a row says what the request was: its subject, the wait of a 429, what a replay repeats', () => {
  const { simulator, send } = new Twin({ limits: { send: 2 } });
  send({ request_id: 'order-1', message: 'x'.repeat(200) });
  send({ request_id: 'order-1' });
  send({});
  const [throttled, replay, accepted] = simulator.requests.list();
  expect(accepted).toMatchObject({ account: 'acme', to: '+12025550123', from: '+12025550101' });
  expect(accepted).toMatchObject({ text: 'x'.repeat(160), request_id: 'order-1', repeats: null });
  expect(accepted?.key).toMatch(/^smst_/);
  expect(replay).toMatchObject({ is_replay: true, repeats: 1, retry_after_s: null });
  expect(throttled).toMatchObject({ retry_after_s: 60, retry_at: '2026-01-01T00:01:00.000Z' });
});

test('the journal and HAR hold the fault and what a replay repeats', () => {
  const { simulator, send } = new Twin();
  const { fault_id: id } = simulator.faults.add({
    when: { nth: [2] },
    fault: { kind: 'lost_response' },
  });
  send({ request_id: 'order-1' });
  send({ request_id: 'order-1' });
  const { entries } = simulator.requests.har().log;
  expect(entries.map(({ _smstwin: own }) => own)).toMatchObject([
    { fault_id: null, fault: null, repeats: null },
    { fault_id: id, fault: 'lost_response', repeats: 1 },
  ]);
  const lines = simulator.journalText().trimEnd().split('\n');
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    fault_id: id,
    fault: 'lost_response',
    repeats: 1,
  });
});

test('a row names the fault that struck it, and a replay', () => {
  const { simulator, send } = new Twin();
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
  simulator.faults.add({ when: { nth: [3] }, fault: { kind: 'status', status: 503 } });
  for (let n = 0; n < 3; n++) send({ request_id: 'order-1' });
  const rows = simulator.requests
    .list()
    .map(({ status, is_replay: is, fault }) => [status, is, fault]);
  expect(rows).toEqual([
    [503, false, { fault_id: 'fault-2', kind: 'status', status: 503, delay_ms: null, cut: null }],
    [200, true, null],
    [
      202,
      false,
      { fault_id: 'fault-1', kind: 'lost_response', status: null, delay_ms: null, cut: 'close' },
    ],
  ]);
  expect(simulator.requests.get(2)).toMatchObject({ to: '+12025550123', request_id: 'order-1' });
});

test('a request has the same number on its page and in the findings, after a reset, too', () => {
  const { simulator, send } = new Twin({ limits: { send: 1 } });
  const early = () => {
    send({ request_id: 'order-1' });
    send({ request_id: 'order-2' });
    send({ request_id: 'order-2' });
    const { rules } = simulator.referee();
    return rules.find(({ id }) => id === 'CLIENT-1')?.findings[0]?.exchanges;
  };
  expect(early()).toEqual([2, 3]);
  simulator.reset();
  expect(early()).toEqual([5, 6]);
  expect(simulator.requests.list().map(({ number }) => number)).toEqual([6, 5, 4]);
});
