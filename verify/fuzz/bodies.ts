/**
 * Random bodies: sends with odd fields from the common values, and JSON that is deep, duplicated,
 * cut or invalid.
 */
import fc from 'fast-check';
import * as values from '../testkit/steps/values.ts';
import { numbers } from './facts.ts';
import { type Bytes, damage, rarely, utf8, weighted } from './piece.ts';

/** JSON texts that are rarely valid for a field. */
const oddTexts = [
  ...[...values.notTexts, ...values.oddNumbers, ...values.oddMessages, ...values.oddIds].map(
    (value) => JSON.stringify(value),
  ),
  ...values.oddTimes.map((time) => JSON.stringify(time)),
  ...['1e999', '1e-7', '"\\udc00\\ud800"', '{"__proto__":{"a":1}}', '{"toString":1}'],
  ...[`${'['.repeat(200)}${']'.repeat(200)}`, '123456789012345678901234567890'],
];

const oddText = fc.constantFrom(...oddTexts);

const recipients = fc.integer({ min: 40, max: 69 }).map((last) => `"+120255501${last}"`);

/** The fields of a send as JSON: each is valid, odd or absent. */
const sendMembers = fc.tuple(
  field('to', recipients),
  field(
    'from',
    fc.constantFrom(numbers[0], numbers[0], ...numbers).map((number) => `"${number}"`),
  ),
  field('message', fc.constantFrom('"hello"', '"\u{1F600} ü"', `"${'m'.repeat(400)}"`)),
  optionalField(
    'request_id',
    fc.nat(40).map((id) => `"id-${id}"`),
  ),
  optionalField('send_at', fc.constantFrom('"2030-01-01T00:00:00Z"', '"2026-06-01T00:00:00.001Z"')),
  optionalField(
    'from_number',
    fc.constantFrom(...numbers).map((number) => `"${number}"`),
  ),
);

const extraMember = fc
  .tuple(fc.constantFrom('__proto__', 'constructor', 'to', 'a', ''), oddText)
  .map(([name, text]) => `${JSON.stringify(name)}:${text}`);

const sendText: fc.Arbitrary<string> = fc
  .tuple(sendMembers, rarely<string | undefined>(9, undefined, extraMember))
  .map(([members, extra]) => {
    const present = [...members, extra].filter((member) => member !== undefined);
    return `{${present.join(',')}}`;
  });

/** A member of a JSON object: mostly valid, sometimes odd or absent. */
function field(name: string, valid: fc.Arbitrary<string>): fc.Arbitrary<string | undefined> {
  return weighted<string | undefined>(
    [40, valid.map((value) => `"${name}":${value}`)],
    [2, oddText.map((value) => `"${name}":${value}`)],
    [1, fc.constant(undefined)],
  );
}

function optionalField(
  name: string,
  valid: fc.Arbitrary<string>,
): fc.Arbitrary<string | undefined> {
  return weighted<string | undefined>([3, fc.constant(undefined)], [1, field(name, valid)]);
}

const wholeBodies: readonly Bytes[] = [
  ...values.oddBodies.map((body) => Buffer.from(body).toString('latin1')),
  ...[' ', '5', '\xef\xbb\xbf{}', '\xc3\x28', '[{"a":', '{"a":1}{', '{"a":NaN}', "{'a':1}", '\0'],
  ...['{"a":1,}', '{"\\u0000":1}', '['.repeat(5_000), '{"a":'.repeat(5_000)],
  `${'[['.repeat(2_000)}${']]'.repeat(2_000)}`,
];

export const sendBody: fc.Arbitrary<Bytes> = weighted<Bytes>(
  [10, sendText.map(utf8)],
  [2, damaged(sendText)],
  [1, fc.constantFrom(...wholeBodies)],
);

/** A body near the largest accepted size. */
export const largeBody: fc.Arbitrary<Bytes> = fc
  .tuple(sendText, fc.constantFrom(65_535, 65_536, 65_537, 70_000))
  .map(([text, size]) => utf8(text).padEnd(size, ' '));

/** Any text, damaged. */
export function damaged(text: fc.Arbitrary<string>): fc.Arbitrary<Bytes> {
  return fc.tuple(text, damage).map(([whole, change]) => change(utf8(whole)));
}
