/**
 * One declaration becomes a method, a recorded input and its replay.
 */
import { expect, test } from 'vitest';
import { Simulator } from '../simulator.ts';
import { clock } from './clock.ts';
import { replay } from './define.ts';

test('a recorded operation stands in the journal under its name, with its arguments', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  simulator.clock.advance('24h');
  simulator.clock.setMode('scaled', 60);
  const [, ...entries] = simulator.journalText().trim().split('\n');
  expect(entries.map((line) => JSON.parse(line))).toMatchObject([
    { lever: 'clock.advance', args: [{ by: '24h' }] },
    { lever: 'clock.setMode', args: [{ mode: 'scaled', rate: 60 }] },
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
