/**
 * Replaces numbers and texts in a recording by others of the same form: the same input has the same
 * replacement, a number stays as valid as it was, a text keeps its length in every unit. A number is
 * permuted by its digits, so two numbers never get one replacement. All other bytes of a body stay
 * as they are, so that equal replies stay equal and different ones different.
 */
import { createHmac } from 'node:crypto';
import { objectIn, valueIn } from '../referee/traffic.ts';
import { isPhoneNumber } from '../sim/phone-number.ts';

export const redactions = ['numbers', 'text'] as const;
/** The texts of a list may have any name; an error has texts of the service, and echoes. */
export type ReplyKind = 'list' | 'error' | 'other';
export type Redaction = (typeof redactions)[number];

/** Fields of a send and of a Message body that hold a number, whatever its spelling. */
const numberNames = ['to', 'from', 'from_number'];
/** Values that are never personal text: UUIDs and times. */
const plainValue =
  /^(?:[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.Z+-]+)$/i;
const e164InText = /(?<![\w-])(\+|%2B)([1-9]\d{5,14})(?![\w-])/gi;
const longNumberInText = /(?<![\w+-])\d{7,15}(?![\w-])/g;
/** A string of JSON with the colon of a key, or a bare number. */
const token = /"((?:[^"\\]|\\.)*)"(\s*:)?|-?\d[\d.eE+-]*/g;
const shortestEcho = 4;
/** The digits of a number that are replaced; those before them name country and network. */
const replacedDigits = 7;

export class Redactor {
  readonly #salt: string;
  readonly #hidesNumbers: boolean;
  readonly #hidesTexts: boolean;

  constructor(salt: string, what: readonly Redaction[]) {
    this.#salt = salt;
    this.#hidesNumbers = what.includes('numbers');
    this.#hidesTexts = what.includes('text');
  }

  path(path: string): string {
    return this.#hidesNumbers ? this.#inText(path) : path;
  }

  /** The body of a request, and of its reply. */
  bodies(sent: string, replied: string, kind: ReplyKind): readonly [string, string] {
    if (!this.#hidesNumbers && !this.#hidesTexts) return [sent, replied];
    const text = objectIn(sent)?.['message'];
    const message = typeof text === 'string' ? text : '';
    const isEchoed = this.#hidesTexts && message.length >= shortestEcho;
    const echo = (value: string) =>
      isEchoed ? value.replaceAll(message, this.text(message)) : value;
    const request = this.#json(sent, (name, value) => this.#value(name, value, name === 'message'));
    if (kind === 'error') return [request, this.#inText(echo(replied), true)];
    const reply = this.#json(replied, (name, value) =>
      this.#value(name, echo(value), kind === 'list' || name === 'message'),
    );
    return [request, reply];
  }

  #value(name: string, value: string, isText: boolean): string {
    if (this.#hidesNumbers && numberNames.includes(name))
      return value.replace(/\d{2,15}/g, (digits) => this.number(digits));
    if (plainValue.test(value)) return value;
    if (/^\+[1-9]\d{5,14}$/.test(value)) return this.#inText(value);
    if (isText && this.#hidesTexts) return this.text(value);
    return this.#inText(value, isText);
  }

  #inText(text: string, isForPeople = false): string {
    if (!this.#hidesNumbers) return text;
    const replaced = text.replace(
      e164InText,
      (_, plus: string, digits: string) => plus + this.number(digits),
    );
    return isForPeople
      ? replaced.replace(longNumberInText, (digits) => this.number(digits))
      : replaced;
  }

  /** Replaces the values of a JSON text in place; any other text is replaced letter by letter. */
  #json(text: string, change: (name: string, value: string) => string): string {
    if (text === '') return text;
    if (valueIn(text) === undefined)
      return this.#hidesTexts ? this.text(text) : this.#inText(text, true);
    let name = '';
    return text.replace(token, (whole, content: string | undefined, colon: string | undefined) => {
      if (content === undefined) {
        const isNumber =
          this.#hidesNumbers && numberNames.includes(name) && /^\d{2,15}$/.test(whole);
        return isNumber ? this.number(whole) : whole;
      }
      const quoted = `"${content}"`;
      const value = content.includes('\\') ? String(JSON.parse(quoted)) : content;
      if (colon !== undefined) {
        name = value;
        return whole;
      }
      const changed = change(name, value);
      return changed === value ? whole : JSON.stringify(changed);
    });
  }

  /** Another number with the same first digits, as valid as this one. */
  number(digits: string): string {
    const count = Math.min(replacedDigits, digits.length - 1);
    const kept = digits.slice(0, digits.length - count);
    const validity = validityOf(digits);
    let found = digits;
    // Walks the cycle of the permutation, so that equal replacements have equal originals.
    do found = kept + this.#permuted(kept, found.slice(kept.length));
    while (found !== digits && validityOf(found) !== validity);
    return found;
  }

  /** A Feistel network on decimal digits. */
  #permuted(kept: string, digits: string): string {
    const half = digits.length >> 1;
    let [left, right] = [digits.slice(0, half), digits.slice(half)];
    for (let round = 0; round < 6; round++) {
      const sum = Number(left) + this.#random(`${kept} ${digits.length} ${round} ${right}`);
      const turned = String(sum % 10 ** left.length).padStart(left.length, '0');
      [left, right] = [right, left === '' ? '' : turned];
    }
    return left + right;
  }

