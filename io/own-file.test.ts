import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CommandError, UsageError } from './command-error.ts';
import { createWhole, type OwnKind, obstacleTo, openOwn, removeOwn, writeOwn } from './own-file.ts';

const kind: OwnKind = { name: 'note', isOwn: (start) => start.startsWith('note ') };
const continued: OwnKind = { ...kind, isContinued: true };

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-own-'));
  path = join(folder, 'note.txt');
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (text: string, mode?: number) => writeOwn({ path, kind, mode }, text);
const line = (what: string) =>
  `${path}: cannot be written: ${what}; move it away, or name another file`;

const refused: [string, string, () => void][] = [
  ['a file of another program', 'not a note of smstwin', () => writeFileSync(path, 'other')],
  ['a file that begins alike', 'not a note of smstwin', () => writeFileSync(path, 'notes')],
  ['white space', 'not a note of smstwin', () => writeFileSync(path, '\n')],
  ['a folder', 'it is a folder, not a plain file', () => mkdirSync(path)],
  [
    'a pipe',
    'it is a pipe or a device, not a plain file',
    () => void execFileSync('mkfifo', [path]),
  ],
  [
    'a link to nothing',
    'it is a symbolic link, not a plain file',
    () => symlinkSync(join(folder, 'nowhere'), path),
  ],
  [
    'a link to a file of its kind',
    'it is a symbolic link, not a plain file',
    () => {
      writeFileSync(join(folder, 'target'), 'note 1');
      symlinkSync('target', path);
    },
  ],
];

test.each(refused)('%s is neither replaced nor removed, and stays', (_, what, put) => {
  put();
  const [before, names] = [lstatSync(path), readdirSync(folder)];
  expect(obstacleTo(path, kind)).toBe(line(what).slice(path.length + 2));
  expect(() => write('note 2')).toThrow(new UsageError(line(what)));
  expect(() => removeOwn(path, kind)).toThrow(what);
  expect(createWhole(path, 'note 2')).toBe(false);
  expect(lstatSync(path)).toMatchObject({ ino: before.ino, mode: before.mode, size: before.size });
  expect(readdirSync(folder)).toEqual(names);
  if (existsSync(join(folder, 'target')))
    expect(readFileSync(join(folder, 'target'), 'utf8')).toBe('note 1');
});

test.each(['', 'note 1', '\u{feff}note 1'])('a file of %j is replaced, and removed', (text) => {
  writeFileSync(path, text);
  expect(obstacleTo(path, kind)).toBeUndefined();
  write('note 2');
  expect(readFileSync(path, 'utf8')).toBe('note 2');
  removeOwn(path, kind);
  expect(readdirSync(folder)).toEqual([]);
});

test('a replaced file keeps its mode, unless another one is asked for', () => {
  write('note 1');
  chmodSync(path, 0o640);
  write('note 2');
  expect(statSync(path).mode & 0o777).toBe(0o640);
  write('note 3', 0o600);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a replaced file keeps its text under its other name; one that is changed in place is refused', () => {
  writeFileSync(path, 'note 1');
  linkSync(path, join(folder, 'other'));
  expect(() => openOwn(path, continued)).toThrow('it is a hard link');
  write('note 2');
  expect(readFileSync(join(folder, 'other'), 'utf8')).toBe('note 1');
  expect(readFileSync(path, 'utf8')).toBe('note 2');
});

test.each(['r'.repeat(255), ' \n\t"\'*ü😀\u0007', '-rf', '...'])(
  'the name %j is no obstacle',
  (name) => {
    path = join(folder, name);
    write('note 1');
    write('note 2');
    expect(readdirSync(folder)).toEqual([name]);
    expect(readFileSync(path, 'utf8')).toBe('note 2');
  },
);

test('a name with odd characters is one line of an error', () => {
  path = join(folder, 'a\nb\u001b[2J');
  writeFileSync(path, 'other');
  expect(() => write('note 1')).toThrow(
    expect.objectContaining({
      lines: [line('not a note of smstwin').replace(path, `${folder}/a\\nb\\u001b[2J`)],
    }),
  );
});

test('a folder that is missing or a file: no file is left, and the code says why', () => {
  path = join(folder, 'absent', 'note.txt');
  expect(obstacleTo(path, kind)).toContain('check that its folder exists');
  expect(() => write('note 1')).toThrow(
    new CommandError(1, `${path}: cannot be written (ENOENT); name another file`),
  );
  writeFileSync(join(folder, 'file'), '');
  path = join(folder, 'file', 'note.txt');
  expect(obstacleTo(path, kind)).toContain('check that its folder exists');
  expect(() => write('note 1')).toThrow(CommandError);
  expect(readdirSync(folder)).toEqual(['file']);
});
