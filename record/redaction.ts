/**
 * Replaces phone numbers and message texts in a recording by others of the same form. The same
 * input always gets the same replacement. A number stays valid or invalid, and two numbers never
 * get one replacement, because its digits are permuted. A text keeps its length in every unit. All
 * other bytes of a body stay, so equal replies stay equal and different ones stay different.
 */
import { createHmac } from 'node:crypto';
import { objectIn, valueIn } from '#judging/evidence/reading.ts';
import { isPhoneNumber } from '#src/sim/sends/phone-number.ts';

export const redactions = ['numbers', 'text'] as const;
/**
 * What a reply can contain: texts of messages under any name (`list`), or texts of the service that
 * quote the request (`error`).
 */
export type ReplyKind = 'list' | 'error' | 'other';
export type Redaction = (typeof redactions)[number];

/** Fields of a send and of a Message body that hold a phone number in any notation. */
const numberNames = ['to', 'from', 'from_number'];
/** Values that are never personal text: UUIDs and times. */
const plainValue =
  /^(?:[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.Z+-]+)$/i;
const e164InText = /(?<![\w-])(\+|%2B)([1-9]\d{5,14})(?![\w-])/gi;
const longNumberInText = /(?<![\w+-])\d{7,15}(?![\w-])/g;
/** A JSON string, with the colon if it is a name, or a JSON number. */
const token = /"((?:[^"\\]|\\.)*)"(\s*:)?|-?\d[\d.eE+-]*/g;
/** Shorter texts occur in replies by chance, so they do not count as echoes of the message. */
const shortestEcho = 4;
/** How many of the last digits are replaced; those before them tell the country and network. */
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

  /** A path and query with its numbers replaced. */
  path(path: string): string {
    return this.#hidesNumbers ? this.#inText(path) : path;
  }

  /** The bodies of a request and of its reply, with numbers and texts replaced. */
  bodies(sent: string, replied: string, kind: ReplyKind): readonly [string, string] {
    if (!this.#hidesNumbers && !this.#hidesTexts) return [sent, replied];
    const text = objectIn(sent)?.['message'];
    const message = typeof text === 'string' ? text : '';
    const isEchoed = this.#hidesTexts && message.length >= shortestEcho;
    const withoutEcho = (value: string) =>
      isEchoed ? value.replaceAll(message, this.text(message)) : value;
    const request = this.#json(sent, (name, value) => this.#value(name, value, name === 'message'));
    if (kind === 'error') return [request, this.#inText(withoutEcho(replied), true)];
    const reply = this.#json(replied, (name, value) =>
      this.#value(name, withoutEcho(value), kind === 'list' || name === 'message'),
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

  /** Changes the values of a JSON text in place. Any other text is replaced as a whole. */
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
    const prefix = digits.slice(0, digits.length - count);
    const validity = validityOf(digits);
    let replacement = digits;
    // Walks the cycle of the permutation, so that no two numbers get the same replacement.
    do replacement = prefix + this.#permuted(prefix, replacement.slice(prefix.length));
    while (replacement !== digits && validityOf(replacement) !== validity);
    return replacement;
  }

  /** Permutes decimal digits by a Feistel network, whose key is the salt and the prefix. */
  #permuted(prefix: string, digits: string): string {
    const half = digits.length >> 1;
    let [left, right] = [digits.slice(0, half), digits.slice(half)];
    for (let round = 0; round < 6; round++) {
      const sum = Number(left) + this.#random(`${prefix} ${digits.length} ${round} ${right}`);
      const newRight = String(sum % 10 ** left.length).padStart(left.length, '0');
      [left, right] = [right, left === '' ? '' : newRight];
    }
    return left + right;
  }

  /** Replaces letters by letters and digits by digits; other characters stay. */
  text(text: string): string {
    // A short text may become itself by chance: then another attempt replaces it.
    for (let attempt = 0; attempt < 8; attempt++) {
      const replacementOf = this.#replacements(`${attempt} ${text}`);
      const replaced = text.replace(/\p{L}|\p{N}|\p{Extended_Pictographic}/gu, (character) =>
        replacementOf(character),
      );
      if (replaced !== text || !/[\p{L}\p{N}]/u.test(text)) return replaced;
    }
    return text;
  }

  /** Draws a replacement for one character after the other, from a stream that the seed decides. */
  #replacements(seed: string): (character: string) => string {
    let block: Uint8Array = new Uint8Array();
    let [index, blockNumber] = [0, 0];
    return (character) => {
      if (index >= block.length) {
        block = this.#hmac(`text ${blockNumber++} ${seed}`);
        index = 0;
      }
      const drawn = block[index++] ?? 0;
      const alphabet = alphabetOf(character);
      return alphabet[drawn % alphabet.length] ?? character;
    };
  }

  #random(input: string): number {
    return this.#hmac(`number ${input}`).readUInt32BE(0);
  }

  #hmac(input: string): Buffer {
    return createHmac('sha256', this.#salt).update(input).digest();
  }
}

/**
 * A character is replaced by one of the same list, which takes as much of a message: GSM-7, the
 * rest of the BMP, and beyond.
 */
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
