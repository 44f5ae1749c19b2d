import { expect, test } from 'vitest';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { defaultAssumptions } from '../../sim/assumptions.ts';
import { readJsonBody } from './send-message.ts';

const request: ApiRequest = {
  method: 'POST',
  path: '/',
  query: '',
  authorization: undefined,
  contentType: undefined,
  clientIp: '192.0.2.1',
  forwardedFor: undefined,
  body: '{}',
};

function read(body: string | Uint8Array) {
  return readJsonBody({ ...request, contentType: 'application/json', body }, defaultAssumptions);
}

test.each([
  ['{}', {}],
  [' \n{"a":[1,null]} ', { a: [1, null] }],
  ['{"to":"ü","to":"é"}', { to: 'é' }],
])('SVC-4 %j is a JSON object, as text and as bytes', (text, object) => {
  expect(read(text)).toEqual({ kind: 'object', object });
  expect(read(Buffer.from(text))).toEqual({ kind: 'object', object });
});

test.each([
  ['', 'empty'],
  [' ', 'not valid JSON'],
  ['{', 'not valid JSON'],
  ["{'a':1}", 'not valid JSON'],
  ['{"a":1,}', 'not valid JSON'],
  ['{"a":NaN}', 'not valid JSON'],
  ['{} {}', 'not valid JSON'],
  ['\ufeff{}', 'not valid JSON'],
  ['to=%2B1', 'not valid JSON'],
  ['null', 'not a JSON object'],
  ['true', 'not a JSON object'],
  ['7', 'not a JSON object'],
  ['"text"', 'not a JSON object'],
  ['[]', 'not a JSON object'],
  ['[{}]', 'not a JSON object'],
])('SVC-4 %j is %s', (text, detail) => {
  for (const body of [text, Buffer.from(text)]) {
    expect(read(body)).toMatchObject({
      kind: 'malformed_json',
      detail: expect.stringContaining(detail),
    });
  }
});

test.each([
  [[0x7b, 0xff, 0x7d]],
  [[0xc3]],
  // A surrogate in UTF-8, and an overlong slash.
  [[0x22, 0xed, 0xa0, 0x80, 0x22]],
  [[0x22, 0xc0, 0xaf, 0x22]],
])('SVC-4 the bytes %j are not UTF-8', (bytes) => {
  expect(read(Uint8Array.from(bytes))).toMatchObject({ detail: expect.stringContaining('UTF-8') });
});

test('SVC-4 a view of a larger buffer is read inside its bounds', () => {
  const bytes = Buffer.from('garbage{"a":1}garbage');
  expect(read(bytes.subarray(7, 14))).toEqual({ kind: 'object', object: { a: 1 } });
});

test('SVC-4 a field called __proto__ is a field, and pollutes nothing', () => {
  const body = read('{"__proto__":{"to":"x"}}');
  expect(body.kind === 'object' && body.object['to']).toBeUndefined();
  expect(body.kind === 'object' && Object.keys(body.object)).toEqual(['__proto__']);
});

test.each([
  ['application/json', true],
  ['application/json; charset=utf-8', true],
  ['application/json;charset=utf-8', true],
  ['Application/JSON ; x=y', true],
  ['application/json;', true],
  [undefined, false],
  ['', false],
  ['text/plain', false],
  ['text/json', false],
  ['application/jsonp', false],
  ['application/json-seq', false],
  ['application/problem+json', false],
  ['application/x-www-form-urlencoded', false],
  ['text/plain, application/json', false],
])(
  'SVC-4 a body declared as %s is read: %s; contentType ignore reads it always',
  (contentType, isRead) => {
    expect(readJsonBody({ ...request, contentType }, defaultAssumptions).kind).toBe(
      isRead ? 'object' : 'unsupported_media_type',
    );
    expect(
      readJsonBody({ ...request, contentType }, { ...defaultAssumptions, contentType: 'ignore' })
        .kind,
    ).toBe('object');
  },
);

test.each([
  [undefined, true],
  ['', true],
  ['identity', true],
  ['Identity', true],
  ['gzip', false],
  ['identity, gzip', false],
  ['br', false],
])(
  'SVC-4 a body with the Content-Encoding %s is read: %s; contentType ignore reads its bytes as they are',
  (contentEncoding, isRead) => {
    const encoded = { ...request, contentType: 'application/json', contentEncoding };
    expect(readJsonBody(encoded, defaultAssumptions).kind).toBe(
      isRead ? 'object' : 'unsupported_content_encoding',
    );
    const ignoring = { ...defaultAssumptions, contentType: 'ignore' } as const;
    expect(readJsonBody(encoded, ignoring).kind).toBe('object');
  },
);
