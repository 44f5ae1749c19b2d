import { expect, test } from 'vitest';
import { readDeepOptions } from './deep-options.ts';

const read = (line: string) => readDeepOptions(line.split(' ').filter(Boolean));

test('without --fuzz, five requests are fuzzed per sequence', () => {
  expect(read('')).toMatchObject({ sequences: 10_000, seed: 1, fuzz: 50_000 });
  expect(read('20 7')).toMatchObject({ sequences: 20, seed: 7, fuzz: 100, path: undefined });
});

test('zero sequences with --fuzz only fuzz', () => {
  expect(read('0 1 --fuzz 1000000')).toMatchObject({ sequences: 0, fuzz: 1_000_000 });
});

test('flags that replay a failure do nothing else', () => {
  expect(read('1 7 --path 3:0:1')).toMatchObject({ sequences: 1, path: '3:0:1', fuzz: 0 });
  expect(read('0 7 --fuzz 1 --transport node --chunk 12')).toMatchObject({
    transports: ['node'],
    chunk: 12,
  });
});

test.each([
  ['ten', /^sequences ten: expected a number/],
  ['10 -1', /^Unknown option '-1'/],
  ['10 1.5', /^seed 1.5: expected a whole number$/],
  ['10 1 3:0:1', /^unexpected argument 3:0:1$/],
  ['10 1 --fuzz', /^Option '--fuzz <value>' argument missing/],
  ['10 1 --fuzz many', /^--fuzz many: expected a number/],
  ['10 1 --transport tcp', /^--transport tcp: expected one of hyperexpress, node$/],
  ['10 1 --fuz 3', /^Unknown option '--fuz'/],
  ['0 1', /^0 sequences and no --fuzz: nothing to do$/],
])('%s is refused', (line, mistake) => {
  expect(() => read(line)).toThrow(mistake);
});

test.each([['0 1 --fuzz 5'], ['--fuzz 5 -- 0 1']])('%s is accepted', (line) => {
  expect(read(line)).toMatchObject({ sequences: 0, seed: 1, fuzz: 5 });
});
