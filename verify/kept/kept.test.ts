/**
 * Files that 1.0 wrote load for ever: CHANGELOG.md promises it. A copy, because a journal that is
 * opened goes on.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { replay } from '#cli/replay/replay-journal.ts';
import { readReport } from '#judging/report/result.ts';
import { readWorldFile } from '#src/config/world-file.ts';
import { Simulator } from '#src/simulator.ts';

const kept = (name: string) => fileURLToPath(new URL(`1.0/${name}`, import.meta.url));

test('a journal of 1.0 replays with the same replies', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-kept-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const journal = join(folder, 'journal.ndjson');
  copyFileSync(kept('journal.ndjson'), journal);
  let text = '';
  const out = (more: string) => {
    text += more;
  };
  expect(await replay([journal], { out, error: out, env: {}, version: '1.0.0' })).toBe(0);
  expect(text).toMatch(/7 inputs replayed: every reply is the same/);
});

test('a snapshot and a world file of 1.0 load', async () => {
  const world = await readWorldFile(kept('world.json'));
  const simulator = new Simulator({ clock: 'manual', seed: 10, world });
  onTestFinished(() => simulator.close());
  const snapshot = JSON.parse(readFileSync(kept('snapshot.json'), 'utf8'));
  simulator.snapshots.restore(snapshot);
  const messages = simulator.messages.list({});
  expect(messages.map(({ status }) => status).sort()).toEqual(['delivered', 'delivered', 'failed']);
});

test('a report of 1.0 can be compared with', () => {
  expect(Object.keys(readReport(kept('report.json')))).not.toEqual([]);
});
