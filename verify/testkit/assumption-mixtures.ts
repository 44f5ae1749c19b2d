/** Sets of assumptions under which the documented requests and replies differ. */

import type { AssumptionName } from '#contract/assumptions.ts';
import { answersOf } from '#contract/assumptions.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';

/**
 * Combinations of assumptions that change the documented requests or replies. A run draws two of
 * them, so do not add a new answer here: it is then played alone in each run.
 */
export const mixtures: readonly Partial<Assumptions>[] = [
  {},
  { errorBody: 'nested', notFoundBody: 'code_detail', malformedJson: 'code_400' },
  { errorBody: 'field_map', notFoundBody: 'code_detail', bothSenderFields: 'alias_wins' },
  { errorBody: 'field_map', unknownFields: 'reject', sendAtZone: 'naive_is_utc' },
  { errorBody: 'nested', unknownFields: 'reject', replayDifferentBody: 'conflict' },
  { validationScope: 'all', errorBody: 'code_detail', pathIdForm: 'any', typeCoercion: 'coerce' },
  { validationScope: 'all', errorBody: 'field_map', gateOrder: 'quota_before_sender' },
  { validationScope: 'all', errorBody: 'nested', unknownFields: 'reject', nullFields: 'absent' },
  { trailingSlash: 'redirect', methodNotAllowed: '404', contentType: 'ignore' },
  { nullFields: 'absent', bothSenderFields: 'reject', unknownFields: 'reject' },
  { nullFields: 'absent', bothSenderFields: 'reject_if_different', emptyRequestId: 'reject' },
  { nullFields: 'absent', bothSenderFields: 'alias_wins', sendAtZone: 'any_offset' },
  { requestIdMaxLength: 3, sendAtMaxAheadDays: 7, characterUnit: 'utf16_units', sendAtZone: 'any' },
  { sendAtFormats: 'iso8601' },
  { emptySendAt: 'absent', typeCoercion: 'numbers' },
  { bothSenderFields: 'reject', receivedQuery: 'ignore' },
  { receivedQuery: 'not_found', headMethod: 'refused', trailingSlash: 'served' },
  { sendAtFormats: 'iso8601', sendAtZone: 'any' },
  { blankMessage: 'accept', characterUnit: 'graphemes', numberCheck: 'shape' },
  {
    replyTemplates: {
      error: { body: { title: '{detail}', code: '{code}' } },
      invalid_field: { body: { errors: [{ field: '{field}', why: '{detail}' }] } },
      invalid_key: { body: { code: '{code}' }, headers: { 'www-authenticate': null } },
      method_not_allowed: { headers: { allow: '{allow}, OPTIONS' } },
      stats: { body: { total: '{accepted}' } },
      tasks: { body: '{items}', item: { id: '{message_id}' } },
    },
  },
  { receivedShape: 'array', tasksShape: 'array', heldStatus: 'scheduled', numberCheck: 'valid' },
];

/**
 * For each named answer of these assumptions that no mixture has, such as a new one, a set of its
 * own.
 */
const mixed = new Set(mixtures.flatMap((each) => Object.keys(each) as AssumptionName[]));
export const unmixed: readonly Partial<Assumptions>[] = [...mixed].flatMap((name) =>
  answersOf(name)
    .slice(1)
    .filter((answer) => !mixtures.some((each) => each[name] === answer))
    .map((answer) => ({ [name]: answer })),
);

/** The assumptions as text, for the name of a test. */
export function named(assumptions: Partial<Assumptions>): string {
  return Object.entries(assumptions).join(' ') || 'the defaults';
}
