/**
 * Reads the body of a send, field by field, as the document's table states it (SEND-1, SEND-2,
 * SEND-5 to SEND-7). Returns the fields, or the name of every field that fails.
 */
import type { Variation } from './variation.ts';

export interface SendFields {
  readonly to: string;
  readonly from: string;
  readonly message: string;
  readonly requestId: string;
  /** Epoch milliseconds; 0 for an immediate send. */
  readonly sendAtMs: number;
}

export type Mistake = readonly [field: string, text: string];

const known = ['to', 'from', 'from_number', 'message', 'request_id', 'send_at'];
const e164 = /^\+[1-9]\d{6,14}$/;
const utcTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|\+00:00)$/;
const spacedTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|\+00:00)$/;
const anyTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

export function readFields(
  body: Readonly<Record<string, unknown>>,
  nowMs: number,
  variation: Variation,
): SendFields | readonly Mistake[] {
  const mistakes: Mistake[] = [];
  const given = (name: string): unknown => {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (value === null && variation.nullIsAbsent) return undefined;
    if (value === '' && name === 'send_at' && variation.emptySendAtIsAbsent) return undefined;
    const isScalar = typeof value === 'number' || typeof value === 'boolean';
    return variation.coercesText && isScalar ? String(value) : value;
  };
  const check = (name: string, isRight: boolean, text: string): void => {
    if (!isRight) mistakes.push([name, text]);
  };
  const to = given('to');
  check('to', typeof to === 'string' && e164.test(to), 'Enter a valid phone number.');
  const [first, second] = variation.aliasWins ? ['from_number', 'from'] : ['from', 'from_number'];
  const from = given(first as string) ?? given(second as string);
  check('from', typeof from === 'string' && e164.test(from), 'Enter a valid phone number.');
  const message = given('message');
  check('message', isMessage(message, variation), 'Enter between 1 and 1600 characters.');
  const requestId = given('request_id') ?? '';
  check(
    'request_id',
    typeof requestId === 'string' && requestId.length <= 255,
    'Enter at most 255 characters.',
  );
  const sendAt = given('send_at');
  const sendAtMs = sendAt === undefined ? 0 : timeOf(sendAt, variation);
  check('send_at', sendAt === undefined || sendAtMs > nowMs, 'Enter a time in the future.');
  if (variation.refusesUnknownFields) {
    for (const name in body) check(name, known.includes(name), 'This field is not known.');
  }
  if (variation.namesLastFirst) mistakes.reverse();
  if (mistakes.length > 0) return variation.namesAllFields ? mistakes : mistakes.slice(0, 1);
  return {
    to: to as string,
    from: from as string,
    message: message as string,
    requestId: requestId as string,
    sendAtMs,
  };
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

function isMessage(value: unknown, { acceptsBlank, countsGraphemes }: Variation): boolean {
  if (typeof value !== 'string') return false;
  if (value.trim() === '' && !acceptsBlank) return false;
  let characters = 0;
  // Stops early, because each segment holds the whole text.
  for (const _ of countsGraphemes ? graphemes.segment(value) : value) {
    characters += 1;
    if (characters > 1_600) return false;
  }
  return true;
}

/** Epoch milliseconds, rounded up; NaN for an invalid time. */
function timeOf(value: unknown, { acceptsOffsets, readsSpaceInTime }: Variation): number {
  if (typeof value !== 'string') return Number.NaN;
  const withoutOffset = readsSpaceInTime ? spacedTime : utcTime;
  const known = acceptsOffsets ? anyTime : withoutOffset;
  if (!known.test(value)) return Number.NaN;
  const [day = ''] = value.split(/[T ]/);
  const midnightMs = Date.parse(`${day}T00:00:00Z`);
  // Month 13 is no time at all; 30 February is read as 2 March.
  if (Number.isNaN(midnightMs)) return Number.NaN;
  const isRealDay = new Date(midnightMs).toISOString().startsWith(day);
  const beyond = /\.\d{3}(\d+)/.exec(value)?.[1] ?? '0';
  return isRealDay ? Date.parse(value) + (Number(beyond) > 0 ? 1 : 0) : Number.NaN;
}
