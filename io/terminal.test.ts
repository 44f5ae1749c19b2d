/** Text for a terminal and for a pipe. */
import { afterEach, expect, test, vi } from 'vitest';
import { failures } from '#judging/report/result.ts';
import { coloured, isColourTerminal, progressTo } from './terminal.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

test('a verdict has a colour at the start of its line, and other text has none', () => {
  expect(coloured(' 3/58  failed         SEND-4/late  why\n')).toContain(
    '\u001b[31mfailed\u001b[39m',
  );
  expect(coloured('FAILED  SEND-4/late\n')).toContain('\u001b[31mFAILED');
  expect(coloured('1/2  passed         SEND-1\n')).toContain('\u001b[32mpassed');
  const plain = '7 of 12 rules passed. Cases: 2 failed.\nThe message failed.\n';
  expect(coloured(plain)).toBe(plain);
});

test.each(failures)('%s is red in reports and in progress lines', (verdict) => {
  const capitals = verdict.toUpperCase();
  expect(coloured(`${capitals}  SEND-4/late\n`)).toContain(`\u001b[31m${capitals}`);
  expect(coloured(`1/2  ${verdict}  SEND-4/late\n`)).toContain(`\u001b[31m${verdict}`);
});

test('only a terminal without NO_COLOR gets more than plain text', () => {
  vi.stubEnv('NO_COLOR', '');
  vi.stubEnv('TERM', 'xterm');
  expect([
    isColourTerminal({ isTTY: true }),
    isColourTerminal({}),
    isColourTerminal({ isTTY: false }),
  ]).toEqual([true, false, false]);
  vi.stubEnv('NO_COLOR', '1');
  expect(isColourTerminal({ isTTY: true })).toBe(false);
});

test('a terminal has one line of progress, and a pipe a line for each step', () => {
  const written = (isTerminal: boolean) => {
    const texts: string[] = [];
    const show = progressTo((text) => texts.push(text), isTerminal);
    for (const n of [1, 2]) show(`audit: ${n} requests`, 'window');
    show('audit: 3 requests', 'refusals');
    show('');
    return texts.join('');
  };
  expect(written(false)).toBe('audit: 1 requests\naudit: 3 requests\n');
  expect(written(true).split('\r\u001b[K').at(-1)).toBe('');
  expect(written(true)).not.toContain('\n');
});
