import { expect, test } from 'vitest';
import { killAndRestart } from '../testing/kills.ts';

test('a killed process loses no acknowledged message, and has none twice', async () => {
  const { acknowledged, complaints } = await killAndRestart(1, 60);
  expect(complaints).toEqual([]);
  expect(acknowledged).toBeGreaterThan(30);
}, 60_000);
