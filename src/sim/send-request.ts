/**
 * Validation of the send body: which fields fail, and why.
 * Rules: SEND-1, SEND-2, SEND-5 to SEND-7. Assumes: bothSenderFields, unknownFields, nullFields,
 * typeCoercion, emptyRequestId, requestIdMaxLength, characterUnit, blankMessage, numberCheck,
 * sendAtFormats, sendAtZone, sendAtMaxAheadDays.
 */
import { z } from 'zod';
import type { Assumptions } from './assumptions.ts';
import type { FieldFailure } from './errors.ts';
import { isoTime } from './iso-time.ts';
import { messageMaxCharacters, msPerDay } from './limits.ts';
import { e164, isPhoneNumber } from './phone-number.ts';
import { parseSendAt, sendAtPattern } from './send-at.ts';

/** A body that holds by itself, before the number, the device and the quota are looked at. */
export interface SendRequest {
  readonly to: string;
  /** `from`, or `from_number` where that is the one that counts. */
  readonly sender: string;
  readonly message: string;
  /** Empty when none was supplied (RES-3). */
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

/** A regular expression for what `trim` leaves something of. */
const notBlank = String.raw`\S`;

/**
 * The fields of the document's table, as schemas under the assumptions in force. What a JSON Schema
 * can say and zod's own checks cannot (a length in code points, a spelling checked elsewhere)
 * stands in `meta`.
 */
export function sendFields(assumptions: Assumptions) {
  const { blankMessage, characterUnit, emptyRequestId, requestIdMaxLength } = assumptions;
  const text = z.string({ error: typeError('a string') });
  const textToSend =
    blankMessage === 'accept'
      ? text
      : text
          .refine((given) => given.trim() !== '', 'May not be blank.')
          .meta({ pattern: notBlank });
  const id = emptyRequestId === 'none_supplied' ? text : text.min(1, 'May not be empty.');
  return {
    to: numberField(text, assumptions),
    sender: numberField(text, assumptions),
    message: textToSend
      .refine(
        (given) => isAtMost(messageMaxCharacters, given, characterUnit),
        `At most ${messageMaxCharacters} characters.`,
      )
      // 1,600 graphemes may be any number of code points; 1,600 UTF-16 units are never more of
      // them.
      .meta(characterUnit === 'graphemes' ? {} : { maxLength: messageMaxCharacters }),
    request_id: id
      .refine(
        (given) => isAtMost(requestIdMaxLength, given, 'code_points'),
        `At most ${requestIdMaxLength} characters.`,
      )
      .meta({ maxLength: requestIdMaxLength })
      .optional(),
    send_at: text.meta({ pattern: sendAtPattern(assumptions) }).optional(),
  };
}

function numberField(text: z.ZodString, { numberCheck }: Assumptions) {
  return text
    .refine((given) => isPhoneNumber(given, numberCheck), 'Not a phone number in E.164 format.')
    .meta({ pattern: e164.source });
}

/** By the names that callers use, in the order of the document's table. */
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

/** Building a schema costs far more than using it, and assumptions are replaced as a whole. */
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
  const { sender, field: senderField, conflict } = chooseSender(body, assumptions);
  const parsed = schemaFor(assumptions).safeParse({
    to: asText(body['to'], assumptions),
    sender,
    message: asText(body['message'], assumptions),
    request_id: optional(body['request_id'], assumptions),
    send_at: optional(body['send_at'], assumptions),
  });
  const failures: FieldFailure[] = [];
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const path = String(issue.path[0]);
      const field = path === 'sender' ? senderField : path;
      // Two senders that may not stand together fail as such, under the alias's name.
      if (path === 'sender' && conflict !== undefined) continue;
      if (!failures.some((failure) => failure.field === field)) {
        failures.push({ field, detail: issue.message });
      }
    }
  }
  if (conflict !== undefined) insertConflict(failures, conflict);
  let sendAtMs = 0;
  const sendAt = optional(body['send_at'], assumptions);
  if (typeof sendAt === 'string') {
    const read = readSendAt(sendAt, assumptions, nowMs);
    if (typeof read === 'number') sendAtMs = read;
    else failures.push({ field: 'send_at', detail: read.why });
  }
  if (assumptions.unknownFields === 'reject') {
    for (const field of Object.keys(body)) {
      if (!knownFields.has(field)) failures.push({ field, detail: 'Unknown field.' });
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

/** The `request_id` of a body that may yet fail validation; undefined when none could be kept. */
export function readRequestId(
  body: Readonly<Record<string, unknown>>,
  assumptions: Pick<Assumptions, 'typeCoercion'>,
): string | undefined {
  const requestId = asText(body['request_id'], assumptions);
  return typeof requestId === 'string' && requestId !== '' ? requestId : undefined;
}

/** The sender as it stands in the body, valid or not: what a replay is compared by. */
export function chooseSender(
  body: Readonly<Record<string, unknown>>,
  assumptions: Pick<Assumptions, 'bothSenderFields' | 'nullFields' | 'typeCoercion'>,
): { sender: unknown; field: 'from' | 'from_number'; conflict?: FieldFailure } {
  const from = optional(body['from'], assumptions);
  const alias = optional(body['from_number'], assumptions);
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

/** The alias stands where the sender does in the document's table: before `message`. */
function insertConflict(failures: FieldFailure[], conflict: FieldFailure): void {
  const behind = failures.findIndex(({ field }) => field !== 'to');
  failures.splice(behind < 0 ? failures.length : behind, 0, conflict);
}

/** `null` for an optional field is no value where `nullFields` says so. */
export function optional(
  value: unknown,
  assumptions: Pick<Assumptions, 'nullFields' | 'typeCoercion'>,
): unknown {
  return value === null && assumptions.nullFields === 'absent'
    ? undefined
    : asText(value, assumptions);
}

/** A number or boolean as JavaScript writes it, where `typeCoercion` takes it for a string. */
export function asText(
  value: unknown,
  { typeCoercion }: Pick<Assumptions, 'typeCoercion'>,
): unknown {
  return typeCoercion === 'coerce' && (typeof value === 'number' || typeof value === 'boolean')
    ? String(value)
    : value;
}

function readSendAt(
  text: string,
  assumptions: Assumptions,
  nowMs: number,
): number | { readonly why: string } {
  const { sendAtMaxAheadDays } = assumptions;
  const sendAtMs = parseSendAt(text, assumptions);
  if (typeof sendAtMs !== 'number') return sendAtMs;
  // A scaled or manual clock is not the caller's.
  if (sendAtMs <= nowMs) return { why: `Must be in the future: it is ${isoTime(nowMs)} now.` };
  if (sendAtMaxAheadDays !== 'unlimited' && sendAtMs > nowMs + sendAtMaxAheadDays * msPerDay) {
    return { why: `At most ${sendAtMaxAheadDays} days ahead.` };
  }
  return sendAtMs;
}

function typeError(expected: string) {
  return ({ input }: { readonly input?: unknown }) =>
    input === undefined ? 'This field is required.' : `Expected ${expected}.`;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Whether `text` has at most `limit` characters of the given unit. */
function isAtMost(limit: number, text: string, unit: Assumptions['characterUnit']): boolean {
  // No unit counts more characters than UTF-16 does.
  if (text.length <= limit) return true;
  if (unit === 'utf16_units') return false;
  let characters = 0;
  for (const _ of unit === 'code_points' ? text : graphemes.segment(text)) {
    if (++characters > limit) return false;
  }
  return true;
}
