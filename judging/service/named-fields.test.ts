import { expect, test } from 'vitest';
import { namesField } from './named-fields.ts';

/** Bodies as common frameworks and standards write them. */
const naming: Readonly<Record<string, unknown>> = {
  code: { code: 'to', detail: 'not valid' },
  'RFC 9457': { title: 'x', errors: [{ detail: 'bad', pointer: '#/to' }] },
  'RFC 7807': { title: 'x', 'invalid-params': [{ name: 'to', reason: 'bad' }] },
  'JSON:API': { errors: [{ code: 'invalid', source: { pointer: '/data/attributes/to' } }] },
  Ajv: { errors: [{ instancePath: '', params: { missingProperty: 'to' } }] },
  Fastify: { error: 'Bad Request', message: 'body/to must match pattern' },
  'Fastify, a field that is missing': { message: "body must have required property 'to'" },
  Spring: { errors: [{ objectName: 'send', field: 'to', rejectedValue: '1' }] },
  Quarkus: { violations: [{ field: 'send.body.to', message: 'bad' }] },
  '.NET': { title: 'x', errors: { '$.To': ['bad'] } },
  FastAPI: { detail: [{ loc: ['body', 'to'], msg: 'bad' }] },
  Django: { to: ['bad'] },
  Laravel: { message: 'The given data was invalid.', errors: { to: ['bad'] } },
  Rails: { errors: ['To is invalid'] },
  Zod: { error: { issues: [{ code: 'invalid', path: ['to'], message: 'bad' }] } },
  celebrate: { message: 'x', validation: { body: { source: 'body', keys: ['to'] } } },
  'a quoted name': { code: 21211, message: "Invalid 'To' Phone Number" },
};

test.each(Object.entries(naming))('%s names the field, and no other one', (_, body) => {
  const fields = ['to', 'from', 'message', 'send_at', 'request_id'];
  expect(fields.filter((field) => namesField(body, field))).toEqual(['to']);
});

test.each([
  [{ errors: { message: 'Too long.' } }, 'message'],
  [{ message: ['Too long.'] }, 'message'],
  [{ errors: [{ property: 'sendAt' }] }, 'send_at'],
  [{ errors: [{ path: ['request_id'] }] }, 'request_id'],
])('%j names %s', (body, field) => {
  expect(namesField(body, field)).toBe(true);
});

test.each([
  { code: 'invalid', detail: 'Invalid input to from message.' },
  { error: { code: 'invalid', message: 'Bad request.' } },
  { errors: [{ code: 'invalid', message: 'Bad request.' }], request_id: 'to' },
  { code: 'invalid', request: { to: '1', from: '2', message: 'x' } },
  { errors: [{ code: 'invalid', rejectedValue: 'to' }] },
  ['invalid', 400, null],
  null,
])('%j names no field', (body) => {
  const fields = ['to', 'from', 'message', 'send_at', 'request_id'];
  expect(fields.filter((field) => namesField(body, field))).toEqual([]);
});

test('a sentence does not count where only what is certain does', () => {
  const sentences = { statusCode: 400, message: ['to must be a phone number'] };
  expect(namesField(sentences, 'to')).toBe(true);
  expect(namesField(sentences, 'to', { readsProse: false })).toBe(false);
  expect(namesField(sentences, 'message', { readsProse: false })).toBe(false);
  expect(namesField({ detail: 'to must be a number' }, 'to', { readsProse: false })).toBe(false);
  expect(namesField({ to: ['must be a number'] }, 'to', { readsProse: false })).toBe(true);
});
