/** A short soak has no complaint. */
import { expect, test } from 'vitest';
import { endsOfDays, longRun } from './long-run.ts';

test('three days of mixed load with faults, slow peers and an end of each', async () => {
  const plan = { seed: 1, sends: 1, transport: 'hyperexpress' } as const;
  expect(endsOfDays(5)).toEqual(['SIGKILL', 'SIGTERM', 'shutdown', 'snapshot', 'none']);
  const ends = ['SIGKILL', 'snapshot', 'none'] as const;
  const report = await longRun({ ...plan, ends, dayLoadMs: 300 });
  expect(report.complaints).toEqual([]);
  expect(report.found).toBeGreaterThan(50);
  expect(report.answers['429']).toBeGreaterThan(0);
  expect(report.keptRules.length).toBeGreaterThan(20);
});
