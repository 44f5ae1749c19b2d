import { expect, test } from 'vitest';
import { documentedLimitsPerMinute, endpointNames } from '#contract/limits.ts';
import { SettingsError } from '#io/mistakes.ts';
import { defaultAssumptions } from '../sim/assumptions.ts';
import { assumptionsOf, defaultWorld, limitsOf, parseSettings } from './settings.ts';
import { worldSchema } from './world-schema.ts';

/** The lines of the error for these settings. */
function mistakes(input: unknown): string[] {
  try {
    parseSettings(input);
  } catch (error) {
    if (error instanceof SettingsError) return error.message.split('\n');
    throw error;
  }
  return [];
}

test('the defaults are the default world, a real clock and seed 1', () => {
  const settings = parseSettings();
  expect(settings).toMatchObject({ clock: 'real', rate: 60, seed: 1, log: 'off' });
  expect(settings.world.accounts.map(({ name }) => name)).toEqual(['acme', 'globex', 'initech']);
  expect(settings.world.accounts[0]?.keys).toEqual([{ name: 'default' }]);
  expect(settings.world.accounts[2]?.sims).toEqual([]);
  expect(settings.world.pool).toEqual(defaultWorld.pool);
  expect(settings.world.accounts[1]?.sims).toEqual([
    { number: '+12025550111', connected: true, active: true, polling: 'simulated' },
  ]);
});

test('the default world is what the schema makes of it', () => {
  expect(worldSchema.parse(defaultWorld)).toEqual(defaultWorld);
  const bare = { accounts: [{ name: 'x', sims: [{ number: '+12025550101' }] }] };
  expect(worldSchema.parse(bare)).toMatchObject({
    accounts: [{ keys: defaultWorld.accounts[0]?.keys, sims: [defaultWorld.accounts[0]?.sims[0]] }],
  });
});

test('two parses of the same settings share no objects', () => {
  expect(parseSettings().world).not.toBe(parseSettings().world);
  expect(parseSettings()).toEqual(parseSettings({}));
});

test.each([
  [undefined, '2026-01-01T00:00:00.000Z'],
  ['2026-02-03T04:05:06.789Z', '2026-02-03T04:05:06.789Z'],
  ['2026-02-03T04:05:06+02:00', '2026-02-03T02:05:06.000Z'],
  [1_000_000_000_000, '2001-09-09T01:46:40.000Z'],
])('a manual clock with start time %s starts at %s', (startTime, iso) => {
  const settings = parseSettings({ clock: 'manual', startTime });
  expect(new Date(settings.startTimeMs).toISOString()).toBe(iso);
});

test.each([
  [
    { clock: 'fast' },
    'clock: expected "real", "scaled", "manual" or { now: <a function> }; got "fast"',
  ],
  [
    { clock: {} },
    'clock: expected "real", "scaled", "manual" or { now: <a function> }; got an object',
  ],
  [
    { clock: { now: () => 1e12 }, rate: 2 },
    'rate: only a scaled clock takes it: set clock to "scaled"',
  ],
  [{ seed: -1 }, 'seed: expected at least 0; got -1'],
  [{ seed: 2 ** 32 }, 'seed: expected at most 4294967295; got 4294967296'],
  [{ seed: 1.5 }, 'seed: expected a whole number; got 1.5'],
  [{ clock: 'scaled', rate: 0 }, 'rate: expected a number above 0; got 0'],
  [{ rate: 2 }, 'rate: only a scaled clock takes it: set clock to "scaled"'],
  [{ startTime: 1e12 }, 'startTime: only a manual clock takes it: set clock to "manual"'],
  [{ clock: 'manual', startTime: 0 }, 'startTime: expected a time between the years 1970 and 9000'],
  [
    { clock: 'manual', startTime: 'today' },
    'startTime: expected an ISO 8601 time with its zone, such as "2026-01-01T00:00:00.000Z", or ' +
      'milliseconds since 1970; got "today"',
  ],
  [{ log: 'xml' }, 'log: expected one of "off", "text", "json"; got "xml"'],
  [{ noLimits: 'yes' }, 'noLimits: expected true or false; got "yes"'],
  [{ lmits: {} }, 'lmits: this key is not known here'],
  [
    { limits: { sned: 1 } },
    `limits.sned: no endpoint is named "sned"; use one of ${endpointNames.join(', ')}`,
  ],
  [
    { limits: { send: 0 } },
    'limits.send: expected a whole number from 1 to 1000000, or null for no limit; got 0',
  ],
  [
    { assumptions: { limiterRefil: 'sliding' } },
    'assumptions.limiterRefil: no assumption is named "limiterRefil"; `smstwin assumptions` lists them',
  ],
  [
    { assumptions: { sendsPerPoll: 0 } },
    'assumptions.sendsPerPoll: expected "all", or a whole number from 1 to 1000000; got 0',
  ],
  [
    { world: { pool: [{ number: '2025550101' }] } },
    'world.pool[0].number: expected an E.164 number such as "+12025550101"; got "2025550101"',
  ],
])('settings %j are refused: %s', (input, line) => {
  expect(mistakes(input)).toEqual([line]);
});

test('all mistakes are reported at once, each with its path', () => {
  const input = { seed: 'one', rate: 'fast', world: { accounts: [{}], pool: 3 }, extra: 1 };
  expect(mistakes(input).map((line) => line.split(':', 1)[0])).toEqual([
    'rate',
    'seed',
    'world.accounts[0].name',
    'world.pool',
    'extra',
    'rate',
  ]);
});

test('settings take precedence over the world, and the world over the defaults', () => {
  const settings = parseSettings({
    world: {
      assumptions: { monthlyQuota: 5, unknownFields: 'reject' },
      limits: { send: 10, tasks: null },
    },
    assumptions: { monthlyQuota: 'unlimited' },
    limits: { send: 20 },
  });
  expect(assumptionsOf(settings)).toEqual({
    ...defaultAssumptions,
    monthlyQuota: 'unlimited',
    unknownFields: 'reject',
  });
  expect(limitsOf(settings)).toEqual({ ...documentedLimitsPerMinute, send: 20, tasks: null });
});

test('noLimits removes every limit, with any other settings', () => {
  const settings = parseSettings({ noLimits: true, limits: { send: 20 } });
  expect(new Set(Object.values(limitsOf(settings)))).toEqual(new Set([null]));
});
