import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Simulator } from '../../simulator.ts';

let folder: string;
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-lock-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const newFile = () => join(folder, `${++files}.ndjson`);
const open = (journal: string) => new Simulator({ clock: 'manual' }, { journal });

test('a second writer of a journal is refused in one line, whichever path it uses', async () => {
  const file = newFile();
  const first = open(file);
  const refusal = `process ${process.pid} writes this journal; stop it, or record in another file`;
  expect(() => open(file)).toThrow(new RegExp(`^[^\\n]*: ${refusal}$`));
  symlinkSync(file, `${file}.link`);
  expect(() => open(`${file}.link`)).toThrow(refusal);
  await first.close();
  expect(existsSync(`${file}.lock`)).toBe(false);
  await open(file).close();
});

test('a run that fails to start releases its journal', async () => {
  const file = newFile();
  await open(file).close();
  expect(() => new Simulator({ clock: 'manual', seed: 2 }, { journal: file })).toThrow(
    'another seed',
  );
  expect(existsSync(`${file}.lock`)).toBe(false);
  const simulation = () => {
    throw new Error('cannot start');
  };
  expect(() => new Simulator({ clock: 'manual' }, { journal: file, simulation })).toThrow(
    'cannot start',
  );
  expect(existsSync(`${file}.lock`)).toBe(false);
  await open(file).close();
});

const gone = spawnSync(process.execPath, ['--version']).pid;
test.each([
  ['a process that has exited', JSON.stringify({ pid: gone, started: '1' })],
  ['a process killed while writing it', '{"pi'],
])('a lock left by %s is taken over', async (_, lock) => {
  const file = newFile();
  writeFileSync(`${file}.lock`, lock);
  const simulator = open(file);
  expect(JSON.parse(readFileSync(`${file}.lock`, 'utf8'))).toMatchObject({ pid: process.pid });
  await simulator.close();
});

test('a lock file that is too large is refused by name, and left as it is', () => {
  const file = newFile();
  writeFileSync(`${file}.lock`, '{"pid":');
  truncateSync(`${file}.lock`, 2 ** 20);
  expect(() => open(file)).toThrow(
    /^[^\n]*\.lock: it has 1048576 bytes, and at most 1024 bytes are read; move it away[^\n]*$/,
  );
  expect(statSync(`${file}.lock`).size).toBe(2 ** 20);
  rmSync(`${file}.lock`);
});

test('an empty lock counts as being written for a second', async () => {
  const file = newFile();
  writeFileSync(`${file}.lock`, '');
  expect(() => open(file)).toThrow(`${file}: another process writes this journal`);
  const secondAgo = Date.now() / 1_000 - 1.1;
  utimesSync(`${file}.lock`, secondAgo, secondAgo);
  await open(file).close();
});

test('one process at a time removes a stale lock, and leaves no file behind', async () => {
  mkdirSync(join(folder, 'alone'));
  const file = join(folder, 'alone', 'run.ndjson');
  const left = JSON.stringify({ pid: gone, started: '1' });
  writeFileSync(`${file}.lock`, left);
  writeFileSync(`${file}.lock.takeover`, JSON.stringify({ pid: process.ppid, started: null }));
  expect(() => open(file)).toThrow(`process ${process.ppid} writes this journal`);
  writeFileSync(`${file}.lock.takeover`, left);
  await open(file).close();
  expect(readdirSync(join(folder, 'alone'))).toEqual(['run.ndjson']);
});

const isLinux = process.platform === 'linux';
test.runIf(isLinux)(
  'a lock is stale if another process has its pid by now, and held if its own process runs',
  () => {
    const file = newFile();
    const stat = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    writeFileSync(`${file}.lock`, JSON.stringify({ pid: process.ppid, started }));
    expect(() => open(file)).toThrow(`process ${process.ppid} writes this journal`);
    writeFileSync(`${file}.lock`, JSON.stringify({ pid: process.ppid, started: `${started}0` }));
    void open(file).close();
  },
);
