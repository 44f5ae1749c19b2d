/** The flags of the long-running test programs. */
import { expect, test } from 'vitest';
import { number, runProgram, transportFlag } from './program-flags.ts';

const flags = [
  { flag: '--minutes <n>', about: 'real', parse: number(0.5, 60), fallback: 5 },
  { ...transportFlag, fallback: 'hyperexpress' },
] as const;

async function read(...argv: readonly string[]) {
  const errors: string[] = [];
  let given: unknown;
  const io = { out: () => {}, error: (text: string) => errors.push(text), env: {}, version: '1' };
  const run = async (values: unknown) => {
    given = values;
    return 0;
  };
  const code = await runProgram({ name: 'soak', flags }, run, argv, io);
  return { code, error: errors.join(''), given };
}

test('an absent flag has its default', async () => {
  expect((await read()).given).toEqual({ minutes: 5, transport: 'hyperexpress' });
  const given = { minutes: 0.5, transport: 'node' };
  expect(await read('--minutes=0.5', '--transport', 'node')).toEqual({ code: 0, error: '', given });
});

test.each([
  [['--minutes', 'x'], '--minutes x: expected a number from 0.5 to 60'],
  [['--minutes', '0.4'], '--minutes 0.4: expected a number from 0.5 to 60'],
  [['--minutes', ''], '--minutes: expected a number from 0.5 to 60; the value is empty'],
  [['--transport', 'http3'], '--transport http3: expected hyperexpress or node'],
  [['more'], "unexpected argument 'more'; see smstwin soak --help"],
  [['--hours', '1'], "unknown option '--hours'; see smstwin soak --help"],
])('the flags %j end with 2 and one line', async (argv, line) => {
  expect(await read(...argv)).toEqual({
    code: 2,
    error: `smstwin soak: ${line}\n`,
    given: undefined,
  });
});
