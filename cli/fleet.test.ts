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

const one = { base_url: 'http://127.0.0.1:1', control_url: 'http://127.0.0.1:2' };

test.each([
  [{ ...one, control_url: 'http://127.0.0.1:3' }, 'base_url http://127.0.0.1:1/'],
  [{ ...one, base_url: 'http://127.0.0.1:3' }, 'control_url http://127.0.0.1:2/'],
])('--join takes no shard twice: %j', async (other, named) => {
  const file = join(folder, 'twice.json');
  const spelled = Object.fromEntries(Object.entries(other).map(([key, url]) => [key, `${url}/`]));
  writeFileSync(file, JSON.stringify([one, spelled]));
  const lines = [`--join ${file}: list ${named} only once`];
  await expect(fleet(['--join', file], io)).rejects.toThrow(expect.objectContaining({ lines }));
});

test('--print-config names a folder that cannot be made', async () => {
  const file = join(folder, 'one.json');
  writeFileSync(file, JSON.stringify([one]));
  const below = join(file, 'config');
  const argv = ['--join', file, '--print-config', below];
  await expect(fleet(argv, io)).rejects.toThrow(
    expect.objectContaining({ lines: [expect.stringContaining(`--print-config ${below}: `)] }),
  );
});

test('the flags that shards do not get are flags of serve', async () => {
  const [serve] = await commandsOf(['serve'], io);
  const flags = serve?.options.map(({ long }) => long);
  expect(notPassedOn.filter((flag) => !flags?.includes(flag))).toEqual([]);
});
