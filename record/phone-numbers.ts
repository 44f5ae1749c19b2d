/**
 * Finds phone numbers in a text, in any notation, with or without a plus sign. Known numbers are
 * also found inside longer runs of digits, and without the digits of their country.
 */
import { isPhoneNumber } from '#src/sim/sends/phone-number.ts';
import type { Edit } from './known-values.ts';
import { plainToken } from './members.ts';
import { replacedIn } from './plain-text.ts';
import type { Redactor } from './redaction.ts';

/** A known number is found by this many of its last digits. A shorter one is found as a whole. */
const fewestDigits = 7;
/** The digits of a short code. */
const shortestNumber = 5;
const longestNumber = 15;
/** Digits without a plus sign or separators are a number from this length on. */
const fewestBareDigits = 10;
/** Seconds or milliseconds since 1970, between 2017 and 2033. */
const unixTime = /^1[5-9]\d{8}(?:\d{3})?$/;
/** A plus sign, if there is one, and a run of digits with few separators between them. */
const runs = new RegExp(
  String.raw`${plainToken.source}|([+＋]\s?\(?)?(\d(?:[\s()./\-\u2010-\u2015]{0,3}\d){4,60})`,
  'gi',
);
/** After this many slow checks in one exchange, digits without a plus sign count as a number. */
const mostChecks = 3_000;
/** The characters that are read between two yields. */
const sliceLength = 10_000;

export class KnownNumbers {
  readonly #redactor: Redactor;
  /** The replacement of each number, and of its last digits. */
  readonly #replacements = new Map<string, string>();
  #checks = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** Learns the numbers in a text. `isNamed`: the text is known to hold numbers. */
  *learn(text: string, isNamed: boolean): Generator<undefined, void> {
    for (const { 0: whole, 1: plus, 2: run = '', index } of text.matchAll(runs)) {
      yield;
      const around = `${text[index - 1] ?? ''} ${text[index + whole.length] ?? ''}`;
      const isInWord = /[\p{L}_]|^-/u.test(around);
      if (isInWord && !isNamed && plus === undefined) continue;
      // Two numbers with a blank between them look like one that is too long or not valid.
      if (!this.#learnRun(run, isNamed || plus !== undefined))
        for (const group of run.split(/\s+/)) this.#learnRun(group, isNamed);
    }
  }

  /** Learns a run of digits if it is a number; false if not. `isCertain`: no check is needed. */
  #learnRun(run: string, isCertain: boolean): boolean {
    const all = run.replace(/\D/g, '');
    const digits = all.replace(/^00/, '');
    if (digits.length < shortestNumber || digits.length > longestNumber) return false;
    const isBare = all === run && all.length >= fewestBareDigits && !unixTime.test(all);
    if (!isCertain && all === digits && !isBare && !this.#isValid(digits)) return false;
    const replacement = this.#replacements.get(digits) ?? this.#redactor.number(digits);
    this.#replacements.set(digits, replacement);
    for (let length = digits.length; length >= fewestDigits; length--)
      this.#replacements.set(digits.slice(-length), replacement.slice(-length));
    return true;
  }

  #isValid(digits: string): boolean {
    if (digits.length <= fewestDigits || digits.startsWith('0')) return false;
    return this.#checks++ >= mostChecks || isPhoneNumber(`+${digits}`, 'valid');
  }

  /** The edits that replace known numbers, in the same notation. */
  *editsIn(text: string): Generator<undefined, readonly Edit[]> {
    const edits: Edit[] = [];
    for (const { 0: whole, 2: run, index } of text.matchAll(runs)) {
      yield;
      const other = run === undefined ? whole : this.#replaced(whole);
      if (other !== whole) edits.push({ start: index, end: index + whole.length, text: other });
    }
    return edits;
  }

  /** A run of digits with the longest known number at each place replaced. */
  #replaced(run: string): string {
    const digits = run.replace(/\D/g, '');
    let result = this.#replacements.get(digits) ?? '';
    while (result.length < digits.length) {
      let piece = digits.slice(result.length, result.length + longestNumber);
      while (piece.length >= fewestDigits && !this.#replacements.has(piece))
        piece = piece.slice(0, -1);
      const isKnown = piece.length >= fewestDigits;
      result += (isKnown ? this.#replacements.get(piece) : digits[result.length]) ?? '';
    }
    let index = 0;
    return run.replace(/\d/g, () => result[index++] ?? '');
  }

  /** True if a number is in a text, whatever separates its digits. */
  *isAnyIn(text: string): Generator<undefined, boolean> {
    if (this.#replacements.size === 0) return false;
    const digits = yield* replacedIn(text, /[\s+()./\-\u2010-\u2015]+/g, () => '');
    for (const { 0: run } of digits.matchAll(/\d{5,}/g)) {
      if (this.#replacements.has(run)) return true;
      for (let at = 0; at + fewestDigits <= run.length; at++) {
        if (at % sliceLength === 0) yield;
        if (this.#replacements.has(run.slice(at, at + fewestDigits))) return true;
      }
    }
    return false;
  }
}
