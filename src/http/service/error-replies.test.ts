import { expect, test } from 'vitest';
import { type Assumptions, defaultAssumptions } from '../../sim/assumptions.ts';
import type { ServiceError } from '../../sim/errors.ts';
import { errorReplies, errorReply } from './error-replies.ts';

const shapes = ['code_detail', 'field_map', 'nested'] as const;

function reply(error: ServiceError, assumptions: Partial<Assumptions> = {}) {
  const {
    status,
    body,
    headers = {},
  } = errorReply(error, { ...defaultAssumptions, ...assumptions });
  return { status, headers, json: JSON.parse(body) as unknown };
}

const text: unknown = expect.stringMatching(/\.$/);

/** The document's Errors part, row by row, with its spelling. */
const documented: readonly (readonly [ServiceError, number, unknown])[] = [
  [
    { kind: 'invalid_field', failures: [{ field: 'send_at', detail: 'Must be in the future.' }] },
    400,
    { code: 'send_at', detail: 'send_at: Must be in the future.' },
  ],
  [{ kind: 'invalid_key' }, 401, { code: 'auth_invalid_keyy', detail: text }],
  [{ kind: 'quota_exceeded' }, 402, { code: 'quota_exceeded', detail: text }],
  [{ kind: 'number_not_found' }, 403, { code: 'from_number_not_found', detail: text }],
  [{ kind: 'number_access_denied' }, 403, { code: 'from_number_access_deniedd', detail: text }],
  [{ kind: 'not_found' }, 404, { detail: 'Not found.' }],
  [
    { kind: 'throttled', retryAfterSeconds: 7 },
    429,
    { detail: 'Request was throttled. Expected available in 7 seconds.' },
  ],
  [{ kind: 'device_inactive' }, 503, { code: 'device_inactive', detail: text }],
];

test.each(documented)(
  'ERR-1 ERR-2 ERR-3 SEND-5 READ-2 AUTH-3 AUTH-4 AUTH-5 %j is %i',
  (error, status, json) => {
    expect(reply(error)).toMatchObject({ status, json });
  },
);

test('ERR-1 the document has eight rows, and no other is marked as documented', () => {
  const rows = Object.entries(errorReplies).filter(([, row]) => row.isDocumented);
  expect(rows.map(([kind]) => kind)).toEqual(documented.map(([{ kind }]) => kind));
  expect(rows.map(([, row]) => [row.status, row.code])).toEqual([
    [400, undefined],
    [401, 'auth_invalid_keyy'],
    [402, 'quota_exceeded'],
    [403, 'from_number_not_found'],
    [403, 'from_number_access_deniedd'],
    [404, 'not_found'],
    [429, undefined],
    [503, 'device_inactive'],
  ]);
});

const failures = [
  { field: 'to', detail: 'Expected a string.' },
  { field: '__proto__', detail: 'Unknown field.' },
] as const;

const mapped = '{"to":["Expected a string."],"__proto__":["Unknown field."]}';
const both = 'to: Expected a string. __proto__: Unknown field.';

test.each([
  ['code_detail', 'first', '{"code":"to","detail":"to: Expected a string."}'],
  ['field_map', 'first', '{"to":["Expected a string."]}'],
  ['nested', 'first', '{"error":{"code":"to","message":"to: Expected a string."}}'],
  ['code_detail', 'all', `{"code":"to","detail":"${both}","errors":${mapped}}`],
  ['field_map', 'all', mapped],
  ['nested', 'all', `{"error":{"code":"to","message":"${both}","errors":${mapped}}}`],
] as const)('SEND-5 errorBody %s, validationScope %s', (errorBody, validationScope, body) => {
  const assumptions = { ...defaultAssumptions, errorBody, validationScope };
  expect(errorReply({ kind: 'invalid_field', failures }, assumptions)).toEqual({
    status: 400,
    body,
  });
});

test.each([
  ['code_detail', { code: 'quota_exceeded', detail: text }],
  ['field_map', { code: 'quota_exceeded', detail: text }],
  ['nested', { error: { code: 'quota_exceeded', message: text } }],
] as const)('ERR-1 errorBody %s: an error of no field', (errorBody, json) => {
  expect(reply({ kind: 'quota_exceeded' }, { errorBody })).toMatchObject({ status: 402, json });
});

test.each(shapes)(
  'ERR-4 a 429 has its detail alone and the header, whatever errorBody %s says',
  (errorBody) => {
    for (const seconds of [1, 2, 60, 1, 2]) {
      const { status, headers, json } = reply(
        { kind: 'throttled', retryAfterSeconds: seconds },
        { errorBody },
      );
      expect(status).toBe(429);
      expect(headers).toEqual({ 'retry-after': String(seconds) });
      expect(json).toEqual({
        detail: `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? '' : 's'}.`,
      });
    }
  },
);

test.each([
  ['detail_only', 'code_detail', { detail: 'Not found.' }],
  ['detail_only', 'nested', { detail: 'Not found.' }],
  ['code_detail', 'code_detail', { code: 'not_found', detail: 'Not found.' }],
  ['code_detail', 'nested', { error: { code: 'not_found', message: 'Not found.' } }],
] as const)('READ-2 notFoundBody %s with errorBody %s', (notFoundBody, errorBody, json) => {
  expect(reply({ kind: 'not_found' }, { notFoundBody, errorBody })).toMatchObject({
    status: 404,
    json,
  });
});

test.each([
  ['detail_400', 'code_detail', { detail: 'Why.' }],
  ['code_400', 'code_detail', { code: 'malformed_json', detail: 'Why.' }],
  ['code_400', 'nested', { error: { code: 'malformed_json', message: 'Why.' } }],
] as const)('SVC-4 malformedJson %s with errorBody %s', (malformedJson, errorBody, json) => {
  const error = { kind: 'malformed_json', detail: 'Why.', mistake: 'malformed_json' } as const;
  expect(reply(error, { malformedJson, errorBody })).toMatchObject({ status: 400, json });
});

test.each(shapes)('AUTH-3 a 401 says which scheme it wants, with errorBody %s', (errorBody) => {
  expect(reply({ kind: 'invalid_key' }, { errorBody }).headers).toEqual({
    'www-authenticate': 'Bearer',
  });
});

test('the answers that the document does not list', () => {
  expect(reply({ kind: 'method_not_allowed', allow: 'POST' })).toEqual({
    status: 405,
    headers: { allow: 'POST' },
    json: { code: 'method_not_allowed', detail: text },
  });
  expect(reply({ kind: 'request_id_conflict' })).toMatchObject({
    status: 409,
    json: { code: 'request_id_conflict' },
  });
  expect(reply({ kind: 'unsupported_media_type' })).toMatchObject({
    status: 415,
    json: { code: 'unsupported_media_type' },
  });
});
