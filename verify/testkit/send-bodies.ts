/**
 * Bodies of a send that show how the answers about its fields differ: the service, its document and
 * the judges must agree on each of them, under each answer.
 */
import { fields } from '#contract/assumptions/fields.ts';
import type { AssumptionName } from '#contract/assumptions.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';
import { randomAnswers } from './examples/examples.ts';
import { type Fields, plainSend } from './twin/twin.ts';

const leaveOut = undefined;
const number = '+12025550101';
const future = '2026-01-02T00:00:00Z';

/** Each differs from the plain send in a field or two. No `request_id` occurs twice. */
export const bodies: readonly Fields[] = [
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
  ...[null, 5, true, {}, ['x']].map((message) => ({ message })),
  ...['', 'a', 'ab', '🙂🙂🙂', 'abcd', 'x'.repeat(255), 'x'.repeat(256), null, 9].map(
    (request_id) => ({ request_id }),
  ),
  ...[
    future,
    '2026-01-02T00:00:00.123456789Z',
    '2026-01-02T00:00Z',
    '20260102T000000Z',
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

/** Further bodies, which the document describes in words, as JSON Schema cannot express the rule. */
export const bodiesBeyondSchemas: readonly Fields[] = [
  { to: '+1202555' },
  { to: '+999123456789' },
  { to: '+12005550123' },
  { send_at: '2025-12-31T23:59:59Z' },
  { send_at: '2026-02-30T00:00:00Z' },
  { send_at: '2026-06-01T00:00:00Z' },
  { send_at: '2029-01-01T00:00:00Z' },
  { message: '🙂'.repeat(801) },
  { message: '👨‍👩‍👧'.repeat(400) },
  { from: number, from_number: '+12025550102' },
];

/** The plain send with these fields, after a round trip through JSON, which drops undefined ones. */
export function bodyOf(fields: Fields): unknown {
  return JSON.parse(JSON.stringify({ ...plainSend, ...fields }));
}

/** The assumptions that decide whether a body is accepted. */
export const assumptionsAboutBodies: readonly AssumptionName[] = [
  ...(Object.keys(fields) as (keyof typeof fields)[]),
  'bothSenderFields',
];

/** Each answer of `assumptionsAboutBodies` but the default. */
export const answersAboutBodies: readonly Partial<Assumptions>[] = assumptionsAboutBodies.flatMap(
  (name) => randomAnswers[name].slice(1).map((answer) => ({ [name]: answer })),
);
