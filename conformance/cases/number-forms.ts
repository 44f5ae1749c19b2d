/**
 * Wrong forms of phone numbers: not E.164 (SEND-2), although a lax check accepts them or turns them
 * into a number that is; or well-formed and nearly the account's own (AUTH-4).
 */

/** Valid numbers that the regulators of France, Germany and Australia reserve for fiction. */
export const fictional = ['+33199001234', '+4915228817386', '+61491570156'];

/** Not E.164 under any answer of `numberCheck`. */
export const malformed = [
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

/** The digits of a US number after its area code. */
const localDigits = 7;

/**
 * The number with one other digit: one in between that `seed` selects, the first, or the last. At
 * seed 1 the one in between is the last of a US area code.
 */
export function alteredNumbers(number: string, seed: number): string[] {
  // The plus sign has index 0.
  const [first, second, last] = [1, 2, number.length - 1];
  const endOfAreaCode = last - localDigits;
  const between = second + ((endOfAreaCode - second + seed - 1) % (last - second));
  return [between, first, last].map((index) => {
    // Never 0, because no number begins with 0.
    const otherDigit = (Number(number[index]) + 5) % 10 || 3;
    return `${number.slice(0, index)}${otherDigit}${number.slice(index + 1)}`;
  });
}
