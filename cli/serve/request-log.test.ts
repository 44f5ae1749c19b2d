import { expect, test } from 'vitest';
import { requestLine } from './request-log.ts';

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
} as const;

test('a request is one line of words', () => {
  expect(requestLine('text', refused)).toBe(
    '2026-01-01T00:00:00.000Z POST send 402 quota_exceeded A 0.250ms\n',
  );
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
