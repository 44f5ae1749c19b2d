import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSendAt } from './send-at.ts';

const zones = ['utc_only', 'any_offset', 'naive_is_utc'] as const;

test.each([
  ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000Z'],
  ['2026-01-02T03:04:05.6Z', '2026-01-02T03:04:05.600Z'],
  ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678Z'],
  ['2026-01-02T03:04:05.678999999Z', '2026-01-02T03:04:05.678Z'],
  ['2026-01-02T03:04:05+00:00', '2026-01-02T03:04:05.000Z'],
  ['2028-02-29T23:59:59.999Z', '2028-02-29T23:59:59.999Z'],
  ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
  ['0100-01-01T00:00:00Z', '0100-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
])('SEND-7 %s is read under each zone rule', (text, instant) => {
  for (const zone of zones) expect(parseSendAt(text, zone)).toBe(Date.parse(instant));
});

test.each([
  '',
  'now',
  '2026-01-02',
  '2026-01-02 03:04:05Z',
  '2026-01-02t03:04:05z',
  '20260102T030405Z',
  '2026-1-2T03:04:05Z',
  '2026-01-02T03Z',
  '2026-01-02T03:04:05.Z',
  '2026-01-02T03:04:05,5Z',
  '2026-01-02T03:04:05.1234567890Z',
  '2026-01-02T03:04:05+0000',
  '2026-01-02T03:04:05 Z',
  ' 2026-01-02T03:04:05Z',
  '2026-01-02T03:04:05Z\n',
  '+002026-01-02T03:04:05Z',
  '-2026-01-02T03:04:05Z',
  '2026-W01-5T03:04:05Z',
  '2026-00-02T03:04:05Z',
  '2026-13-02T03:04:05Z',
  '2026-01-00T03:04:05Z',
  '2026-01-32T03:04:05Z',
  '2026-02-29T03:04:05Z',
  '2100-02-29T03:04:05Z',
  '2026-04-31T03:04:05Z',
  '2026-01-02T24:00:00Z',
  '2026-01-02T03:60:05Z',
  '2026-12-31T23:59:60Z',
  '0099-01-02T03:04:05Z',
  '0000-01-01T00:00:00Z',
  '2026-01-02T03:04:05+24:00',
  '2026-01-02T03:04:05+01:60',
  '٢٠٢٦-01-02T03:04:05Z',
])('SEND-7 %j is refused under each zone rule, with a reason', (text) => {
  for (const zone of zones) {
    expect(parseSendAt(text, zone)).toEqual({ why: expect.stringMatching(/\.$/) });
  }
});

test.each([
  ['2026-01-02T03:04:05', undefined, undefined, '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04:05+02:00', undefined, '2026-01-02T01:04:05.000Z', undefined],
  ['2026-01-01T00:30:00+01:00', undefined, '2025-12-31T23:30:00.000Z', undefined],
  ['2026-01-02T03:04:05-05:30', undefined, '2026-01-02T08:34:05.000Z', undefined],
  ['2026-01-02T03:04:05-00:00', undefined, '2026-01-02T03:04:05.000Z', undefined],
])(
  'SEND-7 sendAtZone: %s is %s with utc_only, %s with any_offset, %s with naive_is_utc',
  (text, ...expected) => {
    const read = zones.map((zone) => parseSendAt(text, zone));
    expect(
      read.map((value) => (typeof value === 'number' ? new Date(value).toISOString() : undefined)),
    ).toEqual(expected);
  },
);

const instant = fc.date({
  min: new Date('1970-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T00:00:00.000Z'),
  noInvalidDate: true,
});

test('SEND-7 every time that we write ourselves is read back, under each zone rule', () => {
  fc.assert(
    fc.property(instant, (date) => {
      for (const zone of zones) expect(parseSendAt(date.toISOString(), zone)).toBe(date.getTime());
    }),
  );
});

test('SEND-7 any_offset: a time written in any zone is the same instant', () => {
  fc.assert(
    fc.property(instant, fc.integer({ min: -1_439, max: 1_439 }), (date, offsetMinutes) => {
      const local = new Date(date.getTime() + offsetMinutes * 60_000).toISOString().slice(0, -1);
      fc.pre(local.length === 23);
      const size = Math.abs(offsetMinutes);
      const two = (value: number) => String(value).padStart(2, '0');
      const zone = `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
      expect(parseSendAt(local + zone, 'any_offset')).toBe(date.getTime());
    }),
  );
});

test('SEND-7 whatever else is read names the instant that the platform reads', () => {
  const digits = (length: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: length, maxLength: length });
  const shaped = fc
    .tuple(digits(4), digits(2), digits(2), digits(2), digits(2), digits(2))
    .map(([y, mo, d, h, mi, s]) => `${y}-${mo}-${d}T${h}:${mi}:${s}Z`);
  fc.assert(
    fc.property(shaped, (text) => {
      const read = parseSendAt(text, 'utc_only');
      if (typeof read !== 'number') return;
      expect(new Date(read).toISOString()).toBe(text.replace('Z', '.000Z'));
    }),
    { numRuns: 2_000 },
  );
});
