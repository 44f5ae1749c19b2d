import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { UsageError } from '#io/command-error.ts';
import { mostFileBytes } from '#io/plain-file.ts';
import { mostYamlBytes } from '#io/yaml-text.ts';
import { readAssumptionsFile, readWorldFile } from './world-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function mistakes(reading: Promise<unknown>): Promise<readonly string[]> {
  try {
    await reading;
  } catch (error) {
    if (error instanceof UsageError) return error.lines;
    throw error;
  }
  return [];
}

const yaml = `
accounts:
  - name: acme
    monthly_quota: unlimited
    sims: [{ number: "+12025550101" }]
assumptions: { limiterRefill: interval }
`;

test('YAML and JSON describe the same world', async () => {
  const fromYaml = await readWorldFile(file('world.yaml', yaml));
  expect(fromYaml.accounts[0]?.sims[0]?.number).toBe('+12025550101');
  expect(fromYaml.assumptions).toEqual({ limiterRefill: 'interval' });
  const json = file('world.json', `\uFEFF${JSON.stringify(fromYaml)}`);
  expect(await readWorldFile(json)).toEqual(fromYaml);
});

test('every mistake in a world file is one line with its path', async () => {
  const path = file('bad.yaml', 'accounts: [{ sims: [{ number: +12025550101 }] }]\npol: []\n');
  expect(await mistakes(readWorldFile(path))).toEqual([
    'bad.yaml: accounts[0].name: is missing: expected a string',
    'bad.yaml: accounts[0].sims[0].number: expected a string, in quotes; got 12025550101',
    'bad.yaml: pol: this key is not known here',
  ]);
});

test('every mistake in an assumptions file is one line with its name', async () => {
  const path = file('answers.json', '{"replayScope":"user","failsFrom":["x"],"gateOrdr":1}');
  expect(await mistakes(readAssumptionsFile(path))).toEqual([
    'answers.json: replayScope: expected one of "account", "api_key"; got "user"',
    'answers.json: failsFrom[0]: expected a list of queued, sending, sent, which may be empty; ' +
      'got "x"',
    'answers.json: gateOrdr: no assumption is named "gateOrdr"; `smstwin assumptions` lists them',
  ]);
});

test('an assumptions file may still state a fact that was an assumption, but no other answer', async () => {
  const path = file('old.json', '{"statsShape":"counts","numberMinDigits":2,"quotaRefund":"yes"}');
  expect(await readAssumptionsFile(path)).toEqual({ quotaRefund: 'yes' });
  const other = file('other.json', '{"numberMinDigits":8}');
  expect(await mistakes(readAssumptionsFile(other))).toEqual([
    'other.json: numberMinDigits: numberMinDigits is no longer an assumption: it is always 2; leave it out',
  ]);
});

test('an assumptions file maps names to answers', async () => {
  const path = file('answers.yaml', 'failsFrom: [sent]\nmonthlyQuota: 5\n');
  expect(await readAssumptionsFile(path)).toEqual({ failsFrom: ['sent'], monthlyQuota: 5 });
});

test.each([
  ['list.yaml', '- 1\n', 'list.yaml: expected an object; got a list of 1'],
  ['empty.yaml', '', 'empty.yaml: it is empty'],
  ['binary.yaml', 'a\0', /binary\.yaml: it is binary data or UTF-16/],
  ['broken.json', '{"accounts":', /^broken\.json: .*JSON/],
  ['broken.yaml', 'a: [1\n', /^broken\.yaml: .* at line 2, column 1$/],
  ['twice.yaml', 'pool: []\npool: []\n', /^twice\.yaml: Map keys must be unique at line/],
])('%s is refused in one line', async (name, text, line) => {
  const lines = await mistakes(readWorldFile(file(name, text)));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(line);
});

test('an unreadable file is reported with its path and the flag', async () => {
  expect(await mistakes(readWorldFile(join(folder, 'none.json')))).toEqual([
    `--world ${join(folder, 'none.json')}: there is no such file; check the path`,
  ]);
  expect(await mistakes(readAssumptionsFile(folder))).toEqual([
    `--assumptions ${folder}: it is a folder, not a plain file`,
  ]);
});

test.each([
  ['large.json', mostFileBytes, '32 MiB'],
  ['large.yaml', mostYamlBytes, '1 MiB'],
])('%s above its bound is refused unread, with the bound', async (name, mostBytes, bound) => {
  const path = file(name, '');
  truncateSync(path, mostBytes + 1);
  expect(await mistakes(readWorldFile(path))).toEqual([
    `--world ${path}: it has ${mostBytes + 1} bytes, and at most ${bound} are read`,
  ]);
});

test('YAML that is nested too deep is refused before it is parsed', async () => {
  expect(await mistakes(readWorldFile(file('deep.yaml', '['.repeat(1_000_000))))).toEqual([
    'deep.yaml: lists and maps in brackets are nested deeper than 1000',
  ]);
});

test.runIf(existsSync('/dev/zero'))('a device and a pipe are refused at once', async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const path of ['/dev/zero', pipe]) {
    expect(await mistakes(readWorldFile(path))).toEqual([
      `--world ${path}: it is a pipe or a device, not a plain file`,
    ]);
  }
});

test('AUTH-2 an error about an unparsable world file does not quote a key', async () => {
  const texts = {
    'key.json': '{"accounts":[{"name":"a","keys":[{"name":"k","key": smst_secret}]}]}',
    'lines.json': '{"accounts": [],\n"key": smst_secret\n}',
    'key.yaml': 'accounts:\n  - name: a\n    keys: [{ name: k, key: "smst_secret }]\n',
  };
  for (const [name, text] of Object.entries(texts)) {
    const lines = await mistakes(readWorldFile(file(name, text)));
    expect(lines.join()).toContain(`${name}: `);
    expect(lines.join()).not.toMatch(/smst/);
  }
});
