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
import { afterEach, beforeEach, expect, test } from 'vitest';
import { prepareReadyFile, writeReadyFile } from './ready-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-ready-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('an earlier ready file is removed, and the new one appears complete', () => {
  const file = join(folder, 'ready.json');
  writeFileSync(file, 'old');
  prepareReadyFile(file);
  expect(readdirSync(folder)).toEqual([]);
  writeReadyFile(file, { seed: 1 });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ seed: 1 });
  expect(readdirSync(folder)).toEqual(['ready.json']);
  expect(lstatSync(file).mode & 0o777).toBe(0o600);
});

test.each([
  ['a folder', mkdirSync],
  ['a pipe', (path: string) => void execFileSync('mkfifo', [path])],
  ['a link to a file', (path: string) => symlinkSync(import.meta.filename, path)],
  ['a link to nothing', (path: string) => symlinkSync(join(path, 'nowhere'), path)],
])('%s is refused in one line and left unchanged', (_, make) => {
  const path = join(folder, 'ready');
  make(path);
  const before = lstatSync(path);
  expect(() => prepareReadyFile(path)).toThrow(
    `--ready-file ${path}: not a plain file; name another path`,
  );
  expect(lstatSync(path)).toMatchObject({ ino: before.ino, mode: before.mode });
});

test('a link under the name that an unfinished file could have is not followed', () => {
  const file = join(folder, 'ready.json');
  const other = join(folder, 'other');
  writeFileSync(other, 'kept');
  symlinkSync(other, `${file}.${process.pid}.tmp`);
  writeReadyFile(file, {});
  expect(readFileSync(other, 'utf8')).toBe('kept');
});

test('a failed write leaves no partial file behind', () => {
  const path = join(folder, 'ready');
  prepareReadyFile(path);
  mkdirSync(path);
  expect(() => writeReadyFile(path, {})).toThrow(
    /^--ready-file \S+: cannot be written \(E[A-Z]+\)$/,
  );
  expect(readdirSync(folder)).toEqual(['ready']);
});
