import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { run } from '#verify/harness/fake-servers.ts';
import { expectationsOf, weigh } from './expected.ts';
import type { Result } from './result.ts';

const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The lines that the command prints for such a file. */
async function complaints(path: string): Promise<readonly string[]> {
  const { code, err } = await run('http://127.0.0.1:9', '--expected', path);
  expect(code).toBe(2);
  return err.trimEnd().split('\n');
}

test('every mistake of a file of known failures is one line with its path in the file', async () => {
  const path = join(folder, 'known.yaml');
  const entries = [
    '  - { rule: SEND-3 }',
    '  - { rule: SEND-3, reason: 5 }',
    '  - { rule: SEND-3, reason: " " }',
    '  - { rule: [], reason: x }',
    '  - { rule: SEND-3, reason: x, since: May }',
    '  - { reason: x }',
    '  - { case: SEND-3/a, rule: SEND-3, reason: x }',
    '  - SEND-3',
  ];
  writeFileSync(path, `expected:\n${entries.join('\n')}\nexpect: []\n`);
  expect(await complaints(path)).toEqual(
    [
      'expected[0].reason: is missing: expected a string',
      'expected[1].reason: expected a string, in quotes; got 5',
      'expected[2].reason: expected at least one character; got ""',
      'expected[3].rule: expected a string; got a list of 0',
      'expected[4].since: this key is not known here',
      'expected[5]: expected either "case" or "rule"; got neither',
      'expected[6]: expected either "case" or "rule"; got both',
      'expected[7]: expected an object; got "SEND-3"',
      'expect: this key is not known here',
    ].map((line) => `smstwin conform: known.yaml: ${line}`),
  );
});

test.each([
  ['empty.yaml', '', 'it is empty'],
  ['list.json', '[1]', 'expected an object; got a list of 1'],
  ['other.json', '{}', 'expected: is missing: expected a list'],
  ['broken.json', '{"expected": []', /at line 1, column 16$/],
  ['broken.yaml', 'expected: [\n', /at line 2, column 1$/],
])('%s is refused in one line', async (name, text, line) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  const [found, ...more] = await complaints(path);
  expect(more).toEqual([]);
  const start = `smstwin conform: ${name}: `;
  expect(found?.startsWith(start)).toBe(true);
  expect(found?.slice(start.length)).toMatch(line);
});

test('a file that cannot be read is named, and so is the flag', async () => {
  const missing = join(folder, 'none.json');
  const start = 'smstwin conform: --expected';
  expect(await complaints(missing)).toEqual([
    `${start} ${missing}: there is no such file; check the path`,
  ]);
  expect(await complaints(folder)).toEqual([
    `${start} ${folder}: it is a folder, not a plain file`,
  ]);
  if (existsSync('/dev/zero')) {
    const refusal = `${start} /dev/zero: it is a pipe or a device, not a plain file`;
    expect(await complaints('/dev/zero')).toEqual([refusal]);
  }
  const file = join(folder, 'large.yaml');
  writeFileSync(file, '');
  truncateSync(file, 2 ** 20 + 1);
  expect(await complaints(file)).toEqual([
    `${start} ${file}: it has 1048577 bytes, and at most 1 MiB are read`,
  ]);
});

test('the reason of a new failure holds no id and no time of the run', () => {
  const failed = (actual: string) => ({
    id: 'SEND-3/a',
    subject: 'SEND-3',
    verdict: 'failed',
    actual,
  });
  const reasonOf = (actual: string) =>
    expectationsOf([], [failed(actual) as unknown as Result], weigh([], [], []), () => actual)[0]
      ?.reason;
  const runs = [
    'read 1e7ac6df-e26a-4890-8900-f9dd16e6c53a of st0mhx81k4af1 at 2026-11-26T06:21:28.004Z (+2.4 s), 429',
    'read 2e7ac6df-e26a-4890-8900-f9dd16e6c53b of st0mhx99zz0b2 at 2026-12-01T07:00:00.123Z (+11.9 s), 429',
  ];
  expect(new Set(runs.map(reasonOf))).toEqual(
    new Set(['read <id> of <id> at <time> (<time>), 429']),
  );
});
