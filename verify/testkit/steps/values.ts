/**
 * Values for the fields of a send and the parts of other requests: common ones, and ones that a
 * careless check would get wrong. Random steps and fuzzed bodies use the same lists. A long list is
 * grouped by what its values have in common.
 */

/** JSON values that are not text, and an empty text. */
export const notTexts: readonly unknown[] = [
  null,
  0,
  1.5,
  true,
  false,
  [],
  ['+12025550150'],
  {},
  '',
];

/** Recipients to which sends are accepted. */
export const openRecipients: readonly string[] = Object.values({
  ordinary: ['+12025550150', '+12025550151', '+447400123456'],
  failing: ['+12025550160', '+12025550161', '+12025550162'],
  stuck: ['+12025550163', '+12025550164', '+12025550165'],
  deliveredLate: ['+12025550166'],
}).flat();

/** `openRecipients`, and those to which the service refuses every send or the first one. */
export const recipients: readonly string[] = [
  ...openRecipients,
  ...[0, 1, 2, 3, 4].map((digit) => `+1202555017${digit}`),
];

export const oddNumbers: readonly string[] = Object.values({
  withoutPlus: ['12025550150'],
  tooShort: ['+1', '+1202555015', '+44740012345'],
  tooLong: ['+120255501500', '+1234567890123456'],
  ofNoCountry: ['+0123456789', '+999123456789'],
  withSpaces: ['+12025550150 ', '+1 202 555 0150'],
  possibleButInvalid: ['+15555555555'],
  otherDigits: ['+٣'],
}).flat();

export const messages: readonly string[] = [
  'hello',
  'grüße €',
  'schöne Grüße 👋',
  'x'.repeat(1600),
  'a{}b'.repeat(40),
];

export const oddMessages: readonly string[] = Object.values({
  blank: ['', ' ', '\t\n\u00a0', '\u200b'],
  nearLongest: ['x'.repeat(1601), '👋'.repeat(800), '👋'.repeat(801)],
  longInOneUnitOnly: [
    '👋'.repeat(1600),
    '👋'.repeat(1601),
    '👨‍👩‍👧'.repeat(400),
    'e\u0301'.repeat(1601),
  ],
  notText: ['\ud800', '\u0000'],
}).flat();

/** Ids that a careless comparison would treat as equal to each other, or to `a`. */
export const alikeIds: readonly string[] = [
  ...['A', ' a', 'ä', 'Ä'],
  ...['y', 'z'].map((end) => `${'x'.repeat(254)}${end}`),
];

export const oddIds: readonly unknown[] = Object.values({
  nearLongest: ['x'.repeat(255), 'x'.repeat(256), 'x'.repeat(257)],
  unusual: ['ä', '__proto__', '👋👋'],
  likeOtherTypes: [7, '7', 1e21, 'true'],
}).flat();

/** Texts that are almost an ISO 8601 time, or one in a rare form. */
export const oddTimes: readonly string[] = Object.values({
  notATime: ['tomorrow', '2027-01-01', '1799999999'],
  leapDay: ['2027-02-29T10:00:00Z', '2028-02-29T10:00:00Z'],
  noSuchDay: ['2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z'],
  noSuchDayOfItsKind: ['2027-W01-8T00:00Z', '2027-000T00:00Z'],
  endOfDay: ['2027-01-01T24:00:00Z', '2027-01-01T24:00Z', '2027-01-01T24:00:00.0001Z'],
  outOfRange: ['2027-01-01T00:60:00Z', '2026-12-31T23:59:60Z'],
  farFuture: ['9999-12-31T23:59:59.999Z'],
  weekDates: ['2026-W53-7T23:59:59.9999Z', '2027-W53-1T00:00Z', '2027W011T000000Z'],
  dayOfYear: ['2026-366T10Z', '2028-366T10:30,25Z', '2028366T103000.123456Z'],
  mixedForms: ['20270101T00:00Z', '2027-01-01t10:00z'],
}).flat();

export const zones: readonly string[] = Object.values({
  usual: ['Z', '+00:00', '+02:00', '-09:30'],
  none: [''],
  odd: ['-00:00', '+24:00', '+0000', '+00', '-0930', '-00', 'z'],
}).flat();

