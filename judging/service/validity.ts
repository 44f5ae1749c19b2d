/**
 * Judges need to know, for each field of a send, whether a service must accept it. Rules: SEND-2,
 * SEND-5 to SEND-7. The document leaves gaps that assumptions answer (`numberCheck`,
 * `characterUnit`, `sendAtZone`, …). A field is valid if every permitted answer accepts it, invalid
 * if all of them refuse it, and open if they differ: then a judge accepts either reply.
 */
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import type { AssumptionName, NamedAnswer } from '#contract/assumptions.ts';
import { messageMaxCharacters } from '#contract/limits.ts';
import { isObject } from '#contract/request-and-reply.ts';
import { dayMs } from '#contract/time.ts';
import { onceInTurn } from '#io/grouped.ts';
import { unknownOffset } from '../evidence/clock-offset.ts';
import type { Exchange } from '../evidence/exchange.ts';
import { textOf } from './expectations.ts';
import type { Trace } from './judge.ts';

type Validity = 'valid' | 'invalid' | 'open';

/** The names of the fields that are invalid, and of those that are open; the others are valid. */
export interface FieldValidity {
  readonly invalid: readonly string[];
  readonly open: readonly string[];
}

const senderNames = ['from', 'from_number'];
/** The fields of a send that the document names. */
export const documentedNames = ['to', ...senderNames, 'message', 'request_id', 'send_at'];

type Times = Pick<Trace, 'hasExactTimes'>;

const withExactTimes = onceInTurn((exchange: Exchange) =>
  checkFields(exchange, { hasExactTimes: true }),
);
const withEstimatedTimes = onceInTurn((exchange: Exchange) =>
  checkFields(exchange, { hasExactTimes: false }),
);

/** With exact times, the target's clock shows `sentAt`; otherwise it may differ. */
export function validityOf(exchange: Exchange, { hasExactTimes }: Times): FieldValidity {
  return hasExactTimes ? withExactTimes(exchange) : withEstimatedTimes(exchange);
}

function checkFields(exchange: Exchange, { hasExactTimes }: Times): FieldValidity {
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
  // Some databases cannot keep a null byte, and half of a pair of UTF-16 is no character.
  if (/\0|\p{Cs}/u.test(value)) return 'open';
  if (value.length <= messageMaxCharacters) return 'valid';
  return graphemesIn(value) <= messageMaxCharacters ? 'open' : 'invalid';
}

/** Each of these characters is one visible character; only `\r\n` is joined in ASCII. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: any character of ASCII.
const asciiWithoutCarriageReturn = /^[\0-\x0c\x0e-\x7f]*$/;

/** The number of visible characters: of all answers of `characterUnit`, it counts the fewest. */
export function graphemesIn(text: string): number {
  if (asciiWithoutCarriageReturn.test(text)) return text.length;
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

/** A form that every answer of `sendAtFormats` reads. Python writes six digits of a second. */
const utcForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|\+00:00)$/;

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
 * for the T, a date without a time, a leap second, or a year that ISO 8601 expands with a sign.
 */
function laxInstantOf(text: string): number | undefined {
  const permissive = { sendAtFormats: 'iso8601', sendAtZone: 'any' } as const;
  const plainYear = text.replace(/^\+0*(\d{4}-)/, '$1').replace(/^\+\d{5,}-/, '9999-');
  const usual = plainYear.replace(' ', 'T').replace(/(:\d\d):60/, '$1:59');
  return instantOf(usual, permissive) ?? instantOf(`${usual}T00:00:00Z`, permissive);
}

/** The names under which a 400 may identify a field: either name of the sender (SEND-1). */
export function namesOf(field: string): readonly string[] {
  return senderNames.includes(field) ? senderNames : [field];
}

/** The time until which a `send_at` holds its message; undefined without a time in `utcForm`. */
export function holdEndOf({ fields }: Exchange): number | undefined {
  // RFC 3339 permits small letters, and a service that takes them.
  const text = textOf(fields?.['send_at']).toUpperCase();
  return utcForm.test(text) ? Date.parse(text) : undefined;
}

/** True if a send has a `send_at`, in whatever form: a service that takes it holds the message. */
export function mayBeHeld({ fields }: Exchange): boolean {
  return ![undefined, null, ''].includes(fields?.['send_at'] as string | null | undefined);
}

type Answers = { readonly [N in AssumptionName]: NamedAnswer<N> };

const timestampForm = /^(\d{4}-?[W\d-]+)[Tt]([\d:]+)(?:([.,])(\d+))?([Zz]|[+-][\d:]+)?$/;

/**
 * The time that a `send_at` names (SEND-7), in milliseconds since 1970, rounded up; undefined if
 * the value is not a valid time. Assumes: sendAtFormats, sendAtZone. RFC 3339 is one form of ISO
 * 8601, so both are read here, and RFC 3339 then excludes the other forms.
 */