  /** Letters become letters and digits become digits; the rest stays. */
  text(text: string): string {
    for (let attempt = 0; attempt < 8; attempt++) {
      const pad = this.#pad(`${attempt} ${text}`);
      const replaced = text.replace(/\p{L}|\p{N}|\p{Extended_Pictographic}/gu, (character) =>
        pad(character),
      );
      if (replaced !== text || !/[\p{L}\p{N}]/u.test(text)) return replaced;
    }
    return text;
  }

  #pad(seed: string): (character: string) => string {
    let block: Uint8Array = new Uint8Array();
    let [at, number] = [0, 0];
    return (character) => {
      if (at >= block.length) {
        block = this.#hmac(`text ${number++} ${seed}`);
        at = 0;
      }
      const drawn = block[at++] ?? 0;
      const alphabet = alphabetOf(character);
      return alphabet[drawn % alphabet.length] ?? character;
    };
  }

  #random(of: string): number {
    return this.#hmac(`number ${of}`).readUInt32BE(0);
  }

  #hmac(of: string): Buffer {
    return createHmac('sha256', this.#salt).update(of).digest();
  }
}

/** Characters that cost a message the same: GSM-7, the rest of the BMP, and beyond. */
const alphabets: readonly (readonly [RegExp, readonly string[]])[] = [
  [/[0-9]/, [...'0123456789']],
  [/[a-z]/, [...'abcdefghijklmnopqrstuvwxyz']],
  [/[A-Z]/, [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']],
  [/[èéùìòÇØøÅåÆæßÉÄÖÑÜäöñüà]/, [...'èéùìòÇØøÅåÆæßÉÄÖÑÜäöñüà']],
  [/[\u{10000}-\u{10ffff}]/u, [...'😀😁😂😃😄😅😆😇😈😉']],
  [/[\u0080-\u07ff]/, [...'абвгдежзийклмнопрстуфхцчшщ']],
  [/[\u0800-\uffff]/, [...'ぁあぃいぅうぇえぉおかがきぎくぐ']],
];

function alphabetOf(character: string): readonly string[] {
  return alphabets.find(([pattern]) => pattern.test(character))?.[1] ?? [character];
}

function validityOf(digits: string): string {
  const number = `+${digits}`;
  if (isPhoneNumber(number, 'valid')) return 'valid';
  return isPhoneNumber(number, 'possible') ? 'possible' : 'shape';
}