export const oddBodies: readonly (string | Uint8Array)[] = Object.values({
  notJson: ['', '{', '{"a":1}x', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  notAnObject: ['[]', 'null', '"text"', '42'],
  notASend: [
    '{}',
    '{"to":1,"to":"+12025550150"}',
    new Uint8Array(Buffer.from('{"to":"+12025550150"}')),
  ],
  nearLongest: [
    `{"message":"${'x'.repeat(65_521)}"}`,
    `{"message":"${'x'.repeat(65_522)}"}`,
    `{"message":"${'é'.repeat(32_761)}"}`,
  ],
}).flat();

export const contentTypes: readonly string[] = Object.values({
  json: ['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON;x=y'],
  other: ['text/plain', 'application/jsonp', 'application/vnd.api+json', ''],
}).flat();

/** Braces stand for the text of a key of the first account, or a part of one. */
export const oddAuthorizations: readonly string[] = Object.values({
  withoutKey: ['bearer', '', 'Bearer ', 'x'],
  unknownKey: ['Bearer nonsense', 'Basic abc', 'Bearer a b', 'Bearer {cut}', 'Bearer {swapped}'],
  // Twice, so that it is drawn more often.
  revokedKey: ['Bearer {revoked}', 'Bearer {revoked}'],
  otherScheme: ['{key}', 'Basic {key}', 'Token {key}', 'bEaReR {key}'],
  moreThanTheKey: ['Bearer {key}x', 'Bearer {key} ', 'Bearer {key},Bearer {key}'],
}).flat();

/** Replaces the placeholders of a text of `oddAuthorizations`. */
export function withKeys(text: string, key: string, revoked: string): string {
  const swapped = key.replaceAll(/[a-z]/gi, (c) => (c < 'a' ? c.toLowerCase() : c.toUpperCase()));
  return text
    .replaceAll('{key}', key)
    .replaceAll('{revoked}', revoked)
    .replaceAll('{cut}', key.slice(0, -1))
    .replaceAll('{swapped}', swapped);
}

/** Ids that belong to no message and no device. */
export const unknownIds: readonly string[] = [
  '00000000-0000-4000-8000-000000000000',
  'nonsense',
  '__proto__',
  'send%2f',
  '..',
  'é',
];

export const pageQueries: readonly string[] = Object.values({
  // Twice, so that it is drawn more often.
  none: ['', ''],
  onePage: ['page=1', 'page=2', 'page=%31', 'page_size=1', 'page_size=200'],
  bothFields: ['page=2&page_size=1', 'page=3&page_size=1', 'page=0&page_size=0'],
  invalid: ['page=0', 'page=-1', 'page=x', 'page=', 'page_size=0', 'page_size=201'],
  numbersInOtherForms: ['page=1.0', 'page=1e0'],
  otherFields: ['other=1', 'page_size=1&page=2&x=y'],
}).flat();

/** Paths close to those of the service, without a valid id. */
export const nearPaths: readonly string[] = Object.values({
  roots: ['/', '', '/api/v1/sms/'],
  withoutSlash: [
    '/api/v1/sms/send',
    '/api/sms/send',
    '/api/external/send',
    '/api/v1/sms/received',
    '/api/v1/account/stats',
  ],
  listed: ['/api/v1/sms/send/', '/api/v1/sms/received/', '/api/v1/account/stats/'],
  messages: ['/api/v1/sms/x/', '/api/v1/sms/x', '/api/v1/sms//', '/api/v1/sms/x/y/'],
  devices: ['/api/devices/x/tasks', '/api/devices/x/tasks/', '/api/devices//tasks/'],
  otherSpelling: [
    '/api/v2/sms/send/',
    '/API/v1/sms/send/',
    '/api//v1/sms/send/',
    '/api/v1/sms/send//',
    '/api/v1/sms/../sms/send/',
  ],
  otherVersion: [
    '/api/sms/x/',
    '/api/sms/received/',
    '/api/account/stats/',
    '/api/v1/devices/x/tasks/',
    '/api/v1/external/send/',
  ],
}).flat();
