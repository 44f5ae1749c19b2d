import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CommandError, UsageError } from '#io/command-error.ts';
import { selfSigned } from '#src/config/self-signed.ts';
import { prepareReadyFile, writeAuthority, writeReadyFile } from './ready-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-ready-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const ready = {
  base_url: 'http://127.0.0.1:1',
  control_url: null,
  pid: 1,
  seed: 1,
  accounts: [],
  pool: [],
};

test('an earlier ready file is removed, and the new one appears complete', () => {
  const file = join(folder, 'ready.json');
  writeReadyFile(file, ready);
  prepareReadyFile(file);
  expect(readdirSync(folder)).toEqual([]);
  writeReadyFile(file, ready);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ready);
  expect(readdirSync(folder)).toEqual(['ready.json']);
  expect(lstatSync(file).mode & 0o777).toBe(0o600);
});

test.each<[string, string, (path: string) => void]>([
  ['a folder', 'it is a folder, not a plain file', mkdirSync],
  [
    'a pipe',
    'it is a pipe or a device, not a plain file',
    (path) => void execFileSync('mkfifo', [path]),
  ],
  [
    'a link to a file',
    'it is a symbolic link, not a plain file',
    (path) => symlinkSync(import.meta.filename, path),
  ],
  [
    'a link to nothing',
    'it is a symbolic link, not a plain file',
    (path) => symlinkSync(join(path, 'nowhere'), path),
  ],
  [
    'a link to an earlier ready file',
    'it is a symbolic link, not a plain file',
    (path) => {
      writeReadyFile(`${path}.1`, ready);
      symlinkSync(`${path}.1`, path);
    },
  ],
  ['notes', 'not a ready file of smstwin', (path) => writeFileSync(path, 'notes')],
  [
    'JSON that begins alike',
    'not a ready file of smstwin',
    (path) => writeFileSync(path, '{"base_url": "http://127.0.0.1:1", "token": "mine"}'),
  ],
])('%s is refused in one line and left unchanged', (_, what, make) => {
  const path = join(folder, 'ready');
  make(path);
  const before = lstatSync(path);
  const line = `cannot be written: ${what}; move it away, or name another file`;
  expect(() => prepareReadyFile(path)).toThrow(new UsageError(`--ready-file ${path}: ${line}`));
  expect(() => writeReadyFile(path, ready)).toThrow(
    new UsageError(`--ready-file ${path}: ${line}`),
  );
  expect(lstatSync(path)).toMatchObject({ ino: before.ino, mode: before.mode, size: before.size });
});

test('a certificate of another program next to the ready file is refused and left as it is', async () => {
  const file = join(folder, 'ready.json');
  const { ca } = await selfSigned(['localhost'], Date.now());
  const path = writeAuthority(ca, file);
  expect(writeAuthority(ca, file)).toBe(path);
  writeFileSync(path, rootCertificates[0] ?? '');
  expect(() => writeAuthority(ca, file)).toThrow('not a certificate of smstwin');
  expect(readFileSync(path, 'utf8')).toBe(rootCertificates[0]);
});

test('a failed write leaves no partial file behind', () => {
  const path = join(folder, 'absent', 'ready');
  expect(() => writeReadyFile(path, ready)).toThrow(
    new CommandError(1, `--ready-file ${path}: cannot be written (ENOENT); name another file`),
  );
  expect(readdirSync(folder)).toEqual([]);
});
