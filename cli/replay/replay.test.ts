import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { UsageError } from '#io/command-error.ts';
import { Simulator } from '#src/simulator.ts';
import { checkpointTaken } from '#verify/testkit/journal-files.ts';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { replay } from './replay-journal.ts';

const io = { out: () => {}, error: () => {}, env: {}, version: '1' };

test('an empty journal name is refused in one line', async () => {
  await expect(replay([''], io)).rejects.toThrow(
    new UsageError('journal: expected the name of a file; the value is empty'),
  );
});

test('another file than a journal is named, with what reads it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-replay-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const recording = join(folder, 'week.ndjson');
  writeFileSync(recording, '{"sent":"2026-01-01T00:00:00.000Z"}\n');
  const readBy = 'a recording, which smstwin referee and smstwin conform --traffic read';
  await expect(replay([recording], io)).rejects.toThrow(
    `${recording}: not a journal of smstwin: it is ${readBy}`,
  );
});

async function printed(...argv: string[]): Promise<string> {
  let text = '';
  const out = (more: string) => {
    text += more;
  };
  expect(await replay(argv, { ...io, out })).toBe(0);
  return text;
}

test('a replay says from which point it plays', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-replay-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const journal = join(folder, 'run.ndjson');
  const simulator = new Simulator({ clock: 'manual' }, { journal, journalMaxBytes: 2 });
  sendBy(simulator, 0, {});
  const played = '1 input replayed: every reply is the same, byte for byte.\n';
  expect(await printed(journal)).toBe(played);
  expect(JSON.parse(await printed(journal, '--json'))).toMatchObject({ checkpoint: null });
  await checkpointTaken(journal, 1);
  await simulator.close();
  const at = '2026-01-01T00:00:00.000Z';
  expect(await printed(journal)).toBe(
    `0 inputs from the checkpoint of ${at}, after 1 input, replayed: ` +
      'every reply is the same, byte for byte.\n',
  );
  expect(JSON.parse(await printed(journal, '--json'))).toMatchObject({
    started_at: at,
    checkpoint: { at, inputs: 1 },
    inputs: 0,
  });
});
