/**
 * Finds phone numbers in a text: with a plus sign or without, with the blanks, brackets and dashes
 * of any notation, in the digits of several scripts, and numbers that are known inside others.
 */
import { isPhoneNumber } from '#src/sim/sends/phone-number.ts';

/** A number of fewer digits is found only if it is known, and only as a whole. */
const fewestDigits = 7;
/** Digits without a plus sign or separators are a number from this length on. */
const fewestBareDigits = 10;
const mostDigits = 15;
/** A sender's short code. */
export const shortestKnown = 5;
/** Separators between two digits of one number. */
const mostSeparators = 3;
const separator = /[\s+()./\-\u2010-\u2015]/;
const wordCharacter = /[\p{L}\p{N}_]/u;
/** Before a number: a plus sign, or two zeros. */
const internationalPrefix = /(?:[+＋] ?\(?|(?<![\p{L}\p{N}_])00[ -]?)$/u;
/** Seconds or milliseconds since 1970, between 2017 and 2033. */
const unixTime = /^1[5-9]\d{8}(?:\d{3})?$/;
/** The zeros of the scripts whose digits are read: ASCII, Arabic, Persian, Devanagari, full width. */
const zeros = [0x30, 0x660, 0x6f0, 0x966, 0xff10];
/** After so many slow checks in one exchange, digits without a plus sign count as a number. */
const mostChecks = 3_000;
const sliceLength = 20_000;
/** A longer run of digits is searched in parts. */
const longestRun = 100;

/** The digits of a number, and where they are in the text. */
export interface FoundNumber {
  readonly digits: string;
  readonly at: readonly number[];
}

/** Numbers of an exchange with their replacements, also of their last digits alone. */
export class KnownNumbers {
  readonly lengths: number[] = [];
  readonly #numbers = new Map<string, string>();
  readonly #ends = new Map<string, string>();
  #checks = 0;

  add(digits: string, replacement: string): void {
    this.#numbers.set(digits, replacement);
    for (let length = digits.length; length >= fewestDigits; length--) {
      this.#ends.set(digits.slice(-length), replacement.slice(-length));
      if (!this.lengths.includes(length)) this.lengths.push(length);
    }
    this.lengths.sort((one, other) => other - one);
  }

  replacementOf(digits: string): string | undefined {
    return this.#numbers.get(digits) ?? this.#ends.get(digits);
  }

  isValid(digits: string): boolean {
    if (digits.startsWith('0')) return false;
    return this.#checks++ >= mostChecks || isPhoneNumber(`+${digits}`, 'valid');
  }
}

/** The digit that a character means, in ASCII; undefined for other characters. */
export function digitOf(character: string): string | undefined {
  const code = character.charCodeAt(0);
  if (code < 0x660) return code >= 0x30 && code <= 0x39 ? character : undefined;
  const zero = zeros.find((one) => code >= one && code <= one + 9);
  return zero === undefined ? undefined : String(code - zero);
}

/** Writes a digit in the script of the character that it replaces. */
export function digitLike(character: string, digit: string): string {
  const zero = zeros.find((one) => character.charCodeAt(0) <= one + 9) ?? 0x30;
  return String.fromCharCode(zero + Number(digit));
}

/** `fewest`: the text is known to hold numbers, so this many digits in any notation are one. */
export function* numbersIn(
  text: string,
  known: KnownNumbers,
  fewest?: number,
): Generator<undefined, readonly FoundNumber[]> {
  const found: FoundNumber[] = [];
  let at: number[] = [];
  for (let index = 0; index < text.length; index++) {
    if (index % sliceLength === 0) yield;
    const character = text[index] ?? '';
    if (digitOf(character) !== undefined) {
      at.push(index);
      if (at.length < longestRun) continue;
      yield;
      at = numbersAt({ text, at, known, fewest }, found, longestRun / 2);
    } else if (at.length > 0) {
      const isOver = index - (at.at(-1) ?? 0) > mostSeparators || !separator.test(character);
      if (isOver) numbersAt({ text, at, known, fewest }, found);
      if (isOver) at = [];
    }
  }
  numbersAt({ text, at, known, fewest }, found);
  return found;
}

/** Digits with nothing but separators between them. */
interface Run {
  readonly text: string;
  readonly at: readonly number[];
  readonly known: KnownNumbers;
  readonly fewest: number | undefined;
}

/** Finds the numbers that begin before `until`. Returns the digits after them. */
function numbersAt(run: Run, found: FoundNumber[], until = run.at.length): number[] {
  const { text, at } = run;
  if (at.length < shortestKnown) return [];
  const digits = at.map((index) => digitOf(text[index] ?? '')).join('');
  let start = 0;
  while (start < until) {
    const end = endOfKnown(run, digits, start) ?? endOfNumber(run, digits, start);
    if (end !== undefined)
      found.push({ digits: digits.slice(start, end), at: at.slice(start, end) });
    start = end ?? start + 1;
  }
  return at.slice(start);
}

/** A known number is found wherever it is, also inside longer digits. */
function endOfKnown({ known }: Run, digits: string, start: number): number | undefined {
  const length = known.lengths.find(
    (one) =>
      start + one <= digits.length &&
      known.replacementOf(digits.slice(start, start + one)) !== undefined,
  );
  return length === undefined ? undefined : start + length;
}

function endOfNumber(run: Run, digits: string, start: number): number | undefined {
  const { text, at, known } = run;
  const first = at[start] ?? 0;
  const isGroupEnd = (end: number) => at[end] !== (at[end - 1] ?? 0) + 1;
  const isInWord = (index: number) => wordCharacter.test(text[index] ?? '');
  const hasPlus = internationalPrefix.test(text.slice(Math.max(0, first - 4), first));
  if ((isInWord(first - 1) && !hasPlus) || digits.startsWith('00', start)) return undefined;
  const piece = (end: number) => digits.slice(start, end);
  const ends: number[] = [];
  for (let end = start + shortestKnown; end <= start + mostDigits && end <= digits.length; end++)
    if (isGroupEnd(end) && !isInWord((at[end - 1] ?? 0) + 1)) ends.unshift(end);
  const wholeEnd = ends.find((end) => known.replacementOf(piece(end)) !== undefined);
  if (wholeEnd !== undefined) return wholeEnd;
  const fewest = hasPlus ? shortestKnown : (run.fewest ?? fewestDigits);
  const long = ends.filter((end) => end - start >= fewest);
  const validEnd = long.find((end) => end - start > fewestDigits && known.isValid(piece(end)));
  if (validEnd !== undefined) return validEnd;
  const shortestEnd = long.at(-1) ?? start;
  const isOneGroup = (at[shortestEnd - 1] ?? 0) - first === shortestEnd - start - 1;
  if (hasPlus || run.fewest !== undefined) return isOneGroup ? long.at(-1) : long[0];
  const isBare = isOneGroup && shortestEnd - start >= fewestBareDigits;
  return isBare && !unixTime.test(piece(shortestEnd)) ? shortestEnd : undefined;
}
