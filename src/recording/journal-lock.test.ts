import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Simulator } from '../simulator.ts';

let folder: string;
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-lock-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const newFile = () => join(folder, `${++files}.ndjson`);
const open = (journal: string) => new Simulator({ clock: 'manual' }, { journal });

test('a journal is written by one at a time: a second is refused in one line, by whatever path', async () => {
  const file = newFile();
  const first = open(file);
  const refusal = `the process ${process.pid} writes this journal; stop it first, or record in another file`;
  expect(() => open(file)).toThrow(new RegExp(`^[^\\n]*: ${refusal}$`));
  symlinkSync(file, `${file}.link`);
  expect(() => open(`${file}.link`)).toThrow(refusal);
  await first.close();
  expect(existsSync(`${file}.lock`)).toBe(false);
  await open(file).close();
});

test('a run that does not come to be gives its journal up', async () => {
  const file = newFile();
  await open(file).close();
  expect(() => new Simulator({ clock: 'manual', seed: 2 }, { journal: file })).toThrow(
    'another seed',
  );
  expect(existsSync(`${file}.lock`)).toBe(false);
  const simulation = () => {
    throw new Error('no life');
  };
  expect(() => new Simulator({ clock: 'manual' }, { journal: file, simulation })).toThrow(
    'no life',
  );
  expect(existsSync(`${file}.lock`)).toBe(false);
  await open(file).close();
});

const gone = spawnSync(process.execPath, ['--version']).pid;
test.each([
  ['a process that is gone', JSON.stringify({ pid: gone, started: '1' })],
  ['nobody, having been cut short', '{"pi'],
])('a lock left by %s is taken over', async (_, lock) => {
  const file = newFile();
  writeFileSync(`${file}.lock`, lock);
  const simulator = open(file);
  expect(JSON.parse(readFileSync(`${file}.lock`, 'utf8'))).toMatchObject({ pid: process.pid });
  await simulator.close();
});

test('a lock without a word in it may be one that is just being written, for a second', async () => {
  const file = newFile();
  writeFileSync(`${file}.lock`, '');
  expect(() => open(file)).toThrow(`${file}: another process writes this journal`);
  const secondAgo = Date.now() / 1_000 - 1.1;
  utimesSync(`${file}.lock`, secondAgo, secondAgo);
  await open(file).close();
});

test('what a gone process left is taken over by one at a time, and leaves nothing behind', async () => {
  mkdirSync(join(folder, 'alone'));
  const file = join(folder, 'alone', 'run.ndjson');
  const left = JSON.stringify({ pid: gone, started: '1' });
  writeFileSync(`${file}.lock`, left);
  writeFileSync(`${file}.lock.takeover`, JSON.stringify({ pid: process.ppid, started: null }));
  expect(() => open(file)).toThrow(`the process ${process.ppid} writes this journal`);
  writeFileSync(`${file}.lock.takeover`, left);
  await open(file).close();
  expect(readdirSync(join(folder, 'alone'))).toEqual(['run.ndjson']);
});

const isLinux = process.platform === 'linux';
test.runIf(isLinux)(
  'a number that another process has by now is no lock, and that of its own is',
  () => {
    const file = newFile();
    const stat = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    writeFileSync(`${file}.lock`, JSON.stringify({ pid: process.ppid, started }));
    expect(() => open(file)).toThrow(`the process ${process.ppid} writes this journal`);
    writeFileSync(`${file}.lock`, JSON.stringify({ pid: process.ppid, started: `${started}0` }));
    void open(file).close();
  },
);

test.runIf(isLinux)('what is no file is not locked', async () => {
  await open('/dev/null').close();
  expect(existsSync('/dev/null.lock')).toBe(false);
});
