import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JournalError } from '#judging/evidence/journal-line.ts';
import { Simulator } from '#src/simulator.ts';
import { internalErrorLog, requestLine, serve } from './serve.ts';

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

const refused = {
  number: 7,
  at: '2026-01-01T00:00:00.000Z',
  method: 'POST',
  endpoint: 'send',
  account_id: 'A',
  key_id: 'K',
  status: 402,
  code: 'quota_exceeded',
  duration_ms: 0.25,
  is_replay: false,
  fault: null,
  traceparent: null,
} as const;

test('a request is one line of words', () => {
  expect(requestLine('text', refused)).toBe(
    '2026-01-01T00:00:00.000Z POST send 402 quota_exceeded A 0.250ms\n',
  );
});

test('the trace that a client names comes last', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const line = requestLine('text', { ...refused, traceparent });
  expect(line.endsWith(` 0.250ms traceparent=${traceparent}\n`)).toBe(true);
});

test('an unknown field has a placeholder, so the columns stay aligned', () => {
  const unknown = { ...refused, endpoint: null, account_id: null, key_id: null, code: null };
  expect(requestLine('text', unknown)).toBe(
    '2026-01-01T00:00:00.000Z POST unknown 402 - anonymous 0.250ms\n',
  );
});

test('a request is one line of JSON', () => {
  const line = requestLine('json', refused);
  expect(JSON.parse(line)).toEqual(refused);
  expect(line.indexOf('\n')).toBe(line.length - 1);
});
