/**
 * The fields of a send body, checked one by one as the document's table lists them.
 * Rules: SEND-1, SEND-2, SEND-5 to SEND-7, RES-2. Assumes: bothSenderFields, unknownFields,
 * nullFields, typeCoercion, fieldOrder, senderFieldName, emptyRequestId, requestIdMaxLength,
 * requestIdUnit, characterUnit, blankMessage, numberCheck, numberMinDigits, emptySendAt,
 * sendAtMaxAheadDays.
 */
import { isPossiblePhoneNumber } from 'libphonenumber-js';
import { isValidPhoneNumber } from 'libphonenumber-js/max';
import type { Assumptions } from './assumptions.ts';
import { instantOf } from './reference-time.ts';

export type Body = Readonly<Record<string, unknown>>;

/** The content of a valid body. */
export interface Wanted {
  readonly to: string;
  readonly sender: string;
  readonly message: string;
  readonly requestId: string;
  readonly sendAtMs: number | undefined;
}

const known = ['to', 'from', 'from_number', 'message', 'request_id', 'send_at'];

/** The failing fields in order; if there are none, the content of the body. */
export function checkFields(
  body: Body,
  now: number,
  assumptions: Assumptions,
): { failing: readonly string[]; wanted: Wanted } {
  const failing: string[] = [];
  const to = given(body, 'to', assumptions);
  if (!isNumber(to, assumptions)) failing.push('to');

  const sender = senderOf(body, assumptions);
  if (sender.isAmbiguous) failing.push('from_number');
  else if (!isNumber(sender.value, assumptions))
    failing.push(assumptions.senderFieldName === 'from' ? 'from' : sender.name);

  const message = given(body, 'message', assumptions);
  if (!isText(message, assumptions)) failing.push('message');

  const requestId = given(body, 'request_id', assumptions);
  if (requestId !== undefined && !isRequestId(requestId, assumptions)) failing.push('request_id');

  const sendAt = given(body, 'send_at', assumptions);
  const sendAtMs = sendAt === undefined ? undefined : instantOf(sendAt, assumptions);
  if (sendAt !== undefined && !isAhead(sendAtMs, now, assumptions)) failing.push('send_at');

  if (assumptions.unknownFields === 'reject') {
    failing.push(...Object.keys(body).filter((name) => !known.includes(name)));
  }
  return {
    failing: inOrder(failing, assumptions.fieldOrder),
    wanted: {
      to: textOf(to),
      sender: textOf(sender.value),
      message: textOf(message),
      requestId: textOf(requestId),
      sendAtMs,
    },
  };
}

