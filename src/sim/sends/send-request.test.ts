import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMs } from '#contract/time.ts';
import {
  acmeNumber,
  type Fields,
  plainSend,
  poolNumber,
  recipient,
} from '#verify/testkit/twin/twin.ts';
import { type Assumptions, defaultAssumptions } from '../assumptions.ts';
import { readSend, type SendValidation, validateSend } from './send-request.ts';

const now = Date.parse('2026-01-01T00:00:00.000Z');

function validateBody(body: Fields, assumptions: Assumptions): SendValidation {
  return validateSend(readSend(body, assumptions), assumptions, now);
}

function validate(fields: Fields, assumptions: Partial<Assumptions> = {}): SendValidation {
  // Through JSON, as a body comes: what is undefined is not there.
  const body = JSON.parse(JSON.stringify({ ...plainSend, ...fields })) as Fields;
  return validateBody(body, { ...defaultAssumptions, ...assumptions });
}

/** The failing fields in order; empty for a valid body. */
function failing(fields: Fields, assumptions: Partial<Assumptions> = {}): string[] {
  const validation = validate(fields, assumptions);
  if (validation.kind === 'valid') return [];
  for (const { detail } of validation.failures) expect(detail).toMatch(/\.$/);
  return validation.failures.map(({ field }) => field);
}

const iso = (ms: number) => new Date(ms).toISOString();
const notStrings = [null, 1, true, [], ['x'], {}] as const;

test('SEND-2 a plain send is valid, and its values are those of the body', () => {
  expect(validate({})).toEqual({
    kind: 'valid',
    request: { to: recipient, sender: acmeNumber, message: 'Hello', requestId: '', sendAtMs: 0 },
  });
});

test.each(['to', 'from', 'message'] as const)(
  'SEND-2 SEND-5 %s is required and is a string',
  (field) => {
    expect(failing({ [field]: undefined })).toEqual([field]);
    for (const value of notStrings) expect(failing({ [field]: value })).toEqual([field]);
  },
);

test.each(['request_id', 'send_at'] as const)(
  'SEND-5 %s may be left out, and is a string',
  (field) => {
    expect(failing({ [field]: undefined })).toEqual([]);
    for (const value of notStrings) expect(failing({ [field]: value })).toEqual([field]);
  },
);

test.each([
  ['to', '2025550123'],
  ['to', ''],
  ['from', '+1 202 555 0101'],
  ['from', 'acme'],
])('SEND-2 SEND-5 %s must be E.164, not %j', (field, value) => {
  expect(failing({ [field]: value })).toEqual([field]);
});

test.each([
  ['possible', '+11115550123', []],
  ['possible', '+1202555', ['to']],
  ['shape', '+1202555', []],
  ['shape', '1202555', ['to']],
  ['valid', '+11115550123', ['to']],
  ['valid', recipient, []],
] as const)('SEND-2 numberCheck %s: the recipient %s fails %j', (numberCheck, to, fields) => {
  expect(failing({ to }, { numberCheck })).toEqual(fields);
});

const family = '👨‍👩‍👧‍👦';

test.each([
  ['code_points', 'a'],
  ['code_points', 'я'],
  ['code_points', '😀'],
  ['utf16_units', 'a'],
  ['graphemes', 'a'],
  ['graphemes', '😀'],
  ['graphemes', 'e\u0301'],
  ['graphemes', '🇩🇪'],
  ['graphemes', family],
] as const)(
  'SEND-6 characterUnit %s: 1,600 times %s is valid, 1,601 times is not',
  (characterUnit, character) => {
    expect(failing({ message: character.repeat(1_600) }, { characterUnit })).toEqual([]);
    expect(failing({ message: character.repeat(1_601) }, { characterUnit })).toEqual(['message']);
  },
);

test.each([
  ['utf16_units', '😀', 800],
  ['code_points', 'e\u0301', 800],
  ['code_points', '🇩🇪', 800],
  ['code_points', '\ud800', 1_600],
  ['graphemes', 'a\r\n', 800],
] as const)(
  'SEND-6 characterUnit %s: %j is valid %i times, and not once more',
  (characterUnit, text, times) => {
    expect(failing({ message: text.repeat(times) }, { characterUnit })).toEqual([]);
    expect(failing({ message: text.repeat(times + 1) }, { characterUnit })).toEqual(['message']);
  },
);

test.each([
  ['reject', '', ['message']],
  ['reject', ' \t\r\n\u00a0\u3000', ['message']],
  ['reject', ' a ', []],
  ['reject_empty', '', ['message']],
  ['reject_empty', ' \t', []],
  ['accept', '', []],
  ['accept', ' \n', []],
] as const)('SEND-5 blankMessage %s: the message %j fails %j', (blankMessage, message, fields) => {
  expect(failing({ message }, { blankMessage })).toEqual(fields);
});

