import { expect, test } from 'vitest';
import { JournalError } from '../recording/journal-error.ts';
import { internalErrorLog } from './serve.ts';

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
  log(new Error('a bug'));
  expect(lines[2]).toContain('at ');
});
