/**
 * The service refuses the bodies that the document's schema calls invalid, and accepts the valid
 * ones, under several assumptions. The test validates with ajv, which is independent of zod.
 */
import { expect, test } from 'vitest';
import { DescribedService, mixtures, named } from '#verify/testkit/openapi-fixture.ts';
import { sample } from '#verify/testkit/runs.ts';
import { type Fields, plainSend, Twin } from '#verify/testkit/twin/twin.ts';

const leaveOut = undefined;
const number = '+12025550101';
const other = '+12025550102';
const future = '2026-01-02T00:00:00Z';

/** Each differs from the plain send in a field or two. No `request_id` occurs twice. */
const bodies: readonly Fields[] = [
  {},
  { to: leaveOut },
  { from: leaveOut },
  { message: leaveOut },
  ...[
    '12025550123',
    '+0123456789',
    '+1',
    '',
    ' +12025550123',
    '+1202555012x',
    '+12025550123\n',
  ].map((to) => ({ to })),
  ...[null, 12025550123, true, ['+12025550123'], { number }].map((to) => ({ to })),
  ...['2025550101', '+1202555010101010', '', null, 7].map((from) => ({ from })),
  { from: leaveOut, from_number: number },
  { from: null, from_number: number },
  { from: leaveOut, from_number: null },
  { from: leaveOut, from_number: 'x' },
  { from: 'x', from_number: number },
  { from_number: number },
  { from_number: 'x' },
  { from_number: null },
  { from_number: 7 },
  ...['', ' ', '\u00a0\t\n\u2028\ufeff', '\u200b', 'x', '\u0000', '\ud800', '🙂'.repeat(800)].map(
    (message) => ({ message }),
  ),
  { message: 'x'.repeat(1_600) },
  ...[null, 5, {}, ['x']].map((message) => ({ message })),
  ...['', 'a', 'ab', '🙂🙂🙂', 'abcd', 'x'.repeat(255), 'x'.repeat(256), null, 9].map(
    (request_id) => ({ request_id }),
  ),
  ...[
    future,
    '2026-01-02T00:00:00.123456789Z',
    '2026-01-02T00:00Z',
    '2026-01-02T00:00:00+00:00',
    '2026-01-02T00:00:00+02:00',
    '2026-01-02T00:00:00',
    '2026-01-02 00:00:00Z',
    '2026-01-02',
    '2026-01-02t00:00:00z',
    '2026-01-02T00:00:00.Z',
    '',
    'tomorrow',
    null,
    1_800_000_000_000,
  ].map((send_at) => ({ send_at })),
  { unknown: 1 },
  { constructor: 'x' },
];

/** Refused for reasons that JSON Schema cannot express; the document states them in words. */
const beyondSchemas: readonly Fields[] = [
  { to: '+1202555' },
  { to: '+999123456789' },
  { send_at: '2025-12-31T23:59:59Z' },
  { send_at: '2026-02-30T00:00:00Z' },
];

test.each(sample(mixtures, 2).map((each) => [named(each), each] as const))(
  'the document and the service agree on every body under %s',
  (_, assumptions) => {
    const service = new DescribedService(assumptions);
    const twin = new Twin({ assumptions, noLimits: true });
    for (const fields of bodies) {
      const body = bodyOf(fields);
      const { status } = twin.post('/api/v1/sms/send/', body);
      const row = JSON.stringify(body).slice(0, 300);
      expect([row, service.takes(body)]).toEqual([row, status === 202]);
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

/** The value after a round trip through JSON, which drops undefined fields. */
function bodyOf(fields: Fields): unknown {
  return JSON.parse(JSON.stringify({ ...plainSend, ...fields }));
}
