/** Separate processes give the same bytes for the same seed. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { digestOf } from './digest.ts';

test('the same seed and inputs give the same bytes in two processes', async () => {
  const [seed, count] = [20_260_115, 40];
  const script = fileURLToPath(new URL('digest.ts', import.meta.url));
  const digestElsewhere = async () => {
    const args = ['--import', 'tsx', script, String(seed), String(count)];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  };
  const digests = [await digestElsewhere(), digestOf(seed, count)];
  expect(digests).toEqual([digestOf(seed, count), digestOf(seed, count)]);
});
