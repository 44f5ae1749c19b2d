import { expect, test } from 'vitest';
import { CommandError } from './command-error.ts';
import { foreignJson, foreignText, foreignTexts } from './terminal.ts';

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
