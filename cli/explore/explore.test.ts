/** What `smstwin explore` refuses before it runs the command. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '#io/command-error.ts';
import { explore } from './explore.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-explore-usage-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function refusalOf(...argv: string[]): Promise<number> {
  const io = { out: () => {}, error: () => {}, env: {}, version: '1' };
  return explore([...argv, '--', 'no-such-program-here'], io);
}

const noAccount =
  'the world has no account with a key: add { "name": "acme" } to accounts, or a key to one of them';
const noNumber =
  'the world has no number to send from: add a SIM to an account, or a number to pool';

test.each([
  ['no account', { accounts: [] }, noAccount],
  ['an account without a key', { accounts: [{ name: 'acme', keys: [] }] }, noAccount],
  ['no number', { accounts: [{ name: 'acme' }] }, noNumber],
])('a world with %s is refused', async (_, world, line) => {
  const file = join(folder, 'world.json');
  writeFileSync(file, JSON.stringify(world));
  await expect(refusalOf('--world', file)).rejects.toEqual(new UsageError(line));
});

test.each(['SMSTWIN_BASE_URL', 'SMSTWIN_INTENTS', 'NODE_OPTIONS'])(
  '--env may not set %s, which each run sets itself',
  async (name) => {
    const line = `--env ${name}=from: each run sets ${name} itself; name a variable of the client's own`;
    await expect(refusalOf('--env', `${name}=from`)).rejects.toEqual(new UsageError(line));
  },
);

test.each([
  [
    ['--env', 'URL=base_url', '--env', 'URL=api_key'],
    '--env URL: the variable is set twice; remove one of the two',
  ],
  [
    ['--report', 'json=/tmp/smstwin-r', '--report', 'html=/tmp/../tmp/smstwin-r'],
    '--report html=/tmp/../tmp/smstwin-r: another --report names that file too; name a second file',
  ],
])('%j is refused', async (flags, line) => {
  await expect(refusalOf(...flags)).rejects.toEqual(new UsageError(line));
});
