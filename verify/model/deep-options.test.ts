/** The command line of `npm run test:deep`. */
import { expect, test } from 'vitest';
import { runProgram } from '../testkit/processes/program-flags.ts';
import { deepOptions, deepProgram } from './deep-options.ts';

/** The options that a command line gives, or its exit code and what it prints. */
async function read(line: string): Promise<unknown> {
  let printed = '';
  let options: unknown;
  const print = (text: string) => {
    printed += text;
  };
  const code = await runProgram(
    deepProgram,
    async (...given) => {
      options = deepOptions(...given);
      return 0;
    },
    line.split(' ').filter(Boolean),
    { out: print, error: print, env: {}, version: '1' },
  );
  return code === 0 ? options : `${code} ${printed}`;
}

test('without --fuzz, five requests are fuzzed per sequence', async () => {
  expect(await read('')).toMatchObject({ sequences: 10_000, seed: 1, fuzz: 50_000 });
  const few = { sequences: 20, seed: 7, fuzz: 100, path: undefined };
  expect(await read('20 7')).toMatchObject(few);
});

test('zero sequences with --fuzz only fuzz', async () => {
  expect(await read('0 1 --fuzz 1000000')).toMatchObject({ sequences: 0, fuzz: 1_000_000 });
});

test('flags that replay a failure do nothing else', async () => {
  expect(await read('1 7 --path 3:0:1')).toMatchObject({ sequences: 1, path: '3:0:1', fuzz: 0 });
  expect(await read('0 7 --fuzz 1 --transport node')).toMatchObject({ transports: ['node'] });
});

test.each([
  ['ten', /^2 smstwin test:deep: sequences ten: expected a whole number/],
  ['10 -1', /: seed -1: expected a whole number/],
  ['10 1.5', /: seed 1.5: expected a whole number/],
  ['10 1 3:0:1', /: unexpected argument '10 1 3:0:1'; see smstwin test:deep --help\n$/],
  ['10 1 --fuzz', /: option '--fuzz <n>' argument missing; see smstwin test:deep --help\n$/],
  ['10 1 --fuzz many', /: --fuzz many: expected a whole number/],
  ['10 1 --transport tcp', /: --transport tcp: expected hyperexpress or node\n$/],
  ['10 1 --fuz 3', /: unknown option '--fuz'/],
  ['0 1', /: 0 sequences and no --fuzz: nothing to do\n$/],
])('%s is refused, with exit code 2', async (line, mistake) => {
  expect(await read(line)).toMatch(mistake);
  expect(await read(line)).toMatch(/^2 smstwin test:deep: .*\n$/);
});

test.each([['0 1 --fuzz 5'], ['--fuzz 5 -- 0 1']])('%s is accepted', async (line) => {
  expect(await read(line)).toMatchObject({ sequences: 0, seed: 1, fuzz: 5 });
});
