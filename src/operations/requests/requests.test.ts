/**
 * The log of requests, and requests that a user makes through the control port.
 */
import { expect, test } from 'vitest';
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

test('a request names its neighbours, what was sent after its fault, and what spent its limit', () => {
  const { simulator, send } = new Twin({ limits: { send: 2 } });
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_request' } });
  send({ request_id: 'order-1' });
  simulator.clock.advance('1s');
  send({ message: 'another' });
  send({ request_id: 'order-2' });
  send({ message: 'another' });
  const after = '1.0 s later: same recipient and text, new request_id order-2: 202';
  expect(simulator.requests.get(1)).toMatchObject({
    previous: null,
    next: { number: 2, status: 202 },
    why: null,
    afterwards: { number: 3, sentence: after },
  });
  expect(simulator.requests.get(4)).toMatchObject({
    previous: { number: 3, status: 202 },
    next: null,
    afterwards: null,
    why: 'send of acme: 2 of 2 passed since 00:00:01',
  });
});
