/** SIMs and pool numbers that come and go while the service runs. */
import { expect, test } from 'vitest';
import { Twin } from '#verify/testkit/twin/twin.ts';

test('all SIMs are listed, those of the pool too, and each can be read alone', async () => {
  const { call, simulator } = new Twin();
  const { json } = await call('GET', '/control/sims');
  expect(json.sims).toHaveLength(simulator.state().sims);
  const [first] = json.sims;
  expect((await call('GET', `/control/sims/${first.device_id}`)).json).toEqual(first);
});

test('STATE-4 removing a SIM fails its unfinished messages and keeps all of them', async () => {
  const { call, send, simulator } = new Twin();
  const body = JSON.parse(send({}).body);
  expect((await call('DELETE', `/control/sims/${body.device_id}`)).status).toBe(204);
  expect(simulator.messages.get(body.message_id)).toMatchObject({
    status: 'failed',
    failure_reason: 'sim_removed',
    device_id: body.device_id,
  });
  expect((await call('GET', `/control/sims/${body.device_id}`)).status).toBe(404);
  expect(simulator.invariants().broken).toEqual([]);
});

test('AUTH-4 a removed number is unknown, and can be paired anew as another SIM', () => {
  const { send, simulator } = new Twin();
  const [account] = simulator.accounts.list();
  const [sim] = simulator.sims.list(account?.account_id ?? '');
  const number = sim?.number ?? '';
  simulator.sims.delete(sim?.device_id ?? '');
  expect(JSON.parse(send({ from: number }).body).code).toBe('from_number_not_found');
  const paired = simulator.sims.create(account?.account_id ?? '', { number });
  expect(paired.device_id).not.toBe(sim?.device_id);
  expect(send({ from: number }).status).toBe(202);
});

test('a snapshot holds a removed SIM as long as a message names it', () => {
  const { send, simulator } = new Twin();
  const { device_id: id, message_id: messageId } = JSON.parse(send({}).body);
  simulator.sims.delete(id);
  const other = new Twin().simulator;
  other.snapshots.restore(JSON.parse(JSON.stringify(simulator.snapshots.take())));
  expect(other.messages.get(messageId)).toEqual(simulator.messages.get(messageId));
  expect(other.sims.all()).toEqual(simulator.sims.all());
  expect(other.invariants().broken).toEqual([]);
});

test('a SIM whose messages may not fail is not removed, and nothing changes', async () => {
  const { call, send, simulator } = new Twin({ assumptions: { failsFrom: ['sending'] } });
  const { device_id: id, message_id: messageId } = JSON.parse(send({}).body);
  const { status, json } = await call('DELETE', `/control/sims/${id}`);
  expect([status, json.error.code]).toEqual([409, 'conflict']);
  expect(json.error.message).toContain('is queued and cannot fail');
  expect(simulator.messages.get(messageId).status).toBe('queued');
});

test('SVC-1 numbers join and leave the shared pool at run time', async () => {
  const { call, simulator } = new Twin();
  const added = await call('POST', '/control/pool', { number: '+12025550198' });
  expect(added).toMatchObject({ status: 201, json: { account_id: null } });
  const { device_id: id } = added.json;
  expect(simulator.sims.pool().map((sim) => sim.device_id)).toContain(id);
  expect((await call('DELETE', `/control/pool/${id}`)).status).toBe(204);
  expect(simulator.sims.pool().map((sim) => sim.device_id)).not.toContain(id);
});

test('a SIM of an account is not a pool number', async () => {
  const { call, send } = new Twin();
  const { device_id: id } = JSON.parse(send({}).body);
  expect((await call('DELETE', `/control/pool/${id}`)).status).toBe(404);
});

test('the inbound messages of all accounts are listed together, newest first', async () => {
  const { call, simulator } = new Twin();
  const [acme, globex] = simulator.accounts.list();
  const receive = (id: string | undefined, to: string, message: string) => {
    simulator.sims.receive(id ?? '', { from: 'Bank', to, message });
    simulator.clock.advance('1s');
  };
  receive(acme?.account_id, '+12025550101', 'first');
  receive(globex?.account_id, '+12025550111', 'second');
  receive(acme?.account_id, '+12025550102', 'third');
  const { json } = await call('GET', '/control/received?limit=2');
  expect(json.received).toMatchObject([
    { message: 'third', account_id: acme?.account_id },
    { message: 'second', account_id: globex?.account_id },
  ]);
});
