import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JournalError } from '#judging/evidence/journal-error.ts';
import { Simulator } from '#src/simulator.ts';
import { internalErrorLog, serve } from './serve.ts';

test('a journal that cannot be written is reported in one line, once a minute; a bug with its stack', () => {
  const lines: string[] = [];
  let nowMs = 1_000_000;
  const log = internalErrorLog(
    (line) => lines.push(line),
    () => nowMs,
  );
  const full = new JournalError('run.ndjson: cannot be written: ENOSPC');
  for (let n = 0; n < 100; n++) log(full);
  nowMs += 59_999;
  log(full);
  expect(lines).toEqual([
    'run.ndjson: cannot be written: ENOSPC; every request is 500 until a restart with room on the disk',
  ]);
  nowMs += 1;
  log(full);
  expect(lines).toHaveLength(2);
  log(new JournalError('other.ndjson: cannot be written: ENOSPC'));
  expect(lines[2]).toContain('other.ndjson');
  log(new Error('a bug'));
  expect(lines[3]).toBe('Error: a bug');
  expect(lines[4]).toContain('at ');
});

test('what serve says of a journal is safe to print, whatever its name is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-serve-'));
  const journal = join(folder, 'a\u001b[2J\n::error::b.ndjson');
  await new Simulator({ clock: 'manual' }, { journal }).close();
  appendFileSync(journal, '{"cut');
  let printed = '';
  const error = (text: string) => {
    printed += text;
  };
  const flags = ['--journal', journal, '--clock', 'manual', '--host', '192.0.2.1', '--no-control'];
  await expect(serve(flags, { out: () => {}, error, env: {}, version: '1' })).rejects.toThrow();
  rmSync(folder, { recursive: true });
  expect(printed).toBe(
    `smstwin: ${folder}/a\\u001b[2J\\n::error::b.ndjson: the last line is incomplete and was ignored\n`,
  );
});
