/** What `smstwin fleet` refuses before it starts a process. */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { fleet, notPassedOn } from './fleet.ts';
import { commandsOf } from './subcommands.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-fleet-'));
afterAll(() => rmSync(folder, { recursive: true }));

const io = { out: () => {}, error: () => {}, env: {}, version: '1' };
const large = join(folder, 'large.json');
writeFileSync(large, '');
truncateSync(large, 300 * 2 ** 20);

test.each([
  [large, 'it has 314572800 bytes, and at most 1 MiB are read'],
  ['/dev/zero', 'it is a pipe or a device, not a plain file'],
])('--join %s is refused in one line', async (file, why) => {
  await expect(fleet(['--join', file], io)).rejects.toThrow(
    expect.objectContaining({ lines: [`--join ${file}: ${why}`] }),
  );
});

test.each(['{', 'null', '[]', '[null]', '[{"base_url":"x"}]'])(
  '--join takes a list of shards only: %s',
  async (text) => {
    const file = join(folder, 'shards.json');
    writeFileSync(file, text);
    const line = expect.stringMatching(
      /^--join \S+: (?:expected a JSON list of \{|Expected .* JSON)/,
    );
    await expect(fleet(['--join', file], io)).rejects.toThrow(
      expect.objectContaining({ lines: [line] }),
    );
  },
);

test('the flags that shards do not get are flags of serve', async () => {
  const [serve] = await commandsOf(['serve'], io);
  const flags = serve?.options.map(({ long }) => long);
  expect(notPassedOn.filter((flag) => !flags?.includes(flag))).toEqual([]);
});
