/** Pausing a fault: it neither counts nor acts, also after a snapshot and in a replayed journal. */
import { expect, test } from 'vitest';
import { Twin } from '#verify/testkit/twin/twin.ts';

test('a paused fault neither counts requests nor acts on them, until it goes on', async () => {
  const { call, send, simulator } = new Twin();
  simulator.faults.add({ when: { every: 1 }, fault: { kind: 'status', status: 503 } });
  const { json } = await call('PATCH', '/control/faults/fault-1', { paused: true });
  expect(json).toMatchObject({ fault_id: 'fault-1', paused: true });
  expect(send().status).toBe(202);
  expect(simulator.faults.list()).toMatchObject([{ seen: 0, hits: 0, paused: true }]);
  simulator.faults.patch('fault-1', { paused: false });
  expect(send().status).toBe(503);
  expect(simulator.faults.list()).toMatchObject([{ seen: 1, hits: 1, paused: false }]);
});

test('a snapshot keeps whether a fault is paused', () => {
  const { send, simulator } = new Twin();
  for (const status of [500, 503])
    simulator.faults.add({ when: { every: 1 }, fault: { kind: 'status', status } });
  simulator.faults.patch('fault-1', { paused: true });
  simulator.snapshots.restore(JSON.parse(JSON.stringify(simulator.snapshots.take())));
  expect(simulator.faults.list()).toMatchObject([{ paused: true }, { paused: false }]);
  expect(send().status).toBe(503);
});

test('an unknown fault is 404, and a missing field 400', async () => {
  const { call } = new Twin();
  expect((await call('PATCH', '/control/faults/fault-9', { paused: true })).status).toBe(404);
});
