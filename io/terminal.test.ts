/** Text for a terminal and for a pipe, and texts of others that are made safe to print. */
import { afterEach, expect, test, vi } from 'vitest';
import { failures } from '#judging/report/result.ts';
import { CommandError } from './command-error.ts';
import {
  coloured,
  foreignJson,
  foreignText,
  foreignTexts,
  isColourTerminal,
  progressTo,
} from './terminal.ts';

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

test.each([
  ['\u001b[2J\u001b]0;x\u0007', '\\u001b[2J\\u001b]0;x\\u0007'],
  ['\u009b1m\u0085\u007f\0', '\\u009b1m\\u0085\\u007f\\u0000'],
  ['one\r\n::error::two\u2028three\tfour', 'one\\r\\n::error::two\\u2028three\\tfour'],
  ['::error::x', '\\u003a:error::x'],
  ['  ::stop-commands::x', '  \\u003a:stop-commands::x'],
  ['a ##[error]x', 'a \\u0023#[error]x'],
  ['a ##vso[task.complete]x', 'a \\u0023#vso[task.complete]x'],
  ['##teamcity[x] ## [a] #[b]', '\\u0023#teamcity[x] ## [a] #[b]'],
  ['a\u061cb', 'a\\u061cb'],
  ['\u202egnp.exe \ud800', '\\u202egnp.exe \\ud800'],
  ['plain: ünïcödé 😀 a::b', 'plain: ünïcödé 😀 a::b'],
])('%j is printed as %j', (text, printed) => {
  expect(foreignText(text)).toBe(printed);
});

test('the texts of a value are made safe wherever they are', () => {
  const value = { '\u001b': [{ deep: '\n' }], more: new Map([['id', '\u0007']]), count: 1 };
  expect(foreignTexts(value)).toEqual({
    '\\u001b': [{ deep: '\\n' }],
    more: new Map([['id', '\\u0007']]),
    count: 1,
  });
});

test('an error of a command has one safe line for each problem', () => {
  expect(new CommandError(2, 'a\n::error::b', '\u001b').lines).toEqual([
    'a\\n::error::b',
    '\\u001b',
  ]);
});

test('JSON reads the same, and holds nothing that is obeyed', () => {
  const value = {
    'a\u009b': ['\u001b[2J\n::error::x', '##[error]', '##vso[a]', '\u2028\u202e\u061c', '\ud800'],
    b: 1,
  };
  for (const indent of [0, 2]) {
    const json = foreignJson(JSON.stringify(value, null, indent));
    expect(JSON.parse(json)).toEqual(value);
    expect(json).toMatch(/^[ -~\n]*$/);
    expect(json).not.toContain('##');
  }
});
