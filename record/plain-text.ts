/**
 * Texts as somebody who looks for secrets would read them: without escapes, in lower case, with
 * one kind of blank. All of it works in slices, as a body can be a mebibyte long.
 */
import { isUtf8 } from 'node:buffer';

const escapes = new RegExp(
  [
    String.raw`(?:%[0-9a-f]{2}){1,999}(?!%[89ab])|\\[ux]\{?([0-9a-f]{2,6})\}?|&#x([0-9a-f]{1,6});?|&#(\d{1,7});?`,
    String.raw`\\(["'\\/bfnrt])|&([a-z]{2,8});|<br ?\/?>|(?![0-9])\p{Nd}`,
  ].join('|'),
  'giu',
);
/** A text that was escaped more often is looked at as it is after so many rounds. */
const mostRounds = 5;
const named: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", plus: '+', equals: '=', szlig: 'ß' },
  ...{ b: ' ', f: ' ', n: '\n', r: '\r', t: '\t', nbsp: ' ', hyphen: '-', lowbar: '_', sol: '/' },
};
const accents: Readonly<Record<string, string>> = {
  ...{ grave: '\u0300', acute: '\u0301', circ: '\u0302', tilde: '\u0303' },
  ...{ uml: '\u0308', ring: '\u030a', cedil: '\u0327', caron: '\u030c' },
};
const matchesInSlice = 1_000;

/** The text without its escapes, also if they were written on each other. */
export function* plainOf(text: string): Generator<undefined, string> {
  let plain = text;
  for (let round = 0; round < mostRounds; round++) {
    const before = plain;
    plain = yield* replacedIn(before, escapes, meaningOf);
    if (plain === before) break;
  }
  return plain;
}

function meaningOf(match: RegExpExecArray): string {
  const { 0: whole, 1: hex, 2: hexEntity, 3: decimal, 4: letter, 5: name = '' } = match;
  if (whole.startsWith('%')) {
    const bytes = Buffer.from(whole.replaceAll('%', ''), 'hex');
    return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
  }
  const code = decimal ?? Number.parseInt(hex ?? hexEntity ?? '', 16);
  if (Number(code) <= 0x10ffff) return String.fromCodePoint(Number(code));
  if (letter !== undefined) return named[letter] ?? letter;
  if (name !== '') {
    const accent = accents[name.slice(1)];
    return accent === undefined ? (named[name] ?? whole) : (name[0] + accent).normalize('NFC');
  }
  return /^\p{Nd}/u.test(whole) ? digitOf(whole) : ' ';
}

/** The ASCII digit of any script's: each has its ten digits in a row. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  let value = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++;
  return String(value % 10);
}

/** In lower case, with one blank for any number of any kind; `+` is the blank of forms. */
export function* flatOf(text: string): Generator<undefined, string> {
  return yield* withOneBlank(text.toLowerCase());
}

export function withOneBlank(text: string): Generator<undefined, string> {
  return replacedIn(text, /[\s+]{2,}|[^\S ]|\+/g, () => ' ');
}

export function* replacedIn(
  text: string,
  pattern: RegExp,
  replace: (match: RegExpExecArray) => string,
): Generator<undefined, string> {
  yield;
  let [result, at, pieces] = ['', 0, [] as string[]];
  for (const match of text.matchAll(pattern)) {
    pieces.push(text.slice(at, match.index), replace(match));
    at = match.index + match[0].length;
    if (pieces.length < matchesInSlice) continue;
    result += pieces.join('');
    pieces = [];
    yield;
  }
  return at === 0 ? text : result + pieces.join('') + text.slice(at);
}
