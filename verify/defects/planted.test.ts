/** A planted defect lasts over a reset, and stays in its own simulator. */
import { expect, test } from 'vitest';
import { Simulator } from '#src/simulator.ts';
import { wrongSimulation } from './catalogue.ts';

async function wrong(name: string): Promise<Simulator> {
  const simulation = wrongSimulation(name);
  expect(simulation).toBeDefined();
  return new Simulator({ clock: 'manual' }, { simulation });
}

function stats(simulator: Simulator) {
  return simulator.handle({
    method: 'GET',
    path: '/api/v1/account/stats/',
    query: '',
    authorization: undefined,
    contentType: undefined,
    clientIp: '192.0.2.1',
    forwardedFor: undefined,
    body: '',
  });
}

test('a defect in requests or replies persists after a reset', async () => {
  const simulator = await wrong('right-spelling-invalid-key');
  expect(stats(simulator).body).toContain('"auth_invalid_key"');
  simulator.reset();
  expect(stats(simulator).body).toContain('"auth_invalid_key"');
  await simulator.close();
});

test('a defect in a part persists after a reset, and operations work on it', async () => {
  const simulator = await wrong('quota-minus-one');
  simulator.reset();
  const { world } = simulator.simulation;
  const [account] = world.accounts.values();
  expect(account).toBeDefined();
  if (account === undefined) return;
  simulator.accounts.patch(account.accountId, { monthly_quota: 5 });
  expect(world.quotaOf(account)).toBe(4);
  await simulator.close();
});

test('two simulators in one process each have their own defect', async () => {
  const one = await wrong('missing-key-403');
  const other = await wrong('limit-119');
  expect([stats(one).status, stats(other).status]).toEqual([403, 401]);
  await Promise.all([one.close(), other.close()]);
});
