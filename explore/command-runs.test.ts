import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runChild } from './child-run.ts';
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

test.each([
  ['the first and the last lines of a long output, and the first of its errors', 300],
  ['a short output whole', 3],
])('a run keeps %s', async (_, lines) => {
  const source = `for (let n = 1; n <= ${lines}; n++) console.log('line ' + n);
    setTimeout(() => {
      console.error('Error: no database');
      for (let n = 1; n <= 30 && ${lines} > 20; n++) console.error('  at frame ' + n);
      process.exitCode = 3;
    }, 500);`;
  const { tail, how } = await runChild({
    command: [process.execPath, '-e', source],
    env: process.env,
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    onStart: () => {},
  });
  expect(how).toBe('exit code 3');
  const tailLines = tail.split('\n');
  expect(tailLines[0]).toBe('line 1');
  expect(tailLines).toContain('Error: no database');
  expect(tailLines.at(-1)).toBe(lines > 20 ? '  at frame 30' : 'Error: no database');
  expect(tailLines.includes('line 100')).toBe(false);
  expect(tailLines.length).toBeLessThan(30);
});
