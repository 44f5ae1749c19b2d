import fc from 'fast-check';
import { expect, test } from 'vitest';
import { statuses } from '#contract/message-status.ts';
import { isoTime } from '#contract/time.ts';
import { anyCharacter } from '#verify/testkit/runs.ts';
import { acmeNumber, recipient, Twin } from '#verify/testkit/twin/twin.ts';
import { messageBody, messageHistory, shownStatus } from './message-view.ts';

test('RES-1 a body has exactly the seven fields, in the order of the document', () => {
  const twin = new Twin();
  const message = twin.accepted({ request_id: 'r', send_at: '2026-06-01T00:00:00Z' });
  expect(Object.keys(JSON.parse(messageBody(message, 'queued')))).toEqual([
    'status',
    'message_id',
    'request_id',
    'device_id',
    'from_number',
    'to',
    'created_at',
  ]);
});

test('RES-3 any request_id is echoed as it was sent', () => {
  const twin = new Twin({ noLimits: true, assumptions: { requestIdMaxLength: 65_536 } });
  const anything = fc.oneof(
    fc.string({ unit: anyCharacter, minLength: 1 }),
    fc.string({
      unit: fc.constantFrom('"', '\\', '\n', '\u0000', '\ud800', '\u2028', '😀', '/'),
      minLength: 1,
    }),
  );
  fc.assert(
    fc.property(anything, (requestId) => {
      const first = twin.send({ request_id: requestId });
      expect(first.json['request_id']).toBe(requestId);
      expect(twin.send({ request_id: requestId }).body).toBe(first.body);
    }),
  );
});

test('RES-5 the five statuses, and no other', () => {
  expect(statuses).toEqual(['queued', 'sending', 'sent', 'delivered', 'failed']);
});

test('RES-4 a time is ISO 8601 UTC with milliseconds and a trailing Z', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: Date.parse('9000-01-01T00:00:00.000Z') }), (ms) => {
      for (const at of [ms, ms + 1, ms]) {
        expect(isoTime(at)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        expect(Date.parse(isoTime(at))).toBe(at);
        expect(isoTime(at + 1)).toBe(new Date(at + 1).toISOString());
      }
    }),
  );
});

test.each(['queued', 'scheduled'] as const)(
  'SEND-7 heldStatus %s is shown until the hold is over, to the millisecond',
  (heldStatus) => {
    const twin = new Twin();
    const message = twin.accepted({ send_at: '2026-01-01T00:00:10Z' });
    expect(shownStatus(message, message.sendAtMs - 1, heldStatus)).toBe(heldStatus);
    expect(shownStatus(message, message.sendAtMs, heldStatus)).toBe('queued');
  },
);

test('STATE-5 the history of a message names each status once, with its time', () => {
  const twin = new Twin();
  const [plain, failing] = [twin.accepted(), twin.accepted({ to: '+12025550161' })];
  expect(messageHistory(plain)).toEqual([{ status: 'queued', at: '2026-01-01T00:00:00.000Z' }]);
  twin.advanceToQuiet();
  expect(messageHistory(plain).map(({ status }) => status)).toEqual([
    'queued',
    'sending',
    'sent',
    'delivered',
  ]);
  expect(messageHistory(failing).map(({ status }) => status)).toEqual([
    'queued',
    'sending',
    'failed',
  ]);
});

test('RES-2 numbers stand in a body as they were sent', () => {
  const message = new Twin().accepted();
  expect(JSON.parse(messageBody(message, 'sent'))).toMatchObject({
    status: 'sent',
    from_number: acmeNumber,
    to: recipient,
  });
});
