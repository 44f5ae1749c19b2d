import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '#io/command-error.ts';
import { checkFolder, readSchedule, writeFindings } from './finding-files.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-findings-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const complain = (line: string) => expect.unreachable(line);
const again = { command: ['true'], flags: [], intents: {} };

test('an exploration removes the findings of an earlier one, and no other file', () => {
  const out = join(folder, 'earlier');
  const others = [
    'finding-login.json',
    'finding-1.test.js',
    'finding-1.json.bak',
    'test_finding_x.py',
  ];
  const earlier = ['finding-1.json', 'finding-1.test.ts', 'test_finding_1.py', 'finding-12.json'];
  mkdirSync(out);
  for (const name of [...others, ...earlier]) writeFileSync(join(out, name), '');
  writeFileSync(join(out, 'finding-3.json'), '{\n  "schedule": [],\n  "shrunk": true }');
  writeFileSync(join(out, 'finding-3.test.ts'), '// Replays a finding of smstwin explore: fails');
  writeFileSync(join(out, 'test_finding_3.py'), '"""Replays a finding of smstwin explore: fails');
  checkFolder(out);
  expect(writeFindings(out, [], again, complain)).toEqual([]);
  expect(readdirSync(out).sort()).toEqual(others.sort());
});

test('a folder that cannot be created leaves none of its parents', () => {
  const parent = join(folder, 'left');
  const out = join(parent, 'below', 'x'.repeat(300));
  expect(() => checkFolder(out)).toThrow(
    new UsageError(`--out ${out}: cannot be written (ENAMETOOLONG); name another folder`),
  );
  expect(existsSync(parent)).toBe(false);
});

test.each<[string, string, (path: string) => void]>([
  ['finding-1.json', 'not a finding of smstwin', (path) => writeFileSync(path, '{"schedule": 1}')],
  ['finding-2.test.ts', 'not a finding of smstwin', (path) => writeFileSync(path, '// mine')],
  [
    'test_finding_3.py',
    'it is a symbolic link, not a plain file',
    (path) => symlinkSync('x', path),
  ],
  ['finding-4.json', 'it is a folder, not a plain file', mkdirSync],
])('%s of another program is refused before anything is run, and stays', (name, what, put) => {
  const out = join(folder, `foreign-${name}`);
  const path = join(out, name);
  mkdirSync(out);
  put(path);
  const before = lstatSync(path);
  const line = `cannot be written: ${what}; move it away, or name another file`;
  expect(() => checkFolder(out)).toThrow(new UsageError(`--out ${out}: ${path} ${line}`));
  const complaints: string[] = [];
  writeFindings(out, [], again, (complaint) => complaints.push(complaint));
  expect(complaints).toEqual([expect.stringContaining(what)]);
  expect(lstatSync(path)).toMatchObject({ ino: before.ino, size: before.size });
});

test('an exploration without findings creates no folder', () => {
  writeFindings(join(folder, 'none'), [], again, complain);
  expect(readdirSync(folder)).not.toContain('none');
});

test('a folder that cannot be made is refused, also in /proc', () => {
  const file = join(folder, 'a-file');
  writeFileSync(file, '');
  for (const [out, code] of [
    ['/proc/x/y', 'ENOENT'],
    [file, 'ENOTDIR'],
    [join(file, 'x'), 'ENOTDIR'],
  ]) {
    expect(() => checkFolder(out ?? '')).toThrow(
      new UsageError(`--out ${out}: cannot be written (${code}); name another folder`),
    );
  }
});

test('a folder that can be made is left as it was', () => {
  checkFolder(join(folder, 'new', 'findings'));
  expect(readdirSync(folder)).not.toContain('new');
});

const at = { endpoint: 'send', intent: 1, attempt: 1 };

test.each([
  ['{"foo": 1}', ['schedule: is missing: expected a list']],
  ['[]', ['expected at least one fault; got a list of 0']],
  ['"hang"', ['expected a schedule, which is a list of faults, or a finding; got "hang"']],
  [
    JSON.stringify([{ at: { ...at, endpoint: 'sned', attempt: 0 }, fault: 'hang', when: 1 }]),
    [
      '[0].at.endpoint: expected one of "send", "dashboard_send", "external_send", "received", "tasks", "read", "stats"; got "sned"',
      '[0].at.attempt: expected at least 1; got 0',
      '[0].when: this key is not known here',
    ],
  ],
  [
    JSON.stringify([
      { at, fault: 'hang' },
      { at, fault: 'slow' },
    ]),
    ['[1].at: has a fault already, by [0]: remove one of the two'],
  ],
])('a schedule of %s is refused, with each mistake and its place', (text, mistakes) => {
  const file = join(folder, 'schedule.json');
  writeFileSync(file, text);
  expect(() => readSchedule(file)).toThrow(
    new UsageError(...mistakes.map((mistake) => `--schedule ${file}: ${mistake}`)),
  );
});

test('a schedule that cannot be read is refused with what to do', () => {
  const file = join(folder, 'absent.json');
  expect(() => readSchedule(file)).toThrow(
    new UsageError(`--schedule ${file}: there is no such file; check the path`),
  );
});
