import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { nodeOptionsOfClock } from './command-runs.ts';

test('NODE_OPTIONS load files that exist', () => {
  const urls = nodeOptionsOfClock().replaceAll('--import=', '').split(' ');
  expect(urls.map((url) => existsSync(fileURLToPath(url)))).toEqual([true, true]);
});