/** Sorts failing fields by this order. */
function inOrder(failing: readonly string[], order: readonly string[]): readonly string[] {
  const isUnknown = (name: string) => !known.includes(name);
  return order.flatMap((field) =>
    failing.filter((name) => {
      if (field === 'unknown') return isUnknown(name);
      return name === field || (field === 'from' && name === 'from_number');
    }),
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** SEND-1: the sender, under the name that the caller gave it. */
export function senderOf(
  body: Body,
  assumptions: Assumptions,
): { value: unknown; name: 'from' | 'from_number'; isAmbiguous: boolean } {
  const from = given(body, 'from', assumptions);
  const alias = given(body, 'from_number', assumptions);
  if (alias === undefined) return { value: from, name: 'from', isAmbiguous: false };
  if (from === undefined) return { value: alias, name: 'from_number', isAmbiguous: false };
  switch (assumptions.bothSenderFields) {
    case 'from_wins':
      return { value: from, name: 'from', isAmbiguous: false };
    case 'alias_wins':
      return { value: alias, name: 'from_number', isAmbiguous: false };
    case 'reject':
      return { value: from, name: 'from', isAmbiguous: true };
    case 'reject_if_different':
      return { value: from, name: 'from', isAmbiguous: from !== alias };
  }
}

/** How a field is read: absent, a text, or an invalid value. */
export function given(
  body: Body,
  name: string,
  { nullFields, typeCoercion, emptySendAt }: Assumptions,
): unknown {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  if (value === null && (nullFields === 'absent' || nullFields.includes(name))) return undefined;
  if (value === '' && name === 'send_at' && emptySendAt === 'absent') return undefined;
  const isPlain =
    (typeof value === 'number' && typeCoercion !== 'reject') ||
    (typeof value === 'boolean' && typeCoercion === 'coerce');
  return isPlain ? `${value}` : value;
}

/** RES-2: E.164, as strictly as `numberCheck` says. */
function isNumber(value: unknown, { numberCheck, numberMinDigits }: Assumptions): boolean {
  if (typeof value === 'string' && value.length - 1 < numberMinDigits) return false;
  if (typeof value !== 'string' || !/^\+[1-9][0-9]{1,14}$/.test(value)) return false;
  if (numberCheck === 'shape') return true;
  return numberCheck === 'possible' ? isPossiblePhoneNumber(value) : isValidPhoneNumber(value);
}

/** SEND-6: at most 1,600 characters. */
function isText(value: unknown, { characterUnit, blankMessage }: Assumptions): boolean {
  if (typeof value !== 'string') return false;
  if (isBlank(value, blankMessage)) return false;
  if (characterUnit === 'utf16_units') return value.length <= 1600;
  if (characterUnit === 'code_points') return [...value].length <= 1600;
  // Stops as soon as the limit is exceeded: every segment copies the whole text.
  let graphemes = 0;
  for (const _ of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(value)) {
    graphemes += 1;
    if (graphemes > 1600) return false;
  }
  return true;
}

const blankCharacters: Readonly<Record<string, readonly number[]>> = {
  space: [0x20],
  control: [9, 10, 11, 12, 13],
  no_break: [0xa0],
  unicode: [
    0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a,
    0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
  ],
  byte_order_mark: [0xfeff],
  next_line: [0x85],
  zero_width: [0x200b, 0x200c, 0x200d, 0x2060],
  separator: [0x1c, 0x1d, 0x1e, 0x1f],
};

function isBlank(text: string, blankMessage: Assumptions['blankMessage']): boolean {
  if (blankMessage === 'accept') return false;
  if (blankMessage === 'reject') return text.trim() === '';
  if (text === '') return blankMessage.includes('empty');
  const blank = blankMessage.flatMap((kind) => blankCharacters[kind] ?? []);
  return [...text].every((character) => blank.includes(character.codePointAt(0) ?? -1));
}

function isRequestId(value: unknown, assumptions: Assumptions): boolean {
  const { emptyRequestId, requestIdMaxLength, requestIdUnit } = assumptions;
  if (typeof value !== 'string') return false;
  if (value === '') return emptyRequestId === 'none_supplied';
  const length = {
    code_points: [...value].length,
    utf16_units: value.length,
    bytes: Buffer.byteLength(value),
  }[requestIdUnit];
  return length <= requestIdMaxLength;
}

/** SEND-7: in the future, and not too far ahead. */
function isAhead(
  atMs: number | undefined,
  now: number,
  { sendAtMaxAheadDays }: Assumptions,
): boolean {
  if (atMs === undefined || atMs <= now) return false;
  return (
    sendAtMaxAheadDays === 'unlimited' || atMs - now <= Number(sendAtMaxAheadDays) * 86_400_000
  );
}

const gsm7 = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
const gsm7Extension = new Set('\f^{}\\[~]|€');

/** SMS segments of a text (GSM 03.38, else UCS-2); a character is never split over two. */
export function segmentsOf(text: string): number {
  const characters = [...text];
  const isGsm = characters.every((c) => gsm7.has(c) || gsm7Extension.has(c));
  const units = characters.map((c) => (isGsm ? (gsm7Extension.has(c) ? 2 : 1) : c.length));
  const [alone, joined] = isGsm ? [160, 153] : [70, 67];
  if (units.reduce((sum, n) => sum + n, 0) <= alone) return 1;
  let segments = 1;
  let used = 0;
  for (const n of units) {
    if (used + n > joined) {
      segments += 1;
      used = 0;
    }
    used += n;
  }
  return segments;
}
