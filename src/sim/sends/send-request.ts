/**
 * Validates the body of a send: returns its values, or which fields fail and why.
 * Rules: SEND-1, SEND-2, SEND-5 to SEND-7. Assumes: bothSenderFields, unknownFields, nullFields,
 * typeCoercion, emptyRequestId, requestIdMaxLength, characterUnit, blankMessage, numberCheck,
 * sendAtFormats, emptySendAt, sendAtZone, sendAtMaxAheadDays.
 */

import { z } from 'zod';
import { messageMaxCharacters } from '#contract/limits.ts';
import { dayMs, isoTime } from '#contract/time.ts';
import type { Assumptions } from '../assumptions.ts';
import type { FieldFailure } from '../errors.ts';
import { e164, isPhoneNumber } from './phone-number.ts';
import { parseSendAt, sendAtPattern } from './send-at.ts';

/** A body that passed validation. The owner of the number, device and quota are not checked yet. */
export interface SendRequest {
  readonly to: string;
  /** `from`, or `from_number` if that field applies. */
  readonly sender: string;
  readonly message: string;
  /** Empty if the caller gave none (RES-3). */
  readonly requestId: string;
  /** Epoch milliseconds, or 0 for "immediately". */
  readonly sendAtMs: number;
}

export type SendValidation =
  | { readonly kind: 'valid'; readonly request: SendRequest }
  | {
      readonly kind: 'invalid_field';
      readonly failures: readonly [FieldFailure, ...FieldFailure[]];
    };

/**
 * The fields of the document's table, as schemas under the assumptions in force. `meta` holds
 * constraints that JSON Schema can express but zod's checks cannot, such as a length in code points
 * or a spelling checked elsewhere.
 */
export function sendFields(assumptions: Assumptions) {
  const { blankMessage, characterUnit, emptyRequestId, requestIdMaxLength } = assumptions;
  const text = z.string({ error: typeError('a string') });
  const textToSend =
    blankMessage === 'accept'
      ? text
      : text
          .refine((value) => notBlank.test(value), 'May not be blank.')
          .meta({ pattern: notBlank.source });
  const id = emptyRequestId === 'none_supplied' ? text : text.min(1, 'May not be empty.');
  return {
    to: numberField(text, assumptions),
    sender: numberField(text, assumptions),
    message: textToSend
      .refine(
        (value) => isAtMost(messageMaxCharacters, value, characterUnit),
        `At most ${messageMaxCharacters} characters.`,
      )
      // 1,600 graphemes may have any number of code points; 1,600 UTF-16 units never have more than
      // 1,600.
      .meta(characterUnit === 'graphemes' ? {} : { maxLength: messageMaxCharacters }),
    request_id: id
      .refine(
        (value) => isAtMost(requestIdMaxLength, value, 'code_points'),
        `At most ${requestIdMaxLength} characters.`,
      )
      .meta({ maxLength: requestIdMaxLength })
      .optional(),
    send_at: text.meta({ pattern: sendAtPattern(assumptions) }).optional(),
  };
}

/** A message that is not blank has a character that JavaScript's `trim` keeps. */
const notBlank = /\S/u;

function numberField(text: z.ZodString, { numberCheck }: Assumptions) {
  return text
    .refine((value) => isPhoneNumber(value, numberCheck), 'Not a phone number in E.164 format.')
    .meta({ pattern: e164.source });
}

/** The field names that callers use, in the order of the document's table. */
export const documentedFields = [
  'to',
  'from',
  'from_number',
  'message',
  'request_id',
  'send_at',
] as const;
const knownFields: ReadonlySet<string> = new Set(documentedFields);

type SendSchema = z.ZodObject<ReturnType<typeof sendFields>>;

/**
 * The schema under each set of assumptions, because building one costs far more than using it. A
 * switch replaces the whole set, so a schema is never out of date.
 */
const schemas = new WeakMap<Assumptions, SendSchema>();

function schemaFor(assumptions: Assumptions): SendSchema {
  let schema = schemas.get(assumptions);
  if (schema === undefined) {
    schema = z.object(sendFields(assumptions));
    schemas.set(assumptions, schema);
  }
  return schema;
}

/** `body`: a JSON object. Failures come in the order of the document's table. */
export function validateSend(
  body: Readonly<Record<string, unknown>>,
  assumptions: Assumptions,
  nowMs: number,
): SendValidation {
  const { sender, field, conflict } = chooseSender(body, assumptions);
  const sendAt = optional(body, 'send_at', assumptions);
  const parsed = schemaFor(assumptions).safeParse({
    to: asText(body['to'], assumptions),
    sender,
    message: asText(body['message'], assumptions),
    request_id: optional(body, 'request_id', assumptions),
    send_at: sendAt,
  });
  const failures: FieldFailure[] = [];
  if (!parsed.success) addIssues(failures, parsed.error.issues, field, conflict !== undefined);
  if (conflict !== undefined) insertConflict(failures, conflict);
  let sendAtMs = 0;
  if (typeof sendAt === 'string') {
    const reading = readSendAt(sendAt, assumptions, nowMs);
    if (typeof reading === 'number') sendAtMs = reading;
    else failures.push({ field: 'send_at', detail: reading.why });
  }
  if (assumptions.unknownFields === 'reject') {
    for (const name of Object.keys(body)) {
      if (!knownFields.has(name)) failures.push({ field: name, detail: 'Unknown field.' });
    }
  }
  const [first, ...others] = failures;
  if (first !== undefined) return { kind: 'invalid_field', failures: [first, ...others] };
  if (!parsed.success) throw new Error('a body without failures parses');
  const { to, message, request_id: requestId = '' } = parsed.data;
  return {
    kind: 'valid',
    request: { to, sender: parsed.data.sender, message, requestId, sendAtMs },
  };
}

