/**
 * Which fields of a send must fail validation, and which may. Rules: SEND-2, SEND-5 to SEND-7.
 * The document leaves much open (`numberCheck`, `characterUnit`, `sendAtZone`, …): a field is invalid
 * if no permitted answer accepts it, and open if answers differ.
 */

import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { dayMs } from '../../src/ledger/time-units.ts';
import { unknown } from '../clock-offset.ts';
import { instantOf } from '../model/reference-time.ts';
import { isObject, textOf } from '../verify.ts';
import type { Exchange } from './exchange.ts';

type Fields = Readonly<Record<string, unknown>>;
type Validity = 'valid' | 'invalid' | 'open';

export interface FieldValidity {
  readonly invalid: readonly string[];
  readonly open: readonly string[];
}

const e164 = /^\+[1-9][0-9]{1,14}$/;
/** The form of the document's own example, which every answer of `sendAtFormats` reads. */
const utc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|\+00:00)$/;
/** The shortest `requestIdMaxLength` of common databases. */
const surelyShortEnough = 20;
const longest = 1_600;

const anyForm = { sendAtFormats: 'iso8601', sendAtZone: 'any' } as const;

const senderNames = ['from', 'from_number'];
const documented = ['to', ...senderNames, 'message', 'request_id', 'send_at'];

/** The names under which a 400 may identify a field. */
export function namesOf(field: string): readonly string[] {
  return senderNames.includes(field) ? senderNames : [field];
}

/** Several judges ask for it. */
const known = {
  exact: new WeakMap<Exchange, FieldValidity>(),
  real: new WeakMap<Exchange, FieldValidity>(),
};

export function validityOf(exchange: Exchange, hasExactTimes: boolean): FieldValidity {
  const remembered = hasExactTimes ? known.exact : known.real;
  const validity = remembered.get(exchange) ?? judgedFields(exchange, hasExactTimes);
  remembered.set(exchange, validity);
  return validity;
}

function judgedFields(exchange: Exchange, hasExactTimes: boolean): FieldValidity {
  const fields: Fields = exchange.fields ?? {};
  const senders = senderNames.filter((name) => fields[name] !== undefined);
  const [sender = 'from'] = senders;
  const found: [string, Validity][] = [
    ['to', numberIs(fields['to'])],
    [sender, senders.length > 1 ? 'open' : senderIs(fields[sender], exchange)],
    ['message', messageIs(fields['message'])],
    ['request_id', requestIdIs(fields['request_id'])],
    ['send_at', sendAtIs(fields['send_at'], exchange, hasExactTimes)],
    ...Object.keys(fields)
      .filter((name) => !documented.includes(name))
      .map((name): [string, Validity] => [name, 'open']),
  ];
  const that = (wanted: Validity) =>
    found.filter(([, validity]) => validity === wanted).map(([name]) => name);
  return { invalid: that('invalid'), open: that('open') };
}

function senderIs(value: unknown, { sender }: Exchange): Validity {
  const validity = numberIs(value);
  return validity === 'open' && sender?.is === 'own' ? 'valid' : validity;
}

/** The text of a number or a boolean is not an E.164 number either (`typeCoercion`). */
function numberIs(value: unknown): Validity {
  if (typeof value !== 'string' || !e164.test(value)) return 'invalid';
  return isPhone(value) ? 'valid' : 'open';
}

/** Verdicts of `isPhone` by number: parsing is slow, and the same numbers come again. */
const phones = new Map<string, boolean>();
const mostPhones = 10_000;

/**
 * True for a valid number in E.164. The parser also takes a trunk zero after the country and drops
 * it, so what it read must equal the text.
 */
function isPhone(number: string): boolean {
  const parsed = phones.has(number) ? undefined : parsePhoneNumberFromString(number);
  const isValid = phones.get(number) ?? (parsed?.isValid() === true && parsed.number === number);
  if (phones.size >= mostPhones) phones.clear();
  phones.set(number, isValid);
  return isValid;
}

function messageIs(value: unknown): Validity {
  if (value === undefined || value === null || typeof value === 'object') return 'invalid';
  if (typeof value !== 'string' || value.trim() === '') return 'open';
  if (value.length <= longest) return 'valid';
  return graphemesIn(value) <= longest ? 'open' : 'invalid';
}

/** Visible characters, the unit in which a text is shortest (`characterUnit`). */
export function graphemesIn(text: string): number {
  let count = 0;
  for (const _ of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)) count += 1;
  return count;
}

function requestIdIs(value: unknown): Validity {
  if (value === undefined) return 'valid';
  if (Array.isArray(value) || isObject(value)) return 'invalid';
  if (typeof value !== 'string' || value === '') return 'open';
  return Buffer.byteLength(value) <= surelyShortEnough && /^[\w-]+$/.test(value) ? 'valid' : 'open';
}

function sendAtIs(value: unknown, exchange: Exchange, hasExactTimes: boolean): Validity {
  const { sentAt, answeredAt, ahead = unknown } = exchange;
  if (value === undefined) return 'valid';
  if (value === null || value === '') return 'open';
  const { least, most } = hasExactTimes ? { least: 0, most: 0 } : ahead;
  const at = typeof value === 'object' ? undefined : instantIn(String(value));
  if (at === undefined || at <= sentAt + least) return 'invalid';
  const isSurelyAhead = at > answeredAt + most && at < sentAt + dayMs;
  return utc.test(textOf(value)) && isSurelyAhead ? 'valid' : 'open';
}

/** As any service reads it: some take a space for the T, a date alone, or a leap second. */
function instantIn(text: string): number | undefined {
  const usual = text.replace(' ', 'T').replace(/(:\d\d):60/, '$1:59');
  return instantOf(usual, anyForm) ?? instantOf(`${usual}T00:00:00Z`, anyForm);
}

/** When a `send_at` ends its hold; undefined if that is open. */
export function holdOf({ fields }: Exchange): number | undefined {
  const value = fields?.['send_at'];
  return utc.test(textOf(value)) ? Date.parse(textOf(value)) : undefined;
}
