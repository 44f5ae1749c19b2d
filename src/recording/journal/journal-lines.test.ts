import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lineOf } from '#judging/evidence/journal-line.ts';
import { readJournal } from './journal-lines.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-lines-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const entry = (text: string) =>
  JSON.stringify({ at: '2026-01-01T00:00:00.000Z', operation: text, args: [], result: '' });

test('a line is read whole, even across several blocks', () => {
  const file = join(folder, 'long');
  const texts = ['a', 'é'.repeat(1_500_000), 'b', 'x'.repeat(1_048_576), ''];
  writeFileSync(file, `header\n${texts.map((text) => `${entry(text)}\n`).join('')}{"cut`);
  const lines = readJournal(file);
  expect(lines?.header).toBe('header');
  expect(lines?.isTruncated).toBe(true);
  const read = [...(lines?.entries ?? [])].map((one) => ('operation' in one ? one.operation : ''));
  expect(read.length).toBe(texts.length);
  expect(read.every((text, n) => text === texts[n])).toBe(true);
  truncateSync(file, lines?.wholeBytes ?? 0);
  expect(readJournal(file)?.isTruncated).toBe(false);
});

test('a journal may be larger than the largest buffer', () => {
  const file = join(folder, 'sparse');
  writeFileSync(file, 'header\n');
  truncateSync(file, 5 * 2 ** 30);
  appendFileSync(file, '\n');
  const lines = readJournal(file);
  expect(lines?.header).toBe('header');
  expect(lines?.wholeBytes).toBe(5 * 2 ** 30 + 1);
});

test.each([10, 300_000])(
  'a last line of %i characters whose line break was changed is damaged',
  (length) => {
    const file = join(folder, `changed-${length}`);
    const at = '2026-01-01T00:00:00.000Z';
    const line = lineOf({ at, operation: 'x'.repeat(length), args: [], result: '' });
    writeFileSync(file, `header\n${line.slice(0, -1)}\v`);
    expect(() => readJournal(file)).toThrow('the last line is damaged: its line break was changed');
    writeFileSync(file, `header\n${line.slice(0, -2)}`);
    expect(readJournal(file)?.isTruncated).toBe(true);
  },
);
