/** Correct simulators whose worlds lack what the cases use, or have numbers that cases make up. */
import { expect, test } from 'vitest';
import type { SettingsInput } from '#src/simulator.ts';
import { failures, runConformWithReport, startOwnSimulator } from '../testkit/conform-run.ts';

const run = async (world: SettingsInput['world'], ...cases: string[]) => {
  const startOwn = () => startOwnSimulator({ clock: 'manual', world });
  return (await runConformWithReport(cases, { startOwn })).results;
};

test('without a pool, the cases of the pool are skipped', async () => {
  const results = await run({ accounts: [{ name: 'a' }] }, 'SVC-1', 'poolBesideOwnSim');
  const ofPool = results.filter(({ id }) => /pool/.test(id));
  expect(ofPool.map(({ id, verdict, reason }) => [id, verdict, reason])).toEqual(
    [
      'SVC-1/pool-without-a-sim',
      'SVC-1/pool-with-a-disconnected-sim',
      'poolBesideOwnSim/pool-number',
    ].map((id) => [id, 'skipped', 'needs a number in the shared pool']),
  );
  expect(failures(results)).toEqual([]);
});

test('a number that a SIM of the world has is not taken for an unused one', async () => {
  // Every second number: the SIMs of the run take the others.
  const numbers = ['205', '206'].flatMap((area) =>
    Array.from({ length: 50 }, (_, i) => `+1${area}55501${String(i * 2).padStart(2, '0')}`),
  );
  const sims = numbers.map((number) => ({ number }));
  const results = await run({ accounts: [{ name: 'a', sims }] }, 'AUTH-4');
  expect(results.map(({ id, verdict }) => [id, verdict])).toContainEqual([
    'AUTH-4/unknown-number',
    'passed',
  ]);
  expect(failures(results)).toEqual([]);
});
