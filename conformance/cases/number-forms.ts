/**
 * Forms of phone numbers: some are not E.164 (SEND-2), although a lax check accepts them or turns
 * them into a number that is.
 */

/** Valid numbers that the regulators of France, Germany and Australia reserve for fiction. */
export const fictionalNumbers = ['+33199001234', '+4915228817386', '+61491570156'];

/** Not E.164 under any answer of `numberCheck`. */
export const malformedNumbers = [
  '+1202555012345678',
  '+12345678901234567',
  'abc',
  '',
  '+',
  '+1 202 555 0123',
  '+0202555012',
];

/** Forms in which people write or dial a number. */
export function dialledForms(number: string): string[] {
  const digits = number.slice(1);
  return [digits, `00${digits}`, `+0${digits}`, ...otherSpellings(number)];
}

/** A number as a link, as a word on a keypad, and in groups. */
export function otherSpellings(number: string): string[] {
  const [country, rest] = [number.slice(0, 4), number.slice(4)];
  const vanity = country + rest.replace(/[2-9]/g, (digit) => keypad[Number(digit)] ?? digit);
  return [`tel:${number}`, vanity, `${country} ${rest}`].filter((spelling) => spelling !== number);
}

/** The first letter on each key of a phone. */
const keypad = ['', '', 'A', 'D', 'G', 'J', 'M', 'P', 'T', 'W'];

/** The digits of a number as a JSON number. */
export function asJsonNumber(number: string): number {
  return Number(number.slice(1));
}

/** U+FF10, the full-width digit zero. */
const wideZero = 0xff10;

/** Changes all digits but the first: many checks require 1 to 9 there, and then any digits. */
export function inWideDigits(number: string): string {
  const wide = (digit: string) => String.fromCharCode(wideZero + Number(digit));
  return number.slice(0, 2) + number.slice(2).replace(/\d/g, wide);
}
