import { expect, test } from 'vitest';
import { acmeNumber, Twin, unknownNumber } from '#verify/testkit/twin/twin.ts';
import {
  keyPrefix,
  mostAccountNames,
  mostAccounts,
  mostDevices,
  mostKeys,
  mostSims,
} from './account.ts';

test('AUTH-2 a key has the name its user chose, is shown whole once, and afterwards only by its first letters', () => {
  const twin = new Twin();
  const key = twin.simulation.world.createKey(twin.account(), 'my laptop');
  expect(key).toMatchObject({ name: 'my laptop', createdAtMs: twin.now(), revokedAtMs: undefined });
  expect(key.key).toMatch(/^smst_[A-Za-z0-9]{40}$/);
  expect(keyPrefix(key)).toBe(key.key.slice(0, 9));
});

test('AUTH-2 keyFormat: the prefix of the keys made from now on; those made before stay valid', () => {
  const twin = new Twin();
  const before = twin.key();
  twin.simulation.assume({ keyFormat: 'live-' });
  const key = twin.simulation.world.createKey(twin.account(), 'second');
  expect(key.key).toMatch(/^live-[A-Za-z0-9]{40}$/);
  expect(twin.simulation.world.validKey(before)?.key).toBe(before);
});

test('AUTH-2 at most half of a short key from a world file is shown', () => {
  const twin = new Twin({
    world: { accounts: [{ name: 'acme', keys: [{ name: 'k', key: 'secret' }] }] },
  });
  const [key] = twin.account().keys;
  expect(key && keyPrefix(key)).toBe('sec');
});

test('AUTH-3 a revoked key is not valid, and keeps the time of its first revocation', () => {
  const twin = new Twin();
  const { world } = twin.simulation;
  const key = world.createKey(twin.account(), 'second');
  world.revokeKey(key);
  const revokedAtMs = twin.now();
  twin.advance(1_000);
  world.revokeKey(key);
  expect(world.validKey(key.key)).toBeUndefined();
  expect(key.revokedAtMs).toBe(revokedAtMs);
});

test('RES-2 every id of a world is its own', () => {
  const twin = new Twin();
  const { world } = twin.simulation;
  const ids = [...world.accounts.keys(), ...world.keys.keys(), ...world.devices.keys()];
  for (let i = 0; i < 50; i++) {
    for (const sender of ['acme', 'globex'] as const) {
      const from = sender === 'acme' ? acmeNumber : '+12025550111';
      ids.push(String(twin.sendAs(sender, { from }).json['message_id']));
    }
  }
  expect(ids).toHaveLength(110);
  expect(new Set(ids).size).toBe(ids.length);
});

test('a name, a number and a key stand once in a world', () => {
  const twin = new Twin();
  const { world } = twin.simulation;
  expect(() => world.createAccount('acme')).toThrow('the account name acme is in use');
  expect(() => world.createSim(twin.account(), acmeNumber, {})).toThrow('belongs to a SIM already');
  expect(() => world.createKey(twin.account(), 'x', twin.key('globex'))).toThrow(
    'this key is in use',
  );
  expect(twin.account().devices).toHaveLength(2);
});

test('AUTH-3 a deleted account is gone with its keys, numbers and messages, and its name may be used again', () => {
  const twin = new Twin();
  const { world } = twin.simulation;
  const [account, key, message] = [twin.account(), twin.key(), twin.accepted()];
  world.deleteAccount(account);
  expect(world.validKey(key)).toBeUndefined();
  expect(world.deviceByNumber(acmeNumber)).toBeUndefined();
  expect(world.messages.get(message.messageId)).toBeUndefined();
  const again = world.createAccount('acme');
  const newKey = world.createKey(again, 'default');
  world.createSim(again, acmeNumber, {});
  expect(again.accountId).not.toBe(account.accountId);
  expect(newKey.key).not.toBe(key);
  expect(world.validKey(newKey.key)?.account).toBe(again);
});

test('RES-2 no name, used again, draws the ids of another name', () => {
  const twin = new Twin();
  const { world } = twin.simulation;
  const ids = new Set<string>();
  for (let life = 0; life < 3; life++) {
    for (const name of ['a', 'a:1', 'a:2', '1:a', 'a:ids', 'again:1:a']) {
      const account = world.createAccount(name);
      ids.add(account.accountId);
      world.deleteAccount(account);
    }
  }
  expect(ids.size).toBe(18);
});

test('SVC-1 an account with the same seed and name is the same in every world, next to any other accounts', () => {
  const alone = new Twin({
    world: { accounts: [{ name: 'globex', sims: [{ number: unknownNumber }] }] },
  });
  const among = new Twin({
    world: {
      accounts: [
        { name: 'acme', sims: [{ number: acmeNumber }] },
        { name: 'globex', sims: [{ number: unknownNumber }] },
      ],
    },
  });
  expect(alone.key('globex')).toBe(among.key('globex'));
  expect(alone.device(unknownNumber).deviceId).toBe(among.device(unknownNumber).deviceId);
  expect(alone.device(unknownNumber).firstPollAtMs).toBe(among.device(unknownNumber).firstPollAtMs);
});

test('the keys of an account are bounded, revoked ones included, and so are its SIMs', () => {
  const twin = new Twin();
  const { world } = twin.simulation;
  const account = twin.account();
  const [key] = account.keys;
  const [device] = account.devices;
  if (key === undefined || device === undefined) throw new Error('acme has a key and a SIM');
  world.revokeKey(key);
  while (account.keys.length < mostKeys) account.keys.push(key);
  while (account.devices.length < mostSims) account.devices.push(device);
  const before = account.ids.state;
  expect(() => world.createKey(account, 'one more')).toThrow(
    'there are 1000 keys of this account already',
  );
  expect(() => world.createSim(account, unknownNumber, {})).toThrow(
    'there are 10000 SIMs of this account already',
  );
  expect(account.ids.state).toEqual(before);
});

test('the names of deleted accounts are bounded: a known one may be used again, a new one not', () => {
  const twin = new Twin();
  const { world } = twin.simulation;
  const names = Array.from({ length: mostAccountNames - 3 }, (_, n) => [`name ${n}`, 1] as const);
  const recent = ['acme', 'globex', 'initech'].map((name) => [name, 1] as const);
  world.restoreCounters({ ...world.counters, names: [...recent, ...names] });
  world.deleteAccount(world.createAccount('name 7'));
  expect(() => world.createAccount('a new name')).toThrow(
    'there are 100000 account names since the last reset already',
  );
});

test('accounts are bounded', () => {
  const twin = new Twin();
  const { world } = twin.simulation;
  const account = twin.account();
  for (let n = world.accounts.size; n < mostAccounts; n++) world.accounts.set(`${n}`, account);
  expect(() => world.createAccount('one more')).toThrow('there are 10000 accounts already');
});

test('the SIMs of all accounts are bounded', () => {
  const twin = new Twin();
  const { world } = twin.simulation;
  const [device] = world.devices.values();
  if (device === undefined) throw new Error('acme has a SIM');
  for (let n = world.devices.size; n < mostDevices; n++) world.devices.set(`${n}`, device);
  expect(() => world.createSim(twin.account(), unknownNumber, {})).toThrow(
    'there are 100000 SIMs already',
  );
});
