import { expect, test } from 'vitest';
import { createSimulator, type Simulator } from '../simulator.ts';
import { wrongSimulation } from './all.ts';

async function wrong(name: string): Promise<Simulator> {
  const simulation = wrongSimulation(name);
  expect(simulation).toBeDefined();
  return createSimulator({ clock: 'manual' }, { simulation });
}

function stats(simulator: Simulator): string {
  return simulator.handle({
    method: 'GET',
    path: '/api/v1/account/stats/',
    query: '',
    authorization: undefined,
    contentType: undefined,
    clientIp: '192.0.2.1',
    forwardedFor: undefined,
    body: '',
  }).body;
}

test('a defect in requests or replies persists after a reset', async () => {
  const simulator = await wrong('right-spelling-invalid-key');
  expect(stats(simulator)).toContain('"auth_invalid_key"');
  simulator.reset();
  expect(stats(simulator)).toContain('"auth_invalid_key"');
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
  const one = await wrong('auth-missing-code');
  const other = await wrong('limit-119');
  expect(JSON.parse(stats(one))).not.toHaveProperty('code');
  expect(JSON.parse(stats(other))).toHaveProperty('code', 'auth_invalid_keyy');
  await Promise.all([one.close(), other.close()]);
});
