/**
 * Compares `docs/bounds.md` with the code: each named test exists, and each number equals the
 * constant.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { scans } from './modules.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/bounds.md');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| what'))
  .map((line) => line.slice(2, -2).split(' | '));
const source = scans.code.map(({ text }) => text).join('\n');

test('every row says what it holds, its bound, what happens there, and which test shows it', () => {
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter((cells) => cells.length !== 4 || cells.some((cell) => cell === ''))).toEqual(
    [],
  );
});

test.each(rows.map(([what = '', , , proof = '']) => [what, proof]))(
  'the test of %s is there',
  (_, proof) => {
    const [, path = '', title = ''] = /^`([a-z]+\/[\w./-]+\.test\.ts)`: (.+)$/.exec(proof) ?? [];
    expect(path).not.toBe('');
    const text = read(path);
    expect(text.includes(`'${title}'`) || text.includes(`'%s: ${title}'`)).toBe(true);
  },
);

const numbers = [
  ...page.matchAll(/([\d,]+|\d+ Mi?B|\d+ Mi characters|[\d,]+ characters each) \(`(\w+)`\)/g),
];

test.each(numbers.map(([, number = '', name = '']) => [name, number]))(
  '%s is %s',
  (name, number) => {
    const declared = [...source.matchAll(new RegExp(`const ${name} = ([\\d_ *]+);`, 'g'))];
    expect(declared).toHaveLength(1);
    const [[, value = ''] = []] = declared;
    const factors = value.replaceAll('_', '').split('*').map(Number);
    const mebi = number.includes('Mi') ? 1_048_576 : 1;
    expect(factors.reduce((product, factor) => product * factor, 1)).toBe(
      Number.parseInt(number.replaceAll(',', ''), 10) * mebi,
    );
  },
);

test('every constant that the page names is compared', () => {
  const named = [...page.matchAll(/\(`(\w+)`\)/g)].map(([, name]) => name);
  expect(numbers.map(([, , name]) => name)).toEqual(named);
});
