import { expect, test } from 'vitest';
import { killDuringCheckpoints } from './checkpoint-kills.ts';

test('a process killed while it writes a checkpoint loses no acknowledged message', async () => {
  const plan = { kills: 2, seed: 1, journalMax: '1MiB', seconds: 0.2 };
  const report = await killDuringCheckpoints(plan);
  expect(report.complaints).toEqual([]);
  expect(report.duringCheckpoint).toBeGreaterThan(0);
  expect(report.acknowledged).toBeGreaterThan(100);
}, 120_000);
