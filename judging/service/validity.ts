/**
 * Judges need to know, for each field of a send, whether a service must accept it. Rules: SEND-2,
 * SEND-5 to SEND-7. The document leaves gaps that assumptions answer (`numberCheck`,
 * `characterUnit`, `sendAtZone`, …). A field is valid if every permitted answer accepts it, invalid if all of them
 * refuse it, and open if they differ: then a judge accepts either reply.
 */
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { messageMaxCharacters } from '#contract/limits.ts';
import { dayMs } from '#contract/time.ts';
import { unknown as unknownOffset } from '../evidence/clock-offset.ts';
import type { Exchange } from '../evidence/exchange.ts';
import { isObject, textOf } from './expectations.ts';
import { onceInTurn } from './judge.ts';
import { instantOf } from './written-send-at.ts';

type Validity = 'valid' | 'invalid' | 'open';

/** The names of the fields that are invalid, and of those that are open; the others are valid. */
export interface FieldValidity {
  readonly invalid: readonly string[];
  readonly open: readonly string[];
}

const senderNames = ['from', 'from_number'];
/** The fields of a send that the document names. */
export const documentedNames = ['to', ...senderNames, 'message', 'request_id', 'send_at'];

const withExactTimes = onceInTurn((exchange: Exchange) => checkFields(exchange, true));
const withEstimatedTimes = onceInTurn((exchange: Exchange) => checkFields(exchange, false));

/**
 * With `hasExactTimes`, the target's clock shows `sentAt` (see `Trace`); otherwise it may differ.
 */
export function validityOf(exchange: Exchange, hasExactTimes: boolean): FieldValidity {
  return hasExactTimes ? withExactTimes(exchange) : withEstimatedTimes(exchange);
}

function checkFields(exchange: Exchange, hasExactTimes: boolean): FieldValidity {
  const { fields = {} } = exchange;
  const { to, from, from_number: alias, message, request_id: id, send_at: sendAt } = fields;
  const invalid: string[] = [];
  const open: string[] = [];
  const note = (name: string, validity: Validity) => {
    if (validity === 'invalid') invalid.push(name);
    if (validity === 'open') open.push(name);
  };
  note('to', checkNumber(to));
  // Two senders together have an open meaning (`bothSenderFields`).
  if (from !== undefined && alias !== undefined) note('from', 'open');
  else if (alias !== undefined) note('from_number', checkSender(alias, exchange));
  else note('from', checkSender(from, exchange));
  note('message', checkMessage(message));
  note('request_id', checkRequestId(id));
  note('send_at', checkSendAt(sendAt, exchange, hasExactTimes));
  for (const name in fields) if (!documentedNames.includes(name)) note(name, 'open');
  return { invalid, open };
}

function checkSender(value: unknown, { sender }: Exchange): Validity {
  const validity = checkNumber(value);
  return validity === 'open' && sender?.is === 'own' ? 'valid' : validity;
}

/** The form of a number in E.164. */
export const e164 = /^\+[1-9][0-9]{1,14}$/;

/** A JSON number or boolean is invalid: even its text (`typeCoercion`) lacks the plus sign. */
function checkNumber(value: unknown): Validity {
  if (typeof value !== 'string' || !e164.test(value)) return 'invalid';
  return isPhoneNumber(value) ? 'valid' : 'open';
}

/** Results of `isPhoneNumber`, because parsing is slow and many numbers are alike. */
const knownNumbers = new Map<string, boolean>();
const mostKnownNumbers = 10_000;
/** The last three digits decide nothing: no plan of these countries looks at them. */
const northAmerican = /^\+1[2-9]\d{9}$/;

/**
 * True for a valid number in E.164. The parser drops a trunk zero after the country code, so the
 * number that it read must equal the text.
 */
function isPhoneNumber(text: string): boolean {
  // Without its plus sign, which every other key has.
  const key = northAmerican.test(text) ? text.slice(1, -3) : text;
  const known = knownNumbers.get(key);
  if (known !== undefined) return known;
  const parsed = parsePhoneNumberFromString(text);
  const isValid = parsed?.isValid() === true && parsed.number === text;
  if (knownNumbers.size >= mostKnownNumbers) knownNumbers.clear();
  knownNumbers.set(key, isValid);
  return isValid;
}

function checkMessage(value: unknown): Validity {
  if (value === undefined || value === null || typeof value === 'object') return 'invalid';
  if (typeof value !== 'string' || value.trim() === '') return 'open';
  if (value.length <= messageMaxCharacters) return 'valid';
  return graphemesIn(value) <= messageMaxCharacters ? 'open' : 'invalid';
}

/** The number of visible characters: of all answers of `characterUnit`, it counts the fewest. */
export function graphemesIn(text: string): number {
  let count = 0;
  for (const _ of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)) count += 1;
  return count;
}

/** No common database column for an id is shorter (`requestIdMaxLength`). */
const surelyAcceptedBytes = 20;
/** An id is any text: no assumption permits that a service takes letters of one script alone. */
const plainId = /^[\p{L}\p{M}\p{N}\p{Emoji_Presentation}_-]+$/u;

function checkRequestId(value: unknown): Validity {
  if (value === undefined) return 'valid';
  if (Array.isArray(value) || isObject(value)) return 'invalid';
  if (typeof value !== 'string' || value === '') return 'open';
  const isShort = value.length <= surelyAcceptedBytes;
  return isShort && Buffer.byteLength(value) <= surelyAcceptedBytes && plainId.test(value)
    ? 'valid'
    : 'open';
}

/** The form of the document's example, which every answer of `sendAtFormats` reads. */
const utcForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|\+00:00)$/;

function checkSendAt(value: unknown, exchange: Exchange, hasExactTimes: boolean): Validity {
  if (value === undefined) return 'valid';
  if (value === null || value === '') return 'open';
  const { sentAt, answeredAt, ahead = unknownOffset } = exchange;
  const offset = hasExactTimes ? { least: 0, most: 0 } : ahead;
  const sendAtMs = typeof value === 'object' ? undefined : laxInstantOf(String(value));
  if (sendAtMs === undefined || sendAtMs <= sentAt + offset.least) return 'invalid';
  const isSurelyAhead = sendAtMs > answeredAt + offset.most && sendAtMs < sentAt + dayMs;
  return utcForm.test(textOf(value)) && isSurelyAhead ? 'valid' : 'open';
}

/**
 * The instant that the most permissive service would read, or undefined. Some services take a space
 * for the T, a date without a time, or a leap second.
 */
function laxInstantOf(text: string): number | undefined {
  const permissive = { sendAtFormats: 'iso8601', sendAtZone: 'any' } as const;
  const usual = text.replace(' ', 'T').replace(/(:\d\d):60/, '$1:59');
  return instantOf(usual, permissive) ?? instantOf(`${usual}T00:00:00Z`, permissive);
}

/** The names under which a 400 may identify a field: either name of the sender (SEND-1). */
export function namesOf(field: string): readonly string[] {
  return senderNames.includes(field) ? senderNames : [field];
}

/** The time until which a `send_at` holds its message; undefined without a time in `utcForm`. */
export function holdEndOf({ fields }: Exchange): number | undefined {
  const text = textOf(fields?.['send_at']);
  return utcForm.test(text) ? Date.parse(text) : undefined;
}
