/**
 * Journals of earlier formats. The one of the first format was written by an early version with
 * every operation that it knew.
 * If `assumptions.patch` differs: add the new assumption to `later` in operations/assumptions.ts.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { replayJournal } from '#cli/replay/replay-journal.ts';
import { recordedName } from '#src/operations/define.ts';
import { operations } from '#src/operations/table.ts';
import { Simulator } from '#src/simulator.ts';

const journal = fileURLToPath(new URL('journal-1.ndjson', import.meta.url));
const second = fileURLToPath(new URL('journal-2.ndjson', import.meta.url));
const recordedSince = [
  'sims.delete',
  'sims.addToPool',
  'sims.removeFromPool',
  'faults.patch',
  'referee.restart',
];

test('an old journal plays, and every input but a snapshot of its format is answered as it was', () => {
  const { inputs, differences } = replayJournal(journal);
  expect(inputs).toBe(46);
  const refused =
    /^invalid: expected snapshot format 2; restore this one with the version that took/;
  expect(differences).toMatchObject([
    { input: 'snapshot.restore', actual: expect.stringMatching(refused) },
  ]);
});

test('a run of the first format goes on, and what follows is recorded in the present one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-recorded-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const copy = join(folder, 'run.ndjson');
  const lines = readFileSync(journal, 'utf8').split('\n');
  const beforeSnapshot = lines.slice(
    0,
    lines.findIndex((line) => line.includes('snapshot.restore')),
  );
  writeFileSync(copy, `${beforeSnapshot.join('\n')}\n`);
  const simulator = new Simulator({ clock: 'manual', seed: 3 }, { journal: copy });
  simulator.accounts.create({ name: 'later' });
  await simulator.close();
  expect(replayJournal(copy)).toMatchObject({ inputs: 40, differing: 0 });
  const text = readFileSync(copy, 'utf8');
  expect(text).toContain('"operation":"accounts.create","args":[{"name":"later"}]');
  writeFileSync(copy, text.replace('later', 'lateR'));
  expect(() => replayJournal(copy)).toThrow('its checksum differs');
});

test('a run of the second format, whose replies are all texts, plays and goes on', async () => {
  expect(replayJournal(second)).toMatchObject({ inputs: 12, differing: 0 });
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-recorded-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const copy = join(folder, 'run.ndjson');
  writeFileSync(copy, readFileSync(second));
  const simulator = new Simulator(
    { clock: 'manual', seed: 3, limits: { send: 2 } },
    { journal: copy },
  );
  await simulator.fetch('http://sms.example/api/v1/account/stats/');
  await simulator.close();
  expect(readFileSync(copy, 'utf8')).toContain(
    '"reply":{"status":401,"headers":{"www-authenticate"',
  );
  expect(replayJournal(copy)).toMatchObject({ inputs: 13, differing: 0 });
});

test('it holds every recorded operation except later ones', () => {
  const lines = readFileSync(journal, 'utf8').trim().split('\n').slice(1);
  const held = lines.map((line) => (JSON.parse(line) as { lever?: string }).lever);
  const recordedNames = operations.filter(({ recorded }) => recorded).map(recordedName);
  expect(recordedNames.filter((name) => !held.includes(name))).toEqual(recordedSince);
});
