import { expect, test } from 'vitest';
import { Twin } from '#verify/testkit/twin/twin.ts';

const body = '{"to":"+12025550123","from":"+12025550101","message":"hi"}';
const send = { method: 'POST', path: '/api/v1/sms/send/', body };

test('AUTH-2 a request is made with a key of the account, and shown without it', async () => {
  const { call, simulator } = new Twin();
  const [account] = simulator.readyFile().accounts;
  const made = await call('POST', `/control/accounts/${account?.account_id}/requests`, send);
  expect(made.status).toBe(200);
  expect(made.json).toMatchObject({ request: { method: 'POST', body }, reply: { status: 202 } });
  expect(JSON.parse(made.json.reply.body).status).toBe('queued');
  expect(JSON.stringify(made.json)).not.toContain(account?.api_key);
  expect(simulator.requests.list()[0]).toMatchObject({ endpoint: 'send', status: 202 });
  await simulator.close();
});

test('without a key that is not revoked there is no request; a fault on the way is reported', async () => {
  const { call, simulator } = new Twin();
  const [account] = simulator.accounts.list();
  const path = `/control/accounts/${account?.account_id}/requests`;
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'lost_response' } });
  expect((await call('POST', path, send)).json.fault).toMatchObject({
    delay_ms: null,
    cut: 'close',
  });
  for (const { key_id: id } of simulator.accounts.keys(account?.account_id ?? ''))
    simulator.accounts.revokeKey(id);
  expect((await call('POST', path, send)).status).toBe(409);
  await simulator.close();
});

test('the ledger, the pool, the buckets and the hits of fates are shown', async () => {
  const { call, send: sendOne, simulator } = new Twin();
  sendOne({ to: '+12025550163' });
  const hits = (await call('GET', '/control/outcomes/hits')).json.hits;
  const { outcomes } = simulator.outcomes.get();
  expect(hits[outcomes.findIndex(({ to }) => to === '+12025550163')]).toBe(1);
  expect((await call('GET', '/control/pool')).json.sims).toMatchObject([
    { number: '+12025550190', account_id: null, queue_length: 0 },
  ]);
  const { buckets } = (await call('GET', '/control/limits/buckets')).json;
  expect(buckets[0]).toMatchObject({ endpoint: 'send', limit: 120, available: 119 });
  const { assumptions } = (await call('GET', '/control/assumptions/ledger')).json;
  expect(assumptions[0]).toMatchObject({ name: 'limiterRefill', default: 'sliding' });
  expect((await call('GET', '/control/messages?search=0163')).json.messages).toHaveLength(1);
  expect((await call('GET', '/control/messages?search=0164')).json.messages).toEqual([]);
  await simulator.close();
});
