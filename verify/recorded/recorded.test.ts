/**
 * A journal of the first format, written by an early version with every operation that it knew.
 * If `assumptions.patch` differs: add the new assumption to `later` in operations/assumptions.ts.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { replayJournal } from '../../src/cli/replay-journal.ts';
import { recordedName } from '../../src/operations/define.ts';
import { operations } from '../../src/operations/table.ts';

const journal = fileURLToPath(new URL('journal-1.ndjson', import.meta.url));
const recordedSince = ['sims.delete', 'sims.addToPool', 'sims.removeFromPool', 'referee.restart'];

test('an old journal plays, and every input is answered as it was', () => {
  expect(replayJournal(journal)).toMatchObject({ inputs: 46, differing: 0, differences: [] });
});

test('it holds every recorded operation except later ones', () => {
  const lines = readFileSync(journal, 'utf8').trim().split('\n').slice(1);
  const held = lines.map((line) => (JSON.parse(line) as { lever?: string }).lever);
  const known = operations.filter(({ recorded }) => recorded).map(recordedName);
  expect(known.filter((name) => !held.includes(name))).toEqual(recordedSince);
});
