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