test('SEND-5 blankMessage: white space alone still has at most 1,600 characters', () => {
  expect(failing({ message: ' '.repeat(1_601) }, { blankMessage: 'accept' })).toEqual(['message']);
  expect(failing({ message: ' '.repeat(1_601) })).toEqual(['message']);
});

test.each([
  [255, 'a'.repeat(255), []],
  [255, 'a'.repeat(256), ['request_id']],
  [255, '😀'.repeat(255), []],
  [255, '😀'.repeat(256), ['request_id']],
  [1, 'ab', ['request_id']],
  [65_536, 'a'.repeat(60_000), []],
] as const)('SEND-5 requestIdMaxLength %i', (requestIdMaxLength, requestId, fields) => {
  expect(failing({ request_id: requestId }, { requestIdMaxLength })).toEqual(fields);
});

test.each([
  ['none_supplied', []],
  ['reject', ['request_id']],
] as const)('RES-3 emptyRequestId %s: an empty one fails %j', (emptyRequestId, fields) => {
  expect(failing({ request_id: '' }, { emptyRequestId })).toEqual(fields);
  expect(failing({ request_id: ' ' }, { emptyRequestId })).toEqual([]);
  expect(readSend({ request_id: '' }, defaultAssumptions).requestId).toBe('');
});

test.each([
  ['reject', ['request_id', 'send_at']],
  ['absent', []],
] as const)(
  'SEND-5 nullFields %s: null for both optional fields fails %j',
  (nullFields, fields) => {
    expect(failing({ request_id: null, send_at: null }, { nullFields })).toEqual(fields);
    expect(failing({ to: null }, { nullFields })).toEqual(['to']);
    expect(
      failing({ from_number: null, from: acmeNumber }, { nullFields, bothSenderFields: 'reject' }),
    ).toEqual(nullFields === 'absent' ? [] : ['from_number']);
  },
);

test('SEND-1 nullFields absent: null under either name of the sender is not a sender', () => {
  const under = (fields: Fields) =>
    validate({ from: undefined, ...fields }, { nullFields: 'absent' });
  const missing = under({});
  expect(missing).toMatchObject({ failures: [{ field: 'from' }] });
  expect(under({ from: null })).toEqual(missing);
  expect(under({ from_number: null })).toEqual(missing);
});

test.each([
  [iso(0), ['send_at']],
  [iso(now - 1), ['send_at']],
  [iso(now), ['send_at']],
  [iso(now + 1), []],
  ['2026-01-01T00:00:00.0000Z', ['send_at']],
  ['2026-01-01T00:00:00.0009Z', []],
  ['tomorrow', ['send_at']],
  ['', ['send_at']],
  ['2026-02-30T00:00:00Z', ['send_at']],
])('SEND-7 send_at %s fails %j', (sendAt, fields) => {
  expect(failing({ send_at: sendAt })).toEqual(fields);
});

test.each([
  ['utc_only', '2026-01-02T00:00:00+02:00', ['send_at'], undefined],
  ['utc_only', '2026-01-02T00:00:00', ['send_at'], undefined],
  ['any_offset', '2026-01-02T00:00:00+02:00', [], '2026-01-01T22:00:00.000Z'],
  // In the future by its digits alone.
  ['any_offset', '2026-01-01T01:00:00+02:00', ['send_at'], undefined],
  ['naive_is_utc', '2026-01-02T00:00:00', [], '2026-01-02T00:00:00.000Z'],
] as const)('SEND-7 sendAtZone %s: %s fails %j', (sendAtZone, sendAt, fields, instant) => {
  expect(failing({ send_at: sendAt }, { sendAtZone })).toEqual(fields);
  const validation = validate({ send_at: sendAt }, { sendAtZone });
  if (validation.kind === 'valid') expect(iso(validation.request.sendAtMs)).toBe(instant);
});

test.each([
  ['unlimited', 30_000 * dayMs, []],
  [7, 7 * dayMs, []],
  [7, 7 * dayMs + 1, ['send_at']],
] as const)(
  'SEND-7 sendAtMaxAheadDays %s: %i ms ahead fails %j',
  (sendAtMaxAheadDays, aheadMs, fields) => {
    expect(failing({ send_at: iso(now + aheadMs) }, { sendAtMaxAheadDays })).toEqual(fields);
  },
);

