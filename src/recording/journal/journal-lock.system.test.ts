/**
 * The lock of a journal, contended by several processes, some of which leave a stale lock behind.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-race-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const racers = 6;
const raceMs = 3_000;

/**
 * The owner of the lock makes a folder, which fails if a second owner exists. Every third lock is
 * left stale.
 */
const racer = `
  import { mkdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
  import { lockJournal } from '${new URL('./journal-lock.ts', import.meta.url)}';
  const [journal, raceMs] = process.argv.slice(-2);
  let acquired = 0;
  let shared = 0;
  const until = Date.now() + Number(raceMs);
  while (Date.now() < until) {
    let unlock;
    try {
      unlock = lockJournal(journal);
    } catch (error) {
      if (error.name !== 'JournalError') throw error;
      continue;
    }
    acquired++;
    try {
      mkdirSync(journal + '.inside');
      rmdirSync(journal + '.inside');
    } catch {
      shared++;
    }
    if (acquired % 3 === 0) {
      const left = journal + '.left-' + process.pid;
      writeFileSync(left, JSON.stringify({ pid: process.pid, started: 'before' }));
      renameSync(left, journal + '.lock');
    } else {
      unlock();
    }
  }
  console.log(JSON.stringify({ acquired, shared }));
`;

function race(journal: string): Promise<{ acquired: number; shared: number }> {
  const flags = ['--import', 'tsx', '--input-type=module', '-e', racer, journal, String(raceMs)];
  const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  return new Promise((resolve) => child.on('close', () => resolve(JSON.parse(out))));
}

const isLinux = process.platform === 'linux';
test.runIf(isLinux)(
  'processes that race for a journal and leave stale locks never own it at the same time',
  async () => {
    const journal = join(folder, 'run.ndjson');
    const ends = await Promise.all(Array.from({ length: racers }, () => race(journal)));
    expect(ends.reduce((sum, { shared }) => sum + shared, 0)).toBe(0);
    expect(ends.reduce((sum, { acquired }) => sum + acquired, 0)).toBeGreaterThan(50);
    const left = readdirSync(folder).filter((name) => name !== 'run.ndjson.lock');
    expect(left).toEqual([]);
  },
);
