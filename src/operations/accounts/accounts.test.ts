/** Accounts by name, and their quotas. */
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { Twin } from '#verify/testkit/twin/twin.ts';

test('a path takes the name of an account in place of its id', async () => {
  const { call, simulator } = new Twin({
    world: { accounts: [{ name: 'R & D/1' }], pool: [] },
  });
  const [account] = simulator.accounts.list();
  expect((await call('GET', '/control/accounts/R%20%26%20D%2F1')).json).toEqual(account);
  const created = await call('POST', '/control/accounts/R%20%26%20D%2F1/keys', { name: 'new' });
  expect(created.status).toBe(201);
});

test('ERR-1 an account shows the quota in force', async () => {
  const { simulator } = new Twin({ assumptions: { monthlyQuota: 7 } });
  const [{ account_id: id } = { account_id: '' }] = simulator.accounts.list();
  const quotas = () => {
    const { monthly_quota: own, effective_monthly_quota: inForce } = simulator.accounts.get(id);
    return [own, inForce];
  };
  expect(quotas()).toEqual([null, 7]);
  simulator.accounts.patch(id, { monthly_quota: 3 });
  expect(quotas()).toEqual([3, 3]);
});

test('ERR-1 without limits no quota is in force', () => {
  const { simulator } = new Twin({ noLimits: true, assumptions: { monthlyQuota: 7 } });
  expect(simulator.accounts.list()[0]?.effective_monthly_quota).toBe('unlimited');
});

test('ERR-1 null leaves the quota to the assumption: created, patched or in a world', () => {
  const world = { accounts: [{ name: 'acme', monthly_quota: null }], pool: [] };
  const { simulator } = new Twin({ world, assumptions: { monthlyQuota: 7 } });
  const created = simulator.accounts.create({ name: 'globex', monthly_quota: null });
  const patched = simulator.accounts.create({ name: 'hooli', monthly_quota: 1 });
  simulator.accounts.patch(patched.account_id, { monthly_quota: null });
  expect(created.effective_monthly_quota).toBe(7);
  expect(
    simulator.accounts.list().map((each) => [each.monthly_quota, each.effective_monthly_quota]),
  ).toEqual([
    [null, 7],
    [null, 7],
    [null, 7],
  ]);
});

test('a fault takes the name of an account, and refuses one that is not there', async () => {
  const { call, simulator } = new Twin();
  const fault = { when: { every: 2 }, fault: { kind: 'refuse' } };
  const made = await call('POST', '/control/faults', { ...fault, match: { account_id: 'acme' } });
  expect(made.json.match.account_id).toBe(simulator.accounts.list()[0]?.account_id);
  const { status, json } = await call('POST', '/control/faults', {
    ...fault,
    match: { account_id: 'acmee' },
  });
  expect([status, json.error.path]).toEqual([400, 'match.account_id']);
});

test('AUTH-2 the keys of all accounts are listed with their account, without a full key', async () => {
  const { call, simulator } = new Twin();
  const [first, second] = simulator.accounts.list();
  const { key_id: id } = simulator.accounts.createKey(second?.account_id ?? '', { name: 'shop' });
  simulator.accounts.revokeKey(id);
  const { json } = await call('GET', '/control/keys');
  expect(json.keys).toHaveLength(4);
  expect(json.keys[0]).toEqual({
    ...simulator.accounts.keys(first?.account_id ?? '')[0],
    account_id: first?.account_id,
    sha256: hash('sha256', simulator.readyFile().accounts[0]?.api_key ?? ''),
  });
  expect(json.keys[2]).toMatchObject({ key_id: id, account_id: second?.account_id, name: 'shop' });
  expect(json.keys[2].revoked_at).not.toBeNull();
  const whole = simulator.readyFile().accounts.map((account) => account.api_key);
  expect(whole.filter((key) => JSON.stringify(json).includes(key))).toEqual([]);
});
