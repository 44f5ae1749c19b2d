/** A short soak has no complaint. */
import { expect, test } from 'vitest';
import { soak } from './soak.ts';

test('two days of mixed load with a kill, faults and a snapshot have no complaint', async () => {
  const report = await soak({ days: 2, loadMs: 600, seed: 1, transport: 'hyperexpress' });
  expect(report.complaints).toEqual([]);
  expect(report.events).toMatchObject({ faults: 1, 'slow peers': 1, kill: 1, snapshot: 1 });
  expect(report.acknowledged).toBeGreaterThan(50);
  expect(report.answers['429']).toBeGreaterThan(0);
}, 240_000);
