/** The printed ledgers of assumptions and rules. */
import { expect, test } from 'vitest';
import { assumptionNames } from '#contract/assumptions.ts';
import type { CommandIo } from '#io/flags.ts';
import { assumptions, rules } from './ledgers.ts';

async function printed(
  command: (argv: readonly string[], io: CommandIo) => Promise<number>,
  ...argv: readonly string[]
): Promise<string> {
  let out = '';
  const error = (text: string) => expect.unreachable(text);
  const write = (text: string) => {
    out += text;
  };
  expect(await command(argv, { out: write, error, env: {}, version: '1.2.3' })).toBe(0);
  return out;
}

test('the assumptions are printed, each with its default and what it permits', async () => {
  const text = await printed(assumptions);
  for (const name of assumptionNames) expect(text).toMatch(new RegExp(`^${name} `, 'm'));
  expect(text).toMatch(/^failureRate +0 +a number from 0 to 1 /m);
  expect(text).not.toContain('[object Object]');
  expect(text).toMatch(/^replyTemplates +none +an object of templates /m);
  expect(JSON.parse(await printed(assumptions, '--json'))[0]).toMatchObject({
    name: 'limiterRefill',
    default: 'sliding',
    answers: ['sliding', 'continuous', 'interval', 'interval_aligned', 'sliding_counter'],
  });
});

test('the rules are printed, each with its sentence', async () => {
  expect(await printed(rules)).toMatch(/^SVC-4 +yes +All bodies are JSON\.$/m);
  expect(JSON.parse(await printed(rules, '--json'))).toContainEqual({
    id: 'SVC-4',
    traffic: 'yes',
    sentence: 'All bodies are JSON.',
  });
});

test('--help and --version exit with 0', async () => {
  expect(await printed(rules, '--version')).toBe('1.2.3\n');
  expect(await printed(rules, '--help')).toContain('--json');
});
