import fc from 'fast-check';
import { expect, test } from 'vitest';
import { assumptionLedger } from '../assumptions.ts';
import { parseSendAt, sendAtPattern } from './send-at.ts';

const formats = assumptionLedger.sendAtFormats.answers;
const zones = assumptionLedger.sendAtZone.answers;
const everywhere = formats.flatMap((sendAtFormats) =>
  zones.map((sendAtZone) => ({ sendAtFormats, sendAtZone })),
);
const rfc3339 = { sendAtFormats: 'rfc3339', sendAtZone: 'utc_only' } as const;
const iso8601 = { sendAtFormats: 'iso8601', sendAtZone: 'utc_only' } as const;

function instantOf(text: string, assumptions: Parameters<typeof parseSendAt>[1]): unknown {
  const read = parseSendAt(text, assumptions);
  return typeof read === 'number' ? new Date(read).toISOString() : undefined;
}

test.each([
  ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000Z'],
  ['2026-01-02t03:04:05z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04:05.6Z', '2026-01-02T03:04:05.600Z'],
  ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678Z'],
  ['2026-01-02T03:04:05+00:00', '2026-01-02T03:04:05.000Z'],
  ['2028-02-29T23:59:59.999Z', '2028-02-29T23:59:59.999Z'],
  ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
  ['0100-01-01T00:00:00Z', '0100-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
])('SEND-7 %s is accepted under every format and zone', (text, instant) => {
  for (const assumptions of everywhere) expect(instantOf(text, assumptions)).toBe(instant);
});

test.each([
  ['2026-01-02T03:04:05.0001Z', '2026-01-02T03:04:05.001Z'],
  ['2026-01-02T03:04:05.678000000Z', '2026-01-02T03:04:05.678Z'],
  ['2026-01-02T03:04:05.678000001Z', '2026-01-02T03:04:05.679Z'],
  ['2026-01-02T03:04:05.9990000000000000000000000001Z', '2026-01-02T03:04:06.000Z'],
  [`2026-01-02T03:04:05.${'0'.repeat(60_000)}Z`, '2026-01-02T03:04:05.000Z'],
  [`2026-01-02T03:04:05.${'0'.repeat(60_000)}1Z`, '2026-01-02T03:04:05.001Z'],
  ['2026-12-31T23:59:59.9999Z', '2027-01-01T00:00:00.000Z'],
])('SEND-7 a fraction below the millisecond is rounded up: %s', (text, instant) => {
  for (const assumptions of everywhere) expect(instantOf(text, assumptions)).toBe(instant);
});

test.each([
  ['9999-12-31T23:59:59.9999Z', rfc3339],
  ['9999-12-31T23:59:59-10:00', { sendAtFormats: 'rfc3339', sendAtZone: 'any_offset' }],
  ['9999-12-31T24:00:00Z', iso8601],
] as const)(
  'SEND-7 no time beyond the year 9999, which no reply could write: %s',
  (text, given) => {
    expect(instantOf(text, given)).toBe('9999-12-31T23:59:59.999Z');
  },
);

test.each([
  '',
  'now',
  '2026-01-02',
  '2026-01-02 03:04:05Z',
  '2026-1-2T03:04:05Z',
  '2026-01-02T03:04:05.Z',
  '2026-01-02T03:04:05 Z',
  ' 2026-01-02T03:04:05Z',
  '2026-01-02T03:04:05Z\n',
  '+002026-01-02T03:04:05Z',
  '-2026-01-02T03:04:05Z',
  '2026-00-02T03:04:05Z',
  '2026-13-02T03:04:05Z',
  '2026-01-00T03:04:05Z',
  '2026-01-32T03:04:05Z',
  '2026-02-29T03:04:05Z',
  '2100-02-29T03:04:05Z',
  '2026-04-31T03:04:05Z',
  '2026-01-02T24:00:01Z',
  '2026-01-02T24:00:00.0001Z',
  '2026-01-02T25:00:00Z',
  '2026-01-02T03:60:05Z',
  '2026-12-31T23:59:60Z',
  '0099-01-02T03:04:05Z',
  '0000-01-01T00:00:00Z',
  '2026-01-02T03:04:05+24:00',
  '2026-01-02T03:04:05+01:60',
  '٢٠٢٦-01-02T03:04:05Z',
  '20260102T03:04:05Z',
  '2026-01-02T030405Z',
  '2026-W54-1T00:00:00Z',
  '2025-W53-1T00:00:00Z',
  '2026-W00-1T00:00:00Z',
  '2026-W01-0T00:00:00Z',
  '2026-W01-8T00:00:00Z',
  '2026-W01T00:00:00Z',
  '2026-000T00:00:00Z',
  '2026-366T00:00:00Z',
  '2028-367T00:00:00Z',
])('SEND-7 %j is refused under every format and zone, with a reason', (text) => {
  for (const assumptions of everywhere)
    expect(parseSendAt(text, assumptions)).toEqual({ why: expect.stringMatching(/\.$/) });
});

test.each([
  ['20260101T000100Z', '2026-01-01T00:01:00.000Z'],
  ['20260101T0001Z', '2026-01-01T00:01:00.000Z'],
  ['2026-01-02T03Z', '2026-01-02T03:00:00.000Z'],
  ['2026-01-02T03:04:05,5Z', '2026-01-02T03:04:05.500Z'],
  ['20260102T030405,0009Z', '2026-01-02T03:04:05.001Z'],
  ['2026-01-02T03:04,5Z', '2026-01-02T03:04:30.000Z'],
  ['2026-01-02T03.7Z', '2026-01-02T03:42:00.000Z'],
  ['2026-01-02T03:04:05+00', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04:05+0000', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T24:00:00Z', '2026-01-03T00:00:00.000Z'],
  ['20261231T24Z', '2027-01-01T00:00:00.000Z'],
  ['2026-W01-1T00:00:00Z', '2025-12-29T00:00:00.000Z'],
  ['2026-W53-7T00:00:00Z', '2027-01-03T00:00:00.000Z'],
  ['2027W011T000000Z', '2027-01-04T00:00:00.000Z'],
  ['2026-001T00:00:00Z', '2026-01-01T00:00:00.000Z'],
  ['2028366T0000Z', '2028-12-31T00:00:00.000Z'],
])('SEND-7 sendAtFormats: %s is read with iso8601 alone, as %s', (text, instant) => {
  expect(instantOf(text, iso8601)).toBe(instant);
  expect(instantOf(text, rfc3339)).toBeUndefined();
});

test.each([
  ['20260101T000100Z', rfc3339, /RFC 3339 .*YYYY-MM-DDThh:mm:ssZ/],
  ['2026-01-01T24:00:00Z', rfc3339, /RFC 3339 .*YYYY-MM-DDThh:mm:ssZ/],
  ['tomorrow', iso8601, /ISO 8601 .*YYYY-MM-DDThh:mm:ssZ or YYYYMMDDThhmmssZ/],
  ['2026-01-02T03:04:05', rfc3339, /end it with Z/],
  ['2026-01-02T03:04:05+02:00', iso8601, /end it with Z/],
])('SEND-7 why %s is refused names the accepted form', (text, assumptions, reason) => {
  expect(parseSendAt(text, assumptions)).toEqual({ why: expect.stringMatching(reason) });
});

test.each([
  ['2026-01-02T03:04:05', ['naive_is_utc', 'any'], '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04:05+02:00', ['any_offset', 'any'], '2026-01-02T01:04:05.000Z'],
  ['2026-01-01T00:30:00+01:00', ['any_offset', 'any'], '2025-12-31T23:30:00.000Z'],
  ['2026-01-02T03:04:05-05:30', ['any_offset', 'any'], '2026-01-02T08:34:05.000Z'],
  ['2026-01-02T03:04:05-00:00', ['any_offset', 'any'], '2026-01-02T03:04:05.000Z'],
])('SEND-7 sendAtZone: %s is read with %j alone, as %s', (text, readers, instant) => {
  for (const sendAtFormats of formats) {
    for (const sendAtZone of zones) {
      const expected = readers.includes(sendAtZone) ? instant : undefined;
      expect(instantOf(text, { sendAtFormats, sendAtZone })).toBe(expected);
    }
  }
});

const instant = fc.date({
  min: new Date('1970-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T00:00:00.000Z'),
  noInvalidDate: true,
});

test('SEND-7 every time that the service writes is accepted again, under every format and zone', () => {
  fc.assert(
    fc.property(instant, (date) => {
      for (const assumptions of everywhere)
        expect(parseSendAt(date.toISOString(), assumptions)).toBe(date.getTime());
    }),
  );
});

test('SEND-7 iso8601: basic, ordinal and week dates name the same instant as the extended one', () => {
  fc.assert(
    fc.property(instant, (date) => {
      const text = date.toISOString();
      const [day, time] = text.split('T');
      const midnight = Date.parse(`${day}T00:00Z`);
      const newYear = (year: number) => Date.UTC(year, 0, 1);
      const dayNumber = (ms: number, from: number) => (ms - from) / 86_400_000 + 1;
      const ordinal = dayNumber(midnight, newYear(date.getUTCFullYear()));
      // The year and the week of a date are those of its Thursday.
      const weekday = date.getUTCDay() || 7;
      const thursday = midnight + (4 - weekday) * 86_400_000;
      const weekYear = new Date(thursday).getUTCFullYear();
      const week = Math.ceil(dayNumber(thursday, newYear(weekYear)) / 7);
      const week2 = String(week).padStart(2, '0');
      for (const written of [
        text.replaceAll(/[-:]/g, ''),
        `${text.slice(0, 4)}-${String(ordinal).padStart(3, '0')}T${time}`,
        `${weekYear}-W${week2}-${weekday}T${time}`,
        `${weekYear}W${week2}${weekday}T${time?.replaceAll(':', '')}`,
      ]) {
        expect(parseSendAt(written, iso8601), written).toBe(date.getTime());
      }
    }),
  );
});

test('SEND-7 any_offset: a time written in any zone is the same instant', () => {
  const assumptions = { sendAtFormats: 'rfc3339', sendAtZone: 'any_offset' } as const;
  fc.assert(
    fc.property(instant, fc.integer({ min: -1_439, max: 1_439 }), (date, offsetMinutes) => {
      const local = new Date(date.getTime() + offsetMinutes * 60_000).toISOString().slice(0, -1);
      fc.pre(local.length === 23);
      const size = Math.abs(offsetMinutes);
      const two = (value: number) => String(value).padStart(2, '0');
      const zone = `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
      expect(parseSendAt(local + zone, assumptions)).toBe(date.getTime());
    }),
  );
});

test('SEND-7 every other accepted text means the same instant as to the platform’s parser', () => {
  const digits = (length: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: length, maxLength: length });
  const shaped = fc
    .tuple(digits(4), digits(2), digits(2), digits(2), digits(2), digits(2))
    .map(([y, mo, d, h, mi, s]) => `${y}-${mo}-${d}T${h}:${mi}:${s}Z`);
  fc.assert(
    fc.property(shaped, (text) => {
      const read = parseSendAt(text, rfc3339);
      if (typeof read !== 'number') return;
      expect(new Date(read).toISOString()).toBe(text.replace('Z', '.000Z'));
    }),
    { numRuns: 2_000 },
  );
});

const spelling = fc
  .tuple(
    fc.constantFrom('2026-01-02', '20260102', '2026-W01-5', '2026W015', '2026-002', '2026002'),
    fc.constantFrom('T', 't', ' '),
    fc.constantFrom('03', '0304', '03:04', '030405', '03:04:05', '24:00'),
    fc.constantFrom('', '.5', ',5', '.', '.0000000001'),
    fc.constantFrom('', 'Z', 'z', '+00', '+0000', '+00:00', '-00', '+02', '-0930', '+05:45'),
  )
  .map((parts) => parts.join(''));

test('SEND-7 the schema’s pattern matches exactly the accepted texts, except for 24:00', () => {
  fc.assert(
    fc.property(spelling, fc.constantFrom(...everywhere), (text, assumptions) => {
      const isTaken = new RegExp(sendAtPattern(assumptions), 'u').test(text);
      const isRead = typeof parseSendAt(text, assumptions) === 'number';
      expect(isTaken && !text.includes('24:00'), text).toBe(isRead && !text.includes('24:00'));
      if (isRead) expect(isTaken, text).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
