import { expect, test } from 'vitest';
import { mistakeLine } from '#io/mistakes.ts';
import { mostAccounts, mostKeys, mostSims } from '../sim/accounts/account.ts';
import { mostOutcomes } from '../sim/devices/outcomes.ts';
import { mistakesInSettings } from './given-assumptions.ts';
import { worldSchema } from './world-schema.ts';

function mistakes(world: unknown): string[] {
  const reading = worldSchema.safeParse(world, { reportInput: true });
  return reading.success ? [] : mistakesInSettings(reading.error).map(mistakeLine);
}

const sim = { number: '+12025550101' };

test('only names and numbers are required', () => {
  expect(worldSchema.parse({ accounts: [{ name: 'a' }] })).toEqual({
    accounts: [{ name: 'a', keys: [{ name: 'default' }], sims: [] }],
    pool: [],
    outcomes: [],
    assumptions: {},
    limits: {},
  });
});

test('an account may have no key at all', () => {
  expect(worldSchema.parse({ accounts: [{ name: 'a', keys: [] }] }).accounts[0]?.keys).toEqual([]);
});

test.each([
  ['a quota', { accounts: [{ name: 'a', monthly_quota: 0 }] }],
  ['no quota', { accounts: [{ name: 'a', monthly_quota: 'unlimited' }] }],
  ['a key', { accounts: [{ name: 'a', keys: [{ name: 'k', key: 'aZ0_.~+/=-' }] }] }],
  ['a wildcard', { outcomes: [{ to: '+1202*01*', ends: 'failed', in: 'sent' }] }],
  ['any recipient', { outcomes: [{ to: '+*', ends: 'stuck', in: 'queued', polls: 2 }] }],
  ['a place for its schema', { $schema: './world.schema.json' }],
])('a world may state %s', (_, world) => {
  expect(mistakes(world)).toEqual([]);
});

test.each([
  [{ accounts: [{}] }, 'accounts[0].name: is missing: expected a string'],
  [{ accounts: [{ name: '' }] }, 'accounts[0].name: expected at least 1 character; got ""'],
  [{ accounts: {} }, 'accounts: expected a list; got an object'],
  [{ acounts: [] }, 'acounts: this key is not known here'],
  [{ accounts: [{ name: 'a', quota: 1 }] }, 'accounts[0].quota: this key is not known here'],
  [
    { accounts: [{ name: 'a', monthly_quota: 1.5 }] },
    'accounts[0].monthly_quota: expected a whole number from 0 to 1000000000, or "unlimited"; ' +
      'got 1.5',
  ],
  [
    { accounts: [{ name: 'a', sims: [{ number: 12025550101 }] }] },
    'accounts[0].sims[0].number: expected a string, in quotes; got 12025550101',
  ],
  [
    { accounts: [{ name: 'a', sims: [{ ...sim, polling: 'no' }] }] },
    'accounts[0].sims[0].polling: expected one of "simulated", "external"; got "no"',
  ],
  [
    { accounts: [{ name: 'a', sims: [sim] }], pool: [sim] },
    'pool[0].number: duplicate number, first used at accounts[0].sims[0].number',
  ],
  [
    { accounts: [{ name: 'a' }, { name: 'a' }] },
    'accounts[1].name: duplicate account name, first used at accounts[0].name',
  ],
  [
    { outcomes: [{ to: '+1', ends: 'failed' }] },
    'outcomes[0].in: is missing: expected one of "queued", "sending", "sent"',
  ],
  [
    { outcomes: [{ to: '+1', ends: 'delivered', in: 'sent' }] },
    'outcomes[0].in: this key is not known here',
  ],
  [
    { outcomes: [{ to: '+1', ends: 'stuck', in: 'delivered' }] },
    'outcomes[0].in: expected one of "queued", "sending", "sent"; got "delivered"',
  ],
  [
    { outcomes: [{ to: '+1', ends: 'lost' }] },
    'outcomes[0].ends: expected one of "delivered", "failed", "stuck", "refused"',
  ],
  [
    { outcomes: [{ to: '+1', refuse: 'quota' }] },
    'outcomes[0].refuse: expected one of "quota_exceeded", "from_number_not_found", ' +
      '"from_number_access_deniedd", "device_inactive", "throttled"; got "quota"',
  ],
  [
    { outcomes: [{ to: '+1', ends: 'delivered', refuse: 'throttled' }] },
    'outcomes[0].refuse: this key is not known here',
  ],
  [
    { outcomes: [{ to: '12*', ends: 'delivered' }] },
    'outcomes[0].to: expected an E.164 number, in which "*" matches any digits, such as ' +
      '"+1202555016*"; got "12*"',
  ],
  [
    { outcomes: [{ to: '+1', ends: 'delivered', polls: 0 }] },
    'outcomes[0].polls: expected a whole number from 1 to 1000000; got 0',
  ],
])('world %j is refused: %s', (world, line) => {
  expect(mistakes(world)).toEqual([line]);
});

