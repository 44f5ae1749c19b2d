import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { nodeOptionsOfClock, withoutProxy } from './command-runs.ts';

test('NODE_OPTIONS load files that exist', () => {
  const urls = nodeOptionsOfClock().replaceAll('--import=', '').split(' ');
  expect(urls.map((url) => existsSync(fileURLToPath(url)))).toEqual([true, true]);
});

test.each([
  [{}, '127.0.0.1,localhost'],
  [{ NO_PROXY: 'a.test' }, 'a.test,127.0.0.1,localhost'],
  [{ NO_PROXY: 'a.test', no_proxy: 'b.test' }, 'b.test,a.test,127.0.0.1,localhost'],
  [{ NO_PROXY: '', no_proxy: '*' }, '*'],
])('a command with %j asks no proxy for the simulator', (env, list) => {
  expect(withoutProxy(env)).toEqual({ NO_PROXY: list, no_proxy: list });
});
