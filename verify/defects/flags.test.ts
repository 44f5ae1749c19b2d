/** The flags of a checkout that list and plant defects. */
import { expect, test } from 'vitest';
import { serve } from '#cli/serve/serve.ts';
import { defectFlags } from './flags.ts';

/** What `npm run serve:defects` with these arguments prints. */
async function printed(argv: readonly string[], env: Record<string, string> = {}) {
  const lines: string[] = [];
  const out = (text: string) => void lines.push(text);
  await serve(argv, { out, error: out, env, version: '1' }, defectFlags);
  return lines.join('');
}

test('the list has one line per defect with the rule that it breaks', async () => {
  expect(await printed(['--list-defects'])).toMatch(
    /^read-foreign-403 +READ-2 +another account's/m,
  );
});

test('the help of a checkout names both flags', async () => {
  const help = await printed(['--help']);
  expect(help).toContain('--defect <name>');
  expect(help).toContain('--list-defects');
});

test('a flag or the environment may name only a known defect', async () => {
  await expect(printed(['--defect', 'limit-118'])).rejects.toThrow(/--list-defects/);
  const fromEnvironment = printed([], { SMSTWIN_DEFECT: 'limit-118' });
  await expect(fromEnvironment).rejects.toThrow(/SMSTWIN_DEFECT limit-118/);
});

test('a server with a defect announces it, with the rule that it breaks', async () => {
  const { notice, simulation } = await defectFlags.read({ defect: 'limit-119' });
  expect(notice).toContain('LIMIT-1');
  expect(simulation).toBeDefined();
});

test('without a defect nothing is planted', async () => {
  expect(await defectFlags.read({})).toEqual({});
});

test('the command of the package knows no such flag', async () => {
  const io = { out: () => {}, error: () => {}, env: {}, version: '1' };
  await expect(serve(['--defect', 'limit-119'], io)).rejects.toThrow("unknown option '--defect'");
});