test.each([
  ['ignore', []],
  ['reject', ['colour', '__proto__', 'From', 'b']],
] as const)(
  'SEND-5 unknownFields %s: fields that the document does not name fail %j',
  (unknownFields, fields) => {
    const body = JSON.parse(
      `{"colour":1,"to":"${recipient}","__proto__":{},"from":"${acmeNumber}","From":"x","message":"hello","b":null}`,
    ) as Fields;
    const validation = validateBody(body, { ...defaultAssumptions, unknownFields });
    const failed = validation.kind === 'valid' ? [] : validation.failures.map(({ field }) => field);
    expect(failed).toEqual(fields);
  },
);

/** Which number is the sender, or which fields fail. */
function senderOf(fields: Fields, assumptions: Partial<Assumptions> = {}): unknown {
  const validation = validate(fields, assumptions);
  return validation.kind === 'valid'
    ? validation.request.sender
    : validation.failures.map(({ field }) => field).join();
}

test.each([
  [{ from: acmeNumber }, acmeNumber],
  [{ from: undefined, from_number: poolNumber }, poolNumber],
  [{ from: undefined }, 'from'],
  [{ from: undefined, from_number: 'x' }, 'from_number'],
  [{ from: undefined, from_number: 7 }, 'from_number'],
  [{ from: 'x' }, 'from'],
])(
  'SEND-1 SEND-5 %j: the sender, or the field as the caller named it, is %s',
  (fields, expected) => {
    expect(senderOf(fields)).toBe(expected);
  },
);

test.each([
  ['from_wins', acmeNumber, poolNumber, acmeNumber],
  ['from_wins', acmeNumber, 'x', acmeNumber],
  ['from_wins', 'x', acmeNumber, 'from'],
  ['alias_wins', acmeNumber, poolNumber, poolNumber],
  ['alias_wins', 'x', poolNumber, poolNumber],
  ['alias_wins', acmeNumber, 'x', 'from_number'],
  ['reject', acmeNumber, poolNumber, 'from_number'],
  ['reject', acmeNumber, acmeNumber, 'from_number'],
  ['reject', 'x', acmeNumber, 'from_number'],
  ['reject_if_different', acmeNumber, acmeNumber, acmeNumber],
  ['reject_if_different', acmeNumber, poolNumber, 'from_number'],
  ['reject_if_different', 'x', poolNumber, 'from_number'],
  ['reject_if_different', 'x', 'x', 'from'],
] as const)(
  'SEND-1 bothSenderFields %s: from %s and from_number %s give %s',
  (bothSenderFields, from, alias, expected) => {
    expect(senderOf({ from, from_number: alias }, { bothSenderFields })).toBe(expected);
  },
);

test('SEND-5 failures come in the order of the document, unknown fields last', () => {
  const everything = {
    zebra: 1,
    send_at: 'x',
    request_id: 7,
    message: '',
    from_number: poolNumber,
    from: acmeNumber,
    to: 'x',
  };
  expect(failing(everything, { unknownFields: 'reject', bothSenderFields: 'reject' })).toEqual([
    'to',
    'from_number',
    'message',
    'request_id',
    'send_at',
    'zebra',
  ]);
  expect(failing({ ...everything, from_number: undefined, from: 'x' })).toEqual([
    'to',
    'from',
    'message',
    'request_id',
    'send_at',
  ]);
});

test('SEND-5 any JSON object is either valid or names a field of its own or of the document', () => {
  const value = fc.oneof(
    fc.constantFrom<unknown>(recipient, acmeNumber, 'hello', '', null, iso(now + 1), iso(now)),
    fc.jsonValue(),
  );
  const body = fc.dictionary(
    fc.constantFrom(
      'to',
      'from',
      'from_number',
      'message',
      'request_id',
      'send_at',
      'x',
      '__proto__',
    ),
    value,
  );
  const assumptions = fc.record({
    unknownFields: fc.constantFrom('ignore' as const, 'reject' as const),
    nullFields: fc.constantFrom('reject' as const, 'absent' as const),
    blankMessage: fc.constantFrom('reject' as const, 'reject_empty' as const, 'accept' as const),
    bothSenderFields: fc.constantFrom(
      'from_wins' as const,
      'alias_wins' as const,
      'reject' as const,
      'reject_if_different' as const,
    ),
  });
  fc.assert(
    fc.property(body, assumptions, (fields, given) => {
      const validation = validateBody(fields, { ...defaultAssumptions, ...given });
      if (validation.kind === 'valid') {
        expect(typeof validation.request.message).toBe('string');
        return;
      }
      const names = validation.failures.map(({ field }) => field);
      expect(new Set(names).size).toBe(names.length);
      for (const name of names)
        expect([...Object.keys(fields), 'to', 'from', 'message']).toContain(name);
    }),
  );
});