/** Adds the first issue of each field. A conflict of two senders replaces the sender's issue. */
function addIssues(
  failures: FieldFailure[],
  issues: readonly z.core.$ZodIssue[],
  senderField: 'from' | 'from_number',
  hasConflict: boolean,
): void {
  for (const { path, message } of issues) {
    const name = String(path[0]);
    if (name === 'sender' && hasConflict) continue;
    const field = name === 'sender' ? senderField : name;
    if (!failures.some((failure) => failure.field === field)) {
      failures.push({ field, detail: message });
    }
  }
}

/** The `request_id` of a body that may still fail validation; undefined if it has no usable one. */
export function readRequestId(
  body: Readonly<Record<string, unknown>>,
  assumptions: Pick<Assumptions, 'typeCoercion'>,
): string | undefined {
  const requestId = asText(body['request_id'], assumptions);
  return typeof requestId === 'string' && requestId !== '' ? requestId : undefined;
}

/** The sender that the body names, valid or not, and the field that names it. */
export function chooseSender(
  body: Readonly<Record<string, unknown>>,
  assumptions: Pick<Assumptions, 'bothSenderFields' | OptionalAssumption>,
): { sender: unknown; field: 'from' | 'from_number'; conflict?: FieldFailure } {
  const from = optional(body, 'from', assumptions);
  const alias = optional(body, 'from_number', assumptions);
  if (alias === undefined) return { sender: from, field: 'from' };
  if (from === undefined) return { sender: alias, field: 'from_number' };
  switch (assumptions.bothSenderFields) {
    case 'from_wins':
      return { sender: from, field: 'from' };
    case 'alias_wins':
      return { sender: alias, field: 'from_number' };
    case 'reject':
      return {
        sender: from,
        field: 'from',
        conflict: bothGiven('Give `from` or `from_number`, not both.'),
      };
    case 'reject_if_different':
      return from === alias
        ? { sender: from, field: 'from' }
        : { sender: from, field: 'from', conflict: bothGiven('Differs from `from`.') };
  }
}

function bothGiven(detail: string): FieldFailure {
  return { field: 'from_number', detail };
}

/** Reports the alias at the sender's place in the document's table: before `message`. */
function insertConflict(failures: FieldFailure[], conflict: FieldFailure): void {
  const next = failures.findIndex(({ field }) => field !== 'to');
  failures.splice(next < 0 ? failures.length : next, 0, conflict);
}

type OptionalAssumption = 'nullFields' | 'typeCoercion' | 'emptySendAt';

/**
 * The value of an optional field; undefined if it counts as absent, which `nullFields` decides for
 * `null`, and `emptySendAt` for an empty `send_at`.
 */
export function optional(
  body: Readonly<Record<string, unknown>>,
  field: 'from' | 'from_number' | 'request_id' | 'send_at',
  assumptions: Pick<Assumptions, OptionalAssumption>,
): unknown {
  const value = body[field];
  if (value === null) return assumptions.nullFields === 'absent' ? undefined : null;
  if (value === '' && field === 'send_at' && assumptions.emptySendAt === 'absent') return undefined;
  return asText(value, assumptions);
}

/** The value, or the text of a number or boolean if `typeCoercion` allows it. */
export function asText(
  value: unknown,
  { typeCoercion }: Pick<Assumptions, 'typeCoercion'>,
): unknown {
  if (typeCoercion === 'reject') return value;
  const isText =
    typeof value === 'number' || (typeof value === 'boolean' && typeCoercion === 'coerce');
  return isText ? String(value) : value;
}

/** Epoch milliseconds, or why this time is not accepted. */
function readSendAt(
  text: string,
  assumptions: Assumptions,
  nowMs: number,
): number | { readonly why: string } {
  const { sendAtMaxAheadDays } = assumptions;
  const sendAtMs = parseSendAt(text, assumptions);
  if (typeof sendAtMs !== 'number') return sendAtMs;
  // States the simulated time, because a scaled or manual clock differs from the caller's.
  if (sendAtMs <= nowMs) return { why: `Must be in the future: it is ${isoTime(nowMs)} now.` };
  if (sendAtMaxAheadDays !== 'unlimited' && sendAtMs > nowMs + sendAtMaxAheadDays * dayMs) {
    return { why: `At most ${sendAtMaxAheadDays} days ahead.` };
  }
  return sendAtMs;
}

function typeError(expected: string) {
  return ({ input }: { readonly input?: unknown }) =>
    input === undefined ? 'This field is required.' : `Expected ${expected}.`;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** True if `text` has at most `limit` characters of the given unit. */
function isAtMost(limit: number, text: string, unit: Assumptions['characterUnit']): boolean {
  // Other units never count more characters than UTF-16.
  if (text.length <= limit) return true;
  if (unit === 'utf16_units') return false;
  let characters = 0;
  for (const _ of unit === 'code_points' ? text : graphemes.segment(text)) {
    if (++characters > limit) return false;
  }
  return true;
}
