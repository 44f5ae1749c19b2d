/**
 * Reads the fields of a send's body once, and validates what it has read: returns the values, or
 * which fields fail and why.
 * Rules: SEND-1, SEND-2, SEND-5 to SEND-7, RES-3. Assumes: bothSenderFields, unknownFields,
 * nullFields, typeCoercion, emptyRequestId, requestIdMaxLength, characterUnit, blankMessage,
 * numberCheck, sendAtFormats, emptySendAt, sendAtZone, sendAtMaxAheadDays.
 */
import { z } from 'zod';
import { messageMaxCharacters } from '#contract/limits.ts';
import { dayMs, isoTime } from '#contract/time.ts';
import type { Assumptions } from '../assumptions.ts';
import { assert, type FieldFailure, type ServiceError } from '../errors.ts';
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
  | Extract<ServiceError, { kind: 'invalid_field' }>;

/**
 * The fields of the document's table, as schemas under the assumptions in force. `meta` holds
 * constraints that JSON Schema can express but zod's checks cannot, such as a length in code points
 * or a spelling checked elsewhere.
 */
export function sendFields(assumptions: Assumptions) {
  const { blankMessage, characterUnit, emptyRequestId, requestIdMaxLength } = assumptions;
  const text = z.string({ error: typeError('a string') });
  const allowed = charactersNeeded[blankMessage];
  const textToSend =
    allowed === undefined
      ? text
      : text
          .refine((value) => allowed.test(value), 'May not be blank.')
          .meta({ pattern: allowed.source });
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

/** What a message must contain: for `reject`, a character that JavaScript's `trim` keeps. */
const charactersNeeded: Readonly<Record<Assumptions['blankMessage'], RegExp | undefined>> = {
  reject: /\S/u,
  reject_empty: /[\s\S]/u,
  accept: undefined,
};

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

/** The body of a send, read once. Its values are not checked: each may be anything. */
export interface SendFields {
  readonly to: unknown;
  /** `from`, or `from_number` if that field applies. */
  readonly sender: unknown;
  readonly senderField: 'from' | 'from_number';
  /** Set if both names of the sender are given and `bothSenderFields` refuses that. */
  readonly conflict: FieldFailure | undefined;
  readonly message: unknown;
  readonly request_id: unknown;
  readonly send_at: unknown;
  /** The `request_id` if it can identify a send; else empty. It may still be too long. */
  readonly requestId: string;
  /** The instant of `send_at`, or why there is none; undefined if it is not text. */
  readonly sendAtMs: ReturnType<typeof parseSendAt> | undefined;
  /** The names that the document does not have, if they are refused. */
  readonly unknownNames: readonly string[];
}

const noNames: readonly string[] = [];

/** `body`: a JSON object. */
export function readSend(
  body: Readonly<Record<string, unknown>>,
  assumptions: Assumptions,
): SendFields {
  const { sender, field, conflict } = chooseSender(body, assumptions);
  const requestId = optional(body, 'request_id', assumptions);
  const sendAt = optional(body, 'send_at', assumptions);
  return {
    to: asText(body['to'], assumptions),
    sender,
    senderField: field,
    conflict,
    message: asText(body['message'], assumptions),
    request_id: requestId,
    send_at: sendAt,
    requestId: typeof requestId === 'string' ? requestId : '',
    sendAtMs: typeof sendAt === 'string' ? parseSendAt(sendAt, assumptions) : undefined,
    unknownNames:
      assumptions.unknownFields === 'reject'
        ? Object.keys(body).filter((name) => !knownFields.has(name))
        : noNames,
  };
}

/** Failures come in the order of the document's table. */
export function validateSend(
  fields: SendFields,
  assumptions: Assumptions,
  nowMs: number,
): SendValidation {
  const parsed = schemaFor(assumptions).safeParse(fields);
  const sendAt = releaseTime(fields.sendAtMs, assumptions, nowMs);
  const isSound = fields.conflict === undefined && fields.unknownNames.length === 0;
  if (parsed.success && isSound && typeof sendAt === 'number') {
    const { to, sender, message, request_id: requestId = '' } = parsed.data;
    return { kind: 'valid', request: { to, sender, message, requestId, sendAtMs: sendAt } };
  }
  const failures = failuresOf(fields, parsed.error?.issues ?? []);
  if (typeof sendAt !== 'number') failures.push({ field: 'send_at', detail: sendAt.why });
  for (const field of fields.unknownNames) failures.push({ field, detail: 'Unknown field.' });
  const [first, ...others] = failures;
  assert(first !== undefined, 'a body that is not valid has a failure');
  return { kind: 'invalid_field', failures: [first, ...others] };
}

/** The first issue of each field. A conflict of two senders replaces the sender's issue. */
function failuresOf(
  { senderField, conflict }: SendFields,
  issues: readonly z.core.$ZodIssue[],
): FieldFailure[] {
  return (['to', 'sender', 'message', 'request_id', 'send_at'] as const).flatMap((name) => {
    if (name === 'sender' && conflict !== undefined) return [conflict];
    const issue = issues.find(({ path }) => path[0] === name);
    if (issue === undefined) return [];
    return [{ field: name === 'sender' ? senderField : name, detail: issue.message }];
  });
}

/** The sender that the body names, valid or not, and the field that names it. */
function chooseSender(
  body: Readonly<Record<string, unknown>>,
  assumptions: Assumptions,
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
      return bothGiven(from, 'Give `from` or `from_number`, not both.');
    case 'reject_if_different':
      return from === alias
        ? { sender: from, field: 'from' }
        : bothGiven(from, 'Differs from `from`.');
  }
}

function bothGiven(sender: unknown, detail: string) {
  return { sender, field: 'from', conflict: { field: 'from_number', detail } } as const;
}

/**
 * The value of an optional field; undefined if it counts as absent, which `nullFields` decides for
 * `null`, and `emptySendAt` for an empty `send_at`.
 */
function optional(
  body: Readonly<Record<string, unknown>>,
  field: 'from' | 'from_number' | 'request_id' | 'send_at',
  assumptions: Assumptions,
): unknown {
  const value = body[field];
  if (value === null) return assumptions.nullFields === 'absent' ? undefined : null;
  if (value === '' && field === 'send_at' && assumptions.emptySendAt === 'absent') return undefined;
  return asText(value, assumptions);
}

/** The value, or the text of a number or boolean if `typeCoercion` allows it. */
function asText(value: unknown, { typeCoercion }: Assumptions): unknown {
  if (typeCoercion === 'reject') return value;
  const isText =
    typeof value === 'number' || (typeof value === 'boolean' && typeCoercion === 'coerce');
  return isText ? String(value) : value;
}

/** When the message is released, 0 for "immediately", or why this time is not accepted. */
function releaseTime(
  sendAtMs: SendFields['sendAtMs'],
  { sendAtMaxAheadDays }: Assumptions,
  nowMs: number,
): ReturnType<typeof parseSendAt> {
  // Absent, or not a text, which the schema refuses.
  if (sendAtMs === undefined) return 0;
  if (typeof sendAtMs !== 'number') return sendAtMs;
  // States the simulated time, because a scaled or manual clock differs from the caller's.
  if (sendAtMs <= nowMs) return { why: `Must be in the future: it is ${isoTime(nowMs)} now.` };
  if (sendAtMaxAheadDays !== 'unlimited' && sendAtMs > nowMs + sendAtMaxAheadDays * dayMs)
    return { why: `At most ${sendAtMaxAheadDays} days ahead.` };
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
  for (const _ of unit === 'code_points' ? text : graphemes.segment(text))
    if (++characters > limit) return false;
  return true;
}