test('AUTH-2 a key that a bearer header cannot carry is refused and not quoted', () => {
  const [line] = mistakes({ accounts: [{ name: 'a', keys: [{ name: 'k', key: 'se cret' }] }] });
  expect(line).toMatch(/^accounts\[0\]\.keys\[0\]\.key: expected 1 to 200 characters/);
  expect(line).not.toContain('se cret');
});

test('AUTH-2 a duplicate key is refused across accounts and not quoted', () => {
  const keys = [{ name: 'k', key: 'secret' }];
  expect(
    mistakes({
      accounts: [
        { name: 'a', keys },
        { name: 'b', keys },
      ],
    }),
  ).toEqual(['accounts[1].keys[0].key: duplicate key, first used at accounts[0].keys[0].key']);
});

test('duplicates are reported together with other mistakes', () => {
  expect(mistakes({ accounts: [{ name: 'a', sims: [sim, sim] }], pool: 3 })).toEqual([
    'pool: expected a list; got 3',
    'accounts[0].sims[1].number: duplicate number, first used at accounts[0].sims[0].number',
  ]);
});

test('the SIMs of a world file are bounded across its accounts and pool', () => {
  const sims = (of: number) =>
    Array.from({ length: 10_000 }, (_, n) => ({ number: `+1${of}${String(n).padStart(6, '0')}` }));
  const accounts = Array.from({ length: 10 }, (_, n) => ({ name: `a${n}`, sims: sims(n + 10) }));
  expect(mistakes({ accounts, pool: [{ number: '+12025550190' }] })).toEqual([
    'expected at most 100000 SIMs in all; got 100001',
  ]);
});

test('AUTH-2 a wrong value in the place of a key is not quoted', () => {
  const text = JSON.stringify(mistakes({ accounts: [{ name: 'a', keys: ['smst_secret'] }] }));
  expect(text).toContain('accounts[0].keys[0]: expected an object');
  expect(text).not.toContain('smst_secret');
});

test('the lists of a world are bounded', () => {
  const many = <T>(length: number, each: (n: number) => T) =>
    Array.from({ length: length + 1 }, (_, n) => each(n));
  const accounts = many(mostAccounts, (n) => ({ name: `a${n}`, keys: [] }));
  const keys = many(mostKeys, (n) => ({ name: `k${n}` }));
  const sims = many(mostSims, (n) => ({ number: `+1${n + 1_000_000}` }));
  const outcomes = many(mostOutcomes, () => ({ to: '+1*', ends: 'delivered' }) as const);
  expect(mistakes({ accounts })).toEqual([
    'accounts: expected at most 10000 entries; got a list of 10001',
  ]);
  expect(mistakes({ pool: sims })).toEqual([
    'pool: expected at most 10000 entries; got a list of 10001',
  ]);
  expect(mistakes({ outcomes })).toEqual([
    'outcomes: expected at most 10000 entries; got a list of 10001',
  ]);
  expect(mistakes({ accounts: [{ name: 'a', keys, sims }] })).toEqual([
    'accounts[0].keys: expected at most 1000 entries',
    'accounts[0].sims: expected at most 10000 entries; got a list of 10001',
  ]);
});
