/** The log of requests, and requests that a user makes through the control port. */
import { expect, test } from 'vitest';
import { servicePaths } from '#contract/routes.ts';
import { requestTo } from '#verify/testkit/twin/request.ts';
import { Twin } from '#verify/testkit/twin/twin.ts';

test('a reset empties the log of requests, and their numbers go on', async () => {
  const { call, send, simulator } = new Twin();
  send({});
  await call('POST', '/control/reset');
  expect((await call('GET', '/control/requests')).json).toEqual({ requests: [] });
  send({});
  expect(simulator.requests.list().map(({ number }) => number)).toEqual([2]);
  expect((await call('GET', '/control/requests/1')).status).toBe(404);
});

test('a body that is an object is refused with what was expected', async () => {
  const { call } = new Twin();
  const body = { method: 'POST', path: '/api/v1/sms/send/', body: { to: '+12025550123' } };
  const { status, json } = await call('POST', '/control/accounts/acme/requests', body);
  expect(status).toBe(400);
  expect(json.error.path).toBe('body');
  expect(json.error.message).toContain('expected the body as a text');
});

test('a 401 names what was wrong with its key, of which it shows the start', async () => {
  const { simulator } = new Twin();
  const [{ account_id: id = '' } = {}] = simulator.accounts.list();
  const { key, key_id: keyId } = simulator.accounts.createKey(id, { name: 'old' });
  simulator.accounts.revokeKey(keyId);
  const unknownKey = 'Bearer smst_Ab12cd34ef56gh78';
  const mistyped = `Bearer ${key}x`;
  const sentences = [undefined, unknownKey, `Bearer ${key}`, mistyped].map(
    (authorization, index) => {
      const request = requestTo(servicePaths.stats);
      simulator.handle(authorization === undefined ? request : { ...request, authorization });
      return simulator.requests.get(index + 1).why;
    },
  );
  const [none, unknown, revoked, alike] = sentences;
  expect(none).toBe('no key: it has no Authorization header');
  expect([unknown, revoked]).toEqual(['unknown key smst_Ab12…', 'revoked key of acme']);
  expect(alike).toBe(`unknown key ${key.slice(0, 9)}…, which begins like acme's key old`);
  await simulator.close();
});

test('a request names its neighbours, what was sent after its fault, and what spent its limit', () => {
  const { simulator, send } = new Twin({ limits: { send: 2 } });
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_request' } });
  send({ request_id: 'order-1' });
  simulator.clock.advance('1s');
  send({ message: 'another' });
  send({ request_id: 'order-2' });
  send({ message: 'another' });
  const after = '1 s later: same recipient and text, new request_id order-2: 202';
  expect(simulator.requests.get(1)).toMatchObject({
    previous: null,
    next: { number: 2, status: 202, is_lost: false },
    why: expect.stringMatching(/ on 1st request$/),
    afterwards: { number: 3, sentence: after },
  });
  expect(simulator.requests.get(4)).toMatchObject({
    previous: { number: 3, status: 202 },
    next: null,
    afterwards: { number: null, sentence: 'no further request for this' },
    why: 'send of acme: 2 of 2 passed since 00:00:01',
  });
  const before = '1 s earlier, same recipient and text, request_id order-1, its reply was lost';
  expect(simulator.requests.trace({ number: 3 }).before).toEqual({ number: 1, sentence: before });
  expect(simulator.requests.trace({ number: 1 }).before).toBeNull();
});

test('a request that a fault answered says why, and that it and its repetition have no request_id', () => {
  const { simulator, send } = new Twin();
  const { fault_id: id } = simulator.faults.add({
    match: { endpoint: 'send' },
    when: { every: 2 },
    fault: { kind: 'status', status: 503 },
  });
  for (const message of ['first', 'second']) send({ message });
  simulator.clock.advance('199151ms');
  send({ message: 'second' });
  expect(simulator.requests.get(2)).toMatchObject({
    why: 'fault answered 503 on every 2nd send',
    afterwards: {
      number: 3,
      sentence: '3 min 19 s later: same recipient and text, both without a request_id: 202',
    },
  });
  simulator.faults.remove(id);
  expect(simulator.requests.get(2).why).toBe('fault answered 503');
});
