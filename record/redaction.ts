/**
 * Replaces phone numbers and message texts by others of the same form. The same input always gets
 * the same replacement. A number keeps its first digits and, if the search finds such a number, its
 * validity. Its last digits are permuted, so two numbers that keep the same first digits get
 * different replacements. A text keeps its length in every unit.
 */
import { createCipheriv, createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isPhoneNumber } from '#src/sim/sends/phone-number.ts';

export const redactions = ['numbers', 'text'] as const;
export type Redaction = (typeof redactions)[number];

/**
 * How many of the last digits are replaced: the digits before them show country and network. The
 * smaller counts are tried if the search finds no number of the same validity.
 */
const replacedDigits = [7, 5, 3];
/** The search for a number of the same validity gives up after this many steps. */
const mostSteps = 64;
/** Rounds of the Feistel network. Four are enough for a permutation that looks random. */
const rounds = 6;
/** Attempts to replace a text that becomes itself. */
const mostAttempts = 8;
const rememberedNumbers = 20_000;
/** The characters that are replaced between two yields. */
const sliceLength = 2_000;

export class Redactor {
  readonly hidesNumbers: boolean;
  readonly hidesTexts: boolean;
  readonly #salt: string;
  readonly #numbers = new LRUCache<string, string>({ max: rememberedNumbers });

  constructor(salt: string, what: readonly Redaction[]) {
    this.#salt = salt;
    this.hidesNumbers = what.includes('numbers');
    this.hidesTexts = what.includes('text');
  }

  /** Another number with the same first digits, as valid as this one. */
  number(digits: string): string {
    const earlier = this.#numbers.get(digits);
    if (earlier !== undefined) return earlier;
    const counts = replacedDigits.filter((count) => count < digits.length);
    let replacement: string | undefined;
    for (const count of counts) replacement ??= this.#nextOnCycle(digits, count);
    const prefix = digits.slice(0, 1);
    replacement ??= prefix + this.#permuted(prefix, digits.slice(1));
    this.#numbers.set(digits, replacement);
    return replacement;
  }

  /**
   * The next number of the same validity on the cycle of the permutation: so no two numbers get the
   * same replacement. Undefined if the search gives up.
   */
  #nextOnCycle(digits: string, count: number): string | undefined {
    const prefix = digits.slice(0, -count);
    const validity = validityOf(digits);
    let replacement = digits;
    for (let step = 0; step < mostSteps; step++) {
      replacement = prefix + this.#permuted(prefix, replacement.slice(prefix.length));
      if (replacement !== digits && validityOf(replacement) === validity) return replacement;
    }
    return undefined;
  }

  /** Permutes decimal digits by a Feistel network, whose key is the salt and the prefix. */
  #permuted(prefix: string, digits: string): string {
    const half = Math.floor(digits.length / 2);
    let [left, right] = [digits.slice(0, half), digits.slice(half)];
    for (let round = 0; round < rounds; round++) {
      const sum = Number(left) + this.#random(`${prefix} ${digits.length} ${round} ${right}`);
      const newRight = String(sum % 10 ** left.length).padStart(left.length, '0');
      [left, right] = [right, left === '' ? '' : newRight];
    }
    return left + right;
  }

  /** Replaces letters by letters and digits by digits; other characters stay. */
  *textInSlices(text: string): Generator<undefined, string> {
    // A short text may become itself by chance: then another attempt replaces it.
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const seed = this.#hmac(`text ${attempt} ${text}`);
      const cipher = createCipheriv('aes-256-ctr', seed, Buffer.alloc(16));
      let replaced = '';
      for (let at = 0; at < text.length; ) {
        let end = Math.min(text.length, at + sliceLength);
        // A slice does not end between the two halves of a character.
        if (/[\ud800-\udbff]/.test(text[end - 1] ?? '')) end++;
        const random = cipher.update(Buffer.alloc(end - at));
        replaced += text
          .slice(at, end)
          .replace(replaceable, (character, index: number) =>
            replacementOf(character, random[index] ?? 0),
          );
        at = end;
        yield;
      }
      if (replaced !== text || !/[\p{L}\p{N}]/u.test(text)) return replaced;
    }
    return text;
  }

  #random(input: string): number {
    return this.#hmac(`number ${input}`).readUInt32BE(0);
  }

  #hmac(input: string): Buffer {
    return createHmac('sha256', this.#salt).update(input).digest();
  }
}

const replaceable = /\p{L}|\p{N}|\p{Extended_Pictographic}/gu;

/**
 * A character is replaced by one of its list, so that a text keeps its length in characters, in
 * UTF-16, in UTF-8 and in segments of a message.
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

function replacementOf(character: string, random: number): string {
  const alphabet = alphabets.find(([pattern]) => pattern.test(character))?.[1] ?? [character];
  return alphabet[random % alphabet.length] ?? character;
}

function validityOf(digits: string): string {
  const number = `+${digits}`;
  if (isPhoneNumber(number, 'valid')) return 'valid';
  return isPhoneNumber(number, 'possible') ? 'possible' : 'shape';
}
