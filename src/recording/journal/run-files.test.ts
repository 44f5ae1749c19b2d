import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
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
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { replayJournal } from '#cli/replay/replay-journal.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import { Simulator } from '../../simulator.ts';

let folder: string;
let runs = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-own-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A journal's path in a folder of its own, with a file that must survive. */
function scene(): { readonly journal: string; readonly precious: string } {
  const own = join(folder, `${++runs}`);
  mkdirSync(own);
  const precious = join(own, 'precious');
  writeFileSync(precious, 'precious\n');
  return { journal: join(own, 'run.ndjson'), precious };
}

function refusalOf(journal: string): JournalError {
  try {
    void new Simulator({ clock: 'manual' }, { journal }).close();
  } catch (error) {
    if (error instanceof JournalError) return error;
    throw error;
  }
  throw new Error('the journal was opened');
}

const plant = {
  'a symbolic link': symlinkSync,
  'a hard link': linkSync,
  'a file of the user': (precious: string, path: string) =>
    writeFileSync(path, readFileSync(precious)),
};
const names = ['', '.next', '.checkpoint-1', '.lock'];
const rows = Object.entries(plant).flatMap(([what, put]) =>
  names.map((name) => [what, name, put] as const),
);

test.each(rows)('%s as the journal%s is refused by name, and stays', (_, name, put) => {
  const { journal, precious } = scene();
  const planted = `${journal}${name}`;
  put(precious, planted);
  const before = readdirSync(join(journal, '..'));
  const { message } = refusalOf(journal);
  expect(message).toContain(name === '' ? '' : `${planted}: `);
  expect(message).not.toContain('\n');
  expect(readFileSync(precious, 'utf8')).toBe('precious\n');
  expect(readFileSync(planted, 'utf8')).toBe('precious\n');
  expect(readdirSync(join(journal, '..'))).toEqual(
    expect.arrayContaining([...before, basename(planted)]),
  );
});

test.runIf(process.platform === 'linux').each(names)(
  'a pipe as the journal%s is refused at once',
  (name) => {
    const { journal } = scene();
    const pipe = `${journal}${name}`;
    execFileSync('mkfifo', [pipe]);
    expect(refusalOf(journal).message).toBe(
      `${pipe}: it is a pipe or a device, not a plain file; ` +
        'move it away, or name another journal',
    );
    if (name === '') expect(() => replayJournal(pipe)).toThrow('it is a pipe or a device');
  },
);

test.runIf(existsSync('/dev/null'))('a device as a journal is refused', () => {
  expect(refusalOf('/dev/null').message).toContain('/dev/null: it is a pipe or a device');
  expect(existsSync('/dev/null.lock')).toBe(false);
});

test('an existing journal is readable by its owner alone from then on', async () => {
  const { journal } = scene();
  writeFileSync(journal, '');
  for (const state of ['empty', 'continued']) {
    chmodSync(journal, 0o666);
    await new Simulator({ clock: 'manual' }, { journal }).close();
    expect(statSync(journal).mode & 0o777, state).toBe(0o600);
  }
});

test('leftovers of a killed process are removed', async () => {
  const { journal } = scene();
  writeFileSync(`${journal}.next`, '{"journal":2,"smst');
  writeFileSync(`${journal}.checkpoint-1`, 'smstwin checkpoint\nx');
  await new Simulator({ clock: 'manual' }, { journal }).close();
  expect(readdirSync(join(journal, '..')).sort()).toEqual(['precious', 'run.ndjson']);
});
