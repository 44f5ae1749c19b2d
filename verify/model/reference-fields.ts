/**
 * Checks the fields of a send body for the reference model, in the order of the document's table.
 * Rules: SEND-1, SEND-2, SEND-5 to SEND-7, RES-2. Assumes: bothSenderFields, unknownFields,
 * nullFields, typeCoercion, emptyRequestId, requestIdMaxLength, characterUnit, blankMessage,
 * numberCheck, emptySendAt, sendAtMaxAheadDays.
 */
import { isPossiblePhoneNumber } from 'libphonenumber-js';
import { isValidPhoneNumber } from 'libphonenumber-js/max';
import { dayMs } from '#contract/time.ts';
import { instantOf } from '#judging/service/validity.ts';
import type { Assumptions } from './answers.ts';

export type Body = Readonly<Record<string, unknown>>;

/** The content of a valid body. */
export interface Content {
  readonly to: string;
  readonly sender: string;
  readonly message: string;
  readonly requestId: string;
  readonly sendAtMs: number | undefined;
}

const documentedNames = ['to', 'from', 'from_number', 'message', 'request_id', 'send_at'];

/** The failing fields in order; if there are none, the content of the body. */
export function checkFields(
  body: Body,
  now: number,
  assumptions: Assumptions,
): { failing: readonly string[]; content: Content } {
  const failing: string[] = [];
  const to = readField(body, 'to', assumptions);
  if (!isNumber(to, assumptions)) failing.push('to');

  const sender = senderOf(body, assumptions);
  if (sender.isAmbiguous) failing.push('from_number');
  else if (!isNumber(sender.value, assumptions)) failing.push(sender.name);

  const message = readField(body, 'message', assumptions);
  if (!isText(message, assumptions)) failing.push('message');

  const requestId = readField(body, 'request_id', assumptions);
  if (requestId !== undefined && !isRequestId(requestId, assumptions)) failing.push('request_id');

  const sendAt = readField(body, 'send_at', assumptions);
  const sendAtMs = sendAt === undefined ? undefined : instantOf(sendAt, assumptions);
  if (sendAt !== undefined && !isAhead(sendAtMs, now, assumptions)) failing.push('send_at');

  if (assumptions.unknownFields === 'reject')
    failing.push(...Object.keys(body).filter((name) => !documentedNames.includes(name)));
  return {
    failing,
    content: {
      to: textOf(to),
      sender: textOf(sender.value),
      message: textOf(message),
      requestId: textOf(requestId),
      sendAtMs,
    },
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** SEND-1: the sender, and the name under which a 400 names it. */
export function senderOf(
  body: Body,
  assumptions: Assumptions,
): { value: unknown; name: 'from' | 'from_number'; isAmbiguous: boolean } {
  const from = readField(body, 'from', assumptions);
  const alias = readField(body, 'from_number', assumptions);
  if (alias === undefined) return { value: from, name: 'from', isAmbiguous: false };
  if (from === undefined) return { value: alias, name: 'from_number', isAmbiguous: false };
  const { bothSenderFields } = assumptions;
  if (bothSenderFields === 'alias_wins')
    return { value: alias, name: 'from_number', isAmbiguous: false };
  const differs = bothSenderFields === 'reject_if_different' && from !== alias;
  return { value: from, name: 'from', isAmbiguous: bothSenderFields === 'reject' || differs };
}

/** The value of a field: undefined if it counts as absent, or the text that it is coerced to. */
export function readField(
  body: Body,
  name: string,
  { nullFields, typeCoercion, emptySendAt }: Assumptions,
): unknown {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  if (value === null && nullFields === 'absent') return undefined;
  if (value === '' && name === 'send_at' && emptySendAt === 'absent') return undefined;
  const isPlain =
    (typeof value === 'number' && typeCoercion !== 'reject') ||
    (typeof value === 'boolean' && typeCoercion === 'coerce');
  return isPlain ? `${value}` : value;
}

/** RES-2: E.164, as strictly as `numberCheck` says. */
function isNumber(value: unknown, { numberCheck }: Assumptions): boolean {
  if (typeof value !== 'string' || !/^\+[1-9][0-9]{1,14}$/.test(value)) return false;
  if (numberCheck === 'shape') return true;
  return numberCheck === 'possible' ? isPossiblePhoneNumber(value) : isValidPhoneNumber(value);
}

/** SEND-6. */
const mostCharacters = 1600;

/** SEND-6: a text that is not too long. */
function isText(value: unknown, { characterUnit, blankMessage }: Assumptions): boolean {
  if (typeof value !== 'string') return false;
  if (blankMessage === 'reject' && value.trim() === '') return false;
  if (blankMessage === 'reject_empty' && value === '') return false;
  if (characterUnit === 'utf16_units') return value.length <= mostCharacters;
  if (characterUnit === 'code_points') return [...value].length <= mostCharacters;
  // Stops as soon as the limit is exceeded: every segment copies the whole text.
  let graphemes = 0;
  for (const _ of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(value)) {
    graphemes += 1;
    if (graphemes > mostCharacters) return false;
  }
  return true;
}

function isRequestId(value: unknown, assumptions: Assumptions): boolean {
  const { emptyRequestId, requestIdMaxLength } = assumptions;
  if (typeof value !== 'string') return false;
  if (value === '') return emptyRequestId === 'none_supplied';
  return [...value].length <= requestIdMaxLength;
}

/** SEND-7: in the future, and not too far ahead. */
function isAhead(
  atMs: number | undefined,
  now: number,
  { sendAtMaxAheadDays }: Assumptions,
): boolean {
  if (atMs === undefined || atMs <= now) return false;
  return sendAtMaxAheadDays === 'unlimited' || atMs - now <= Number(sendAtMaxAheadDays) * dayMs;
}

const gsm7 = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
const gsm7Extension = new Set('\f^{}\\[~]|€');

/** SMS segments of a text (GSM 03.38, else UCS-2); a character is never split over two. */
export function segmentsOf(text: string): number {
  const characters = [...text];
  const isGsm = characters.every((each) => gsm7.has(each) || gsm7Extension.has(each));
  const gsmUnits = (character: string) => (gsm7Extension.has(character) ? 2 : 1);
  const units = characters.map((each) => (isGsm ? gsmUnits(each) : each.length));
  const [single, joined] = isGsm ? [160, 153] : [70, 67];
  if (units.reduce((sum, count) => sum + count, 0) <= single) return 1;
  let segments = 1;
  let unitsInSegment = 0;
  for (const count of units) {
    if (unitsInSegment + count > joined) {
      segments += 1;
      unitsInSegment = 0;
    }
    unitsInSegment += count;
  }
  return segments;
}
