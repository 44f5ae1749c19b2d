/**
 * The service refuses the bodies that the document's schema calls invalid, and accepts the valid
 * ones, under several assumptions. The test validates with ajv, which is independent of zod.
 */
import { expect, test } from 'vitest';
import { mixtures, named, unmixed } from '#verify/testkit/assumption-mixtures.ts';
import { DescribedService } from '#verify/testkit/openapi-fixture.ts';
import { sample } from '#verify/testkit/runs.ts';
import { bodies, bodyOf } from '#verify/testkit/send-bodies.ts';
import { type Fields, Twin } from '#verify/testkit/twin/twin.ts';

const number = '+12025550101';
const other = '+12025550102';

/** Refused for reasons that JSON Schema cannot express; the document states them in words. */
const beyondSchemas: readonly Fields[] = [
  { to: '+1202555' },
  { to: '+999123456789' },
  { send_at: '2025-12-31T23:59:59Z' },
  { send_at: '2026-02-30T00:00:00Z' },
];

test.each([...sample(mixtures, 2), ...unmixed].map((each) => [named(each), each] as const))(
  'the document and the service agree on every body under %s',
  (_, assumptions) => {
    const service = new DescribedService(assumptions);
    const twin = new Twin({ assumptions, noLimits: true });
    for (const fields of bodies) {
      const body = bodyOf(fields);
      const { status } = twin.post('/api/v1/sms/send/', body);
      const row = JSON.stringify(body).slice(0, 300);
      const place = `${row}: src/control/openapi/send-body.ts`;
      expect([row, service.takes(body)], place).toEqual([row, status === 202]);
      if (status !== 202) expect([row, status]).toEqual([row, 400]);
    }
  },
);

test.each(beyondSchemas)('refused although valid by the schema: %o', (fields) => {
  expect(new DescribedService().takes(bodyOf(fields))).toBe(true);
  expect(new Twin().post('/api/v1/sms/send/', bodyOf(fields)).status).toBe(400);
});

test('SEND-6 one character too many is refused', () => {
  const long = bodyOf({ message: 'x'.repeat(1_601) });
  expect(new DescribedService().takes(long)).toBe(false);
  expect(new Twin().post('/api/v1/sms/send/', long).status).toBe(400);
});

test('other units of length than code points are checked outside the schema', () => {
  const wide = bodyOf({ message: '🙂'.repeat(801) });
  const units = { characterUnit: 'utf16_units' } as const;
  expect(new DescribedService(units).takes(wide)).toBe(true);
  expect(Twin.assuming(units).post('/api/v1/sms/send/', wide).status).toBe(400);
  const joined = bodyOf({ message: '👨‍👩‍👧'.repeat(1_600) });
  const graphemes = { characterUnit: 'graphemes' } as const;
  expect(new DescribedService(graphemes).takes(joined)).toBe(true);
  expect(new DescribedService().takes(joined)).toBe(false);
  expect(Twin.assuming(graphemes).post('/api/v1/sms/send/', joined).status).toBe(202);
});

test('two different senders can be refused although valid by the schema', () => {
  const assumptions = { bothSenderFields: 'reject_if_different' } as const;
  const body = bodyOf({ from: number, from_number: other });
  expect(new DescribedService(assumptions).takes(body)).toBe(true);
  expect(Twin.assuming(assumptions).post('/api/v1/sms/send/', body).status).toBe(400);
});

test('a send body must be an object', () => {
  const service = new DescribedService();
  for (const body of [null, [], 'x', 1, true]) expect(service.takes(body)).toBe(false);
});

test.each([
  ['', 200],
  ['page=1', 200],
  ['page=0', 400],
  ['page=x', 400],
  ['page_size=200', 200],
  ['page_size=201', 400],
  ['page_size=0', 400],
  ['page_size=', 400],
  ['page=1.5', 400],
])('the parameters of received: ?%s is %i', (query, status) => {
  expect(new Twin().request('GET', '/api/v1/sms/received/', { query }).status).toBe(status);
});
