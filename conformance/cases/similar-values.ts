/**
 * Wrong values that are nearly right: numbers that are not E.164 (SEND-2), although a lax check
 * accepts them or turns them into a number that is; numbers that are nearly the account's own
 * (AUTH-4); messages that are a character too long (SEND-6); and keys that differ from a valid one
 * in a letter, in case or in length (AUTH-3).
 */
import { messageMaxCharacters } from '#contract/limits.ts';
import { paths, sendPaths } from '../run/trial.ts';

/** One character more than a message may have (SEND-6). */
export const tooLongMessage = 'x'.repeat(messageMaxCharacters + 1);

/** One letter more than a message of one segment may have. */
export const twoSegments = 'a'.repeat(161);

/** Valid numbers that the regulators of France, Germany and Australia reserve for fiction. */
export const fictional = ['+33199001234', '+4915228817386', '+61491570156'];

/** The plus sign and one digit more than E.164 allows. */
const tooLongNumber = 17;

/** Not E.164 under any answer of `numberCheck`: too long, too short, in groups, and of no digits. */
export function malformedForms(number: string): string[] {
  const inGroups = number.replace(/^(\+\d)(\d{3})(\d{3})/, '$1 $2 $3 ');
  return [
    number.padEnd(tooLongNumber, '5'),
    // Breaks a refusal that repeats it without an escape.
    'a"b\\c',
    '',
    '+1',
    inGroups,
    // A parser of integers takes it, as it takes `_` between digits.
    `+${number}`,
  ];
}

/** Forms in which people write or dial a number, none of them E.164. */
export function dialledForms(number: string): string[] {
  const digits = number.slice(1);
  const ofNorthAmerica = number.startsWith('+1') ? [`011${digits}`, digits.slice(1)] : [];
  return [digits, `00${digits}`, `+0${digits}`, ...ofNorthAmerica, ...otherSpellings(number)];
}

/** A number as a link, as a word on a keypad, as source code, with an extension, and as a list. */
export function otherSpellings(number: string): string[] {
  const [country, rest] = [number.slice(0, 4), number.slice(4)];
  const vanity = country + rest.replace(/[2-9]/g, (digit) => keypad[Number(digit)] ?? digit);
  const list = `${number},${number}`;
  const spellings = [`tel:${number}`, vanity, `${country}_${rest}`, `${number};ext=3`, list];
  return spellings.filter((spelling) => spelling !== number);
}

/** The first letter on each key of a phone. */
const keypad = ['', '', 'A', 'D', 'G', 'J', 'M', 'P', 'T', 'W'];

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

export interface SimilarKey {
  readonly key: string;
  /** The sends to try it on. */
  readonly postPaths: readonly string[];
}

/** Keys that differ slightly from the valid one. */
export function similarKeys(valid: string): SimilarKey[] {
  const middle = Math.floor(valid.length / 2);
  const similar = [
    { key: withOtherCase(valid), postPaths: sendPaths },
    { key: valid.toLowerCase(), postPaths: [] },
    { key: valid.slice(0, middle + 1), postPaths: [paths.external_send] },
    { key: withOtherLetter(valid, middle), postPaths: [paths.send] },
    { key: withLookalike(valid), postPaths: [] },
    { key: `${valid}.`, postPaths: [paths.dashboard_send] },
  ];
  return similar.filter(({ key }) => key !== valid);
}

/** Longer than a column for keys in a database, and shorter than a header may be. */
const longKeyLength = 600;

/** Keys that are changed, cut or longer, and with what a look-up may stumble over. */
export function wrongKeys(valid: string): string[] {
  const all = [
    ...similarKeys(valid).map(({ key }) => key),
    withOtherLetter(valid, valid.length - 1),
    valid.slice(0, -1),
    `${valid}x`,
    valid.toUpperCase(),
    valid.slice(0, Math.ceil(valid.length / 2)),
    'wrong',
    'null',
    'undefined',
    valid.padEnd(longKeyLength, 'x'),
    ...[' ', ',', ':', ';', '='].flatMap((one) => [`${valid}${one}x`, `x${one}${valid}`]),
    `${valid}'"\\`,
    // Forms that a look-up may undo.
    `"${valid}"`,
    `x${valid}`,
    `%${valid.charCodeAt(0).toString(16)}${valid.slice(1)}`,
    Buffer.from(valid).toString('base64'),
    // Not at the end, where some servers trim such bytes.
    `${valid}\u00e9x`,
    '%',
  ];
  return [...new Set(all)].filter((key) => key !== valid && key !== '');
}

function withOtherCase(text: string): string {
  return text.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

function withOtherLetter(text: string, index: number): string {
  const other = text[index] === 'x' ? 'y' : 'x';
  return `${text.slice(0, index)}${other}${text.slice(index + 1)}`;
}

const lookalikes: Readonly<Record<string, string>> = { 0: 'O', O: '0', 1: 'l', l: '1', I: '1' };

/** Replaces the first character that looks like another one. */
function withLookalike(text: string): string {
  return text.replace(/[0O1lI]/, (character) => lookalikes[character] ?? character);
}
