/** What a template keeps of two replies of one kind, and what it leaves out. */
import { expect, test } from 'vitest';
import { inferBody, type Sample } from './infer-template.ts';

const invalid = (field: string, json: object): Sample => ({
  reply: { status: 400, headers: {}, text: JSON.stringify(json), json },
  values: { field },
});

const inferred = (bodyOf: (field: string) => object) =>
  inferBody(['to', 'send_at'].map((field) => invalid(field, bodyOf(field))));

test.each(['/', '/data/attributes/', 'body.', 'fields[', '#/'])(
  'SEND-5 a pointer to the failing field, %s…, holds a placeholder',
  (start) => {
    const end = start.endsWith('[') ? ']' : '';
    const { template, undetermined } = inferred((field) => ({
      errors: [{ status: '400', code: field, source: { pointer: `${start}${field}${end}` } }],
    }));
    expect(template.body).toEqual({
      errors: [{ status: '400', code: '{field}', source: { pointer: `${start}{field}${end}` } }],
    });
    expect(undetermined).toEqual([]);
  },
);

test('a text that holds the name of one field alone is left out', () => {
  const { template } = inferred((field) => ({ field, docs: 'https://a.test/to/stop' }));
  expect(template.body).toEqual({ field: '{field}' });
});

test('what differs for another reason is left out and reported, never a constant', () => {
  const { template, undetermined } = inferred((field) => ({
    code: field,
    kind: field === 'to' ? 'phone' : 'time',
    trace: [field.length],
  }));
  expect(template.body).toEqual({ code: '{field}' });
  expect(undetermined).toEqual(['.kind is "phone" or "time"', '.trace[0] is 2 or 7']);
});
