/**
 * Which texts are blank. Assumes: blankMessage.
 */
import type { Assumptions, BlankKind } from './assumptions.ts';

/** The characters of each kind, written for a regular expression's character class. */
const characters: Readonly<Record<BlankKind, string>> = {
  empty: '',
  space: ' ',
  control: String.raw`\t\n\v\f\r`,
  no_break: String.raw`\u00a0`,
  unicode: String.raw`\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`,
  byte_order_mark: String.raw`\ufeff`,
  next_line: String.raw`\u0085`,
  zero_width: String.raw`\u200b-\u200d\u2060`,
  separator: String.raw`\u001c-\u001f`,
};

/**
 * A regular expression that matches texts that are not blank; undefined if no text counts as blank.
 */
export function notBlankPattern(blankMessage: Assumptions['blankMessage']): string | undefined {
  if (blankMessage === 'accept') return undefined;
  if (blankMessage === 'reject') return String.raw`\S`;
  if (blankMessage.length === 0) return undefined;
  const blank = blankMessage.map((kind) => characters[kind]).join('');
  const notBlank = blank === '' ? String.raw`[\s\S]` : `[^${blank}]`;
  return blankMessage.includes('empty') ? notBlank : `^$|${notBlank}`;
}
