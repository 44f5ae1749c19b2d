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
  const near = (number: number, requestId: string | null, status = 202) => ({
    ...{ number, at: '2026-01-01T00:00:01.000Z', status, request_id: requestId },
  });
  expect(simulator.requests.get(1)).toMatchObject({
    ...{ previous: null, next: near(2, null), sent_again: near(3, 'order-2'), spent: null },
  });
  const since = '2026-01-01T00:00:01.000Z';
  expect(simulator.requests.get(4)).toMatchObject({
    ...{ previous: near(3, 'order-2'), next: null, sent_again: null },
    spent: { limit: 2, count: 2, since },
  });
});
