import { parseArgs } from 'node:util';
import { expect, test } from 'vitest';
import { exitCodeOf, numberFlag, wholeFlag, wordFlag } from './program-flags.ts';

async function program(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '5' },
      days: { type: 'string', default: '30' },
      transport: { type: 'string', default: 'node' },
    },
  });
  numberFlag('minutes', values.minutes, 0.5, 60);
  wholeFlag('days', values.days, 1, 30);
  wordFlag('transport', values.transport, ['hyperexpress', 'node']);
  return 0;
}

test.each<[string[], number, string[]]>([
  [[], 0, []],
  [['--minutes', '0.5', '--days=1', '--transport', 'hyperexpress'], 0, []],
  [['--minutes', 'x'], 2, ['soak: --minutes x: expected a number from 0.5 to 60']],
  [['--minutes', '0.4'], 2, ['soak: --minutes 0.4: expected a number from 0.5 to 60']],
  [['--minutes', ''], 2, ['soak: --minutes : expected a number from 0.5 to 60']],
  [['--days', '1.5'], 2, ['soak: --days 1.5: expected a whole number']],
  [['--transport', 'http3'], 2, ['soak: --transport http3: expected one of hyperexpress, node']],
  [['more'], 2, [expect.stringMatching(/^soak: Unexpected argument 'more'/)]],
  [['--hours', '1'], 2, [expect.stringMatching(/^soak: Unknown option '--hours'/)]],
])('the flags %j end with %i', async (args, code, lines) => {
  const said: string[] = [];
  expect(await exitCodeOf('soak', program, args, (line) => said.push(line))).toBe(code);
  expect(said).toEqual(lines);
});

test('what is no matter of flags is thrown on', async () => {
  const failing = () => Promise.reject(new Error('bug'));
  await expect(exitCodeOf('soak', failing, [], () => {})).rejects.toThrow('bug');
});