export function instantOf(
  value: unknown,
  { sendAtFormats, sendAtZone }: Pick<Answers, 'sendAtFormats' | 'sendAtZone'>,
): number | undefined {
  if (typeof value !== 'string') return undefined;
  const isIso = sendAtFormats === 'iso8601';
  const [, date = '', time = '', point = '.', decimals = '', zone = ''] =
    timestampForm.exec(value) ?? [];
  const isBasic = !date.includes('-');
  const dateParts = isBasic
    ? /^\d{4}(?:(\d{4})|(W\d{3})|(\d{3}))$/.exec(date)
    : /^\d{4}-(?:(\d\d-\d\d)|(W\d\d-\d)|(\d{3}))$/.exec(date);
  if (dateParts === null) return undefined;
  // RFC 3339 has calendar dates with hyphens alone.
  if (!isIso && (isBasic || dateParts[1] === undefined)) return undefined;
  const midnight = midnightOf(date.replaceAll('-', ''));
  const digits = time.replaceAll(':', '');
  const timeForm = isBasic ? /^(\d\d){1,3}$/ : /^\d\d(:\d\d){0,2}$/;
  if (!timeForm.test(time)) return undefined;
  if (!isIso && digits.length === 2) return undefined;
  if (!isIso && decimals !== '' && (point === ',' || digits.length < 6)) return undefined;
  const clock = clockOf(digits, decimals || '0', isIso);
  if (midnight === undefined || clock === undefined) return undefined;
  return toUtc(midnight + clock, zone, isIso, sendAtZone);
}

/** Subtracts the offset of a zone; undefined if `sendAtZone` does not permit the zone. */
function toUtc(
  wallClockMs: number,
  zone: string,
  isIso: boolean,
  sendAtZone: Answers['sendAtZone'],
): number | undefined {
  if (zone === 'Z' || zone === 'z') return wallClockMs;
  if (zone === '')
    return sendAtZone === 'any' || sendAtZone === 'naive_is_utc' ? wallClockMs : undefined;
  const zoneForm = isIso ? /^[+-]\d\d(?::?\d\d)?$/ : /^[+-]\d\d:\d\d$/;
  if (!zoneForm.test(zone)) return undefined;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', ''))];
  if (hours === 0 && minutes === 0 && zone.startsWith('+')) return wallClockMs;
  if (hours > 23 || minutes > 59) return undefined;
  if (sendAtZone !== 'any' && sendAtZone !== 'any_offset') return undefined;
  const offsetMs = (hours * 60 + minutes) * 60_000;
  return wallClockMs + (zone.startsWith('-') ? offsetMs : -offsetMs);
}

/**
 * The start of a date in milliseconds; undefined if its year has no such day. `date`: yyyymmdd,
 * yyyyWwwd or yyyyddd.
 */
function midnightOf(date: string): number | undefined {
  const year = Number(date.slice(0, 4));
  if (date === '' || year < 100) return undefined;
  const yearOf = (ms: number) => new Date(ms).getUTCFullYear();
  const newYear = Date.UTC(year, 0, 1);
  if (date[4] === 'W') {
    const [week, weekday] = [Number(date.slice(5, 7)), Number(date[7])];
    // The first week has 4 January. A week belongs to the year of its Thursday.
    const january4 = new Date(newYear + 3 * dayMs).getUTCDay() || 7;
    const sunday = newYear + (week * 7 - january4 - 4) * dayMs;
    const isWeek = yearOf(sunday + 4 * dayMs) === year && weekday >= 1 && weekday <= 7;
    return isWeek ? sunday + weekday * dayMs : undefined;
  }
  if (date.length === 7) {
    const midnight = newYear + (Number(date.slice(4)) - 1) * dayMs;
    return yearOf(midnight) === year ? midnight : undefined;
  }
  const midnight = Date.UTC(year, Number(date.slice(4, 6)) - 1, Number(date.slice(6)));
  const isDay = new Date(midnight).toISOString().slice(0, 10).replaceAll('-', '') === date;
  return isDay ? midnight : undefined;
}

/** Milliseconds since midnight. `digits`: hh, hhmm or hhmmss; `decimals`: of the last unit. */
function clockOf(digits: string, decimals: string, isIso: boolean): number | undefined {
  const [hours = 0, minutes = 0, seconds = 0] = (digits.match(/\d\d/g) ?? []).map(Number);
  const unitMs = { 2: 3_600_000n, 4: 60_000n, 6: 1000n }[digits.length] ?? 0n;
  const [scaledMs, scale] = [BigInt(decimals) * unitMs, 10n ** BigInt(decimals.length)];
  const fraction = Number(scaledMs / scale) + (scaledMs % scale > 0n ? 1 : 0);
  if (isIso && digits.padEnd(6, '0') === '240000' && fraction === 0) return dayMs;
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction;
}
