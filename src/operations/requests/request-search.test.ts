/**
 * Which requests a search finds, what marks a row, and the one number of a request.
 */
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
  ['key:', []],
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

test('a row names the fault that struck it, and a replay', () => {
  const { simulator, send } = new Twin();
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
  simulator.faults.add({ when: { nth: [3] }, fault: { kind: 'status', status: 503 } });
  for (let n = 0; n < 3; n++) send({ request_id: 'order-1' });
  const rows = simulator.requests
    .list()
    .map(({ status, is_replay: is, fault }) => [status, is, fault]);
  expect(rows).toEqual([
    [503, false, { status: 503, delay_ms: null, cut: null }],
    [200, true, null],
    [202, false, { status: null, delay_ms: null, cut: 'close' }],
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
