/** One declaration becomes a method, a recorded input and its replay. */
import { expect, test } from 'vitest';
import { Simulator } from '../simulator.ts';
import type { Operation, Scope } from './define.ts';
import { replay } from './perform.ts';
import { clock } from './service/clock.ts';
import { operations } from './table.ts';

test('a recorded operation stands in the journal under its name, with its arguments', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  simulator.clock.advance('24h');
  simulator.clock.setMode('scaled', 60);
  const [, ...entries] = simulator.journalText().trim().split('\n');
  expect(entries.map((line) => JSON.parse(line))).toMatchObject([
    { operation: 'clock.advance', args: [{ by: '24h' }] },
    { operation: 'clock.setMode', args: [{ mode: 'scaled', rate: 60 }] },
  ]);
  await simulator.close();
});

test('arguments as older journals hold them are played too', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  const startMs = simulator.clock.now();
  replay(clock.advance, simulator, [1_000]);
  replay(clock.advance, simulator, ['1s']);
  replay(clock.advance, simulator, [{ by: 1_000 }]);
  replay(clock.setMode, simulator, ['scaled', 60]);
  expect(simulator.clock.now() - startMs).toBeGreaterThanOrEqual(3_000);
  expect(simulator.clock.state()).toMatchObject({ mode: 'scaled', rate: 60 });
  await simulator.close();
});

/** What each path parameter says of the shards that an operation concerns. */
const scopeOfTarget: Readonly<Record<string, Scope>> = {
  account_id: 'owner',
  message_id: 'owner',
  key_id: 'owner',
  device_id: 'owner',
  world_id: 'owner',
  // The same on every shard.
  fault_id: 'all',
  // Counted by each shard for itself.
  number: 'local',
};

/** The scope that the path and the effect of an operation ask for, if they ask for one. */
function scopeAskedFor(operation: Operation): Scope | undefined {
  const { name, path, target, recorded, slices, fleet } = operation;
  // What each shard has of its own, such as its journal.
  if (fleet.scope === 'named') return 'named';
  if (path.startsWith('/control/pool/')) return 'all';
  if (target !== undefined) return scopeOfTarget[target];
  if (/^(accounts|worlds)\.create$/.test(name)) return 'owner';
  if (recorded) return 'all';
  // Work that grows with the messages grows with those of every shard.
  return slices === undefined ? undefined : 'merged';
}

test('every operation has the scope that its path and its effect ask for', () => {
  const asked = operations.filter((operation) => scopeAskedFor(operation) !== undefined);
  expect(asked.length).toBeGreaterThan(40);
  expect(asked.filter((each) => each.fleet.scope !== scopeAskedFor(each))).toEqual([]);
  const named = operations.filter(({ fleet }) => fleet.scope === 'owner');
  const isNamed = (each: Operation) => each.target !== undefined || /create$/.test(each.name);
  expect(named.filter((each) => !isNamed(each))).toEqual([]);
});
