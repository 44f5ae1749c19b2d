import { expect, test } from 'vitest';
import { exitCodeOf, number, optional, readFlags, textOr, whole, word } from './program-flags.ts';

const flags = {
  minutes: number(0.5, 60, 5),
  days: whole(1, 30, 30),
  transport: word('hyperexpress', 'node'),
  path: optional(textOr('')),
};
const arguments_ = { sequences: whole(0, 100, 10) };

async function program(argv: string[]): Promise<number> {
  readFlags(argv, flags, arguments_);
  return 0;
}

test('an absent flag has its default', () => {
  expect(readFlags([], flags, arguments_)).toEqual({
    minutes: 5,
    days: 30,
    transport: 'hyperexpress',
    path: undefined,
    sequences: 10,
  });
  expect(readFlags(['7', '--path', '3:0', '--days=2'], flags, arguments_)).toMatchObject({
    sequences: 7,
    path: '3:0',
    days: 2,
  });
});

test.each<[string[], number, string[]]>([
  [[], 0, []],
  [['--minutes', '0.5', '--days=1', '--transport', 'node'], 0, []],
  [['--minutes', 'x'], 2, ['soak: --minutes x: expected a number from 0.5 to 60']],
  [['--minutes', '0.4'], 2, ['soak: --minutes 0.4: expected a number from 0.5 to 60']],
  [['--minutes', ''], 2, ['soak: --minutes : expected a number from 0.5 to 60']],
  [['--days', '1.5'], 2, ['soak: --days 1.5: expected a whole number']],
  [['--transport', 'http3'], 2, ['soak: --transport http3: expected one of hyperexpress, node']],
  [['ten'], 2, ['soak: sequences ten: expected a number from 0 to 100']],
  [['1', 'more'], 2, ['soak: unexpected argument more']],
  [['--hours', '1'], 2, [expect.stringMatching(/^soak: Unknown option '--hours'/)]],
])('the flags %j end with %i', async (args, code, lines) => {
  const said: string[] = [];
  expect(await exitCodeOf('soak', program, args, (line) => said.push(line))).toBe(code);
  expect(said).toEqual(lines);
});

test('an exception that is not about flags is rethrown', async () => {
  const failing = () => Promise.reject(new Error('bug'));
  await expect(exitCodeOf('soak', failing, [], () => {})).rejects.toThrow('bug');
});
