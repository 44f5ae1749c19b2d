/** The recount finds each breach of a limit. */
import { expect, test } from 'vitest';
import { type AuditEntry, recount } from './recount.ts';

const startMs = Date.parse('2026-01-01T00:00:00.000Z');

function entry(atMs: number, passed: boolean, user = 'a'): AuditEntry {
  return { atMs: startMs + atMs, endpoint: 'send', user, passed };
}

test('LIMIT-1 a full window that refuses the next request is correct', () => {
  const [found] = recount([entry(0, true), entry(1, true), entry(2, false)], { send: 2 });
  expect(found).toMatchObject({ passed: 2, refused: 1, over: 0, under: 0, fullestWindow: 2 });
});

test('LIMIT-1 one request too many is over-admission, with its time and its window', () => {
  const [found] = recount([entry(0, true), entry(1, true), entry(59_999, true)], { send: 2 });
  expect(found?.over).toBe(1);
  expect(found?.firstBreaches).toEqual([
    { kind: 'over', endpoint: 'send', user: 'a', atMs: startMs + 59_999, passedBefore: 2 },
  ]);
});

test('LIMIT-1 a refusal below the limit is under-admission', () => {
  const [found] = recount([entry(0, true), entry(1, false)], { send: 2 });
  expect(found).toMatchObject({ over: 0, under: 1 });
});

test('LIMIT-1 a token returns exactly 60 s after it was spent', () => {
  const refused = recount([entry(0, true), entry(59_999, false)], { send: 1 });
  expect(refused[0]).toMatchObject({ over: 0, under: 0 });
  const passed = recount([entry(0, true), entry(60_000, true)], { send: 1 });
  expect(passed[0]).toMatchObject({ over: 0, under: 0 });
  const late = recount([entry(0, true), entry(60_000, false)], { send: 1 });
  expect(late[0]).toMatchObject({ over: 0, under: 1 });
});

test('LIMIT-7 windows are per user, and endpoints without a limit are not counted', () => {
  const entries = [entry(0, true, 'a'), entry(0, true, 'b')];
  expect(recount(entries, { send: 1 })[0]).toMatchObject({ users: 2, over: 0 });
  expect(recount(entries, { send: null })).toEqual([]);
});
