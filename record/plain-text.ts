/**
 * Makes texts of different notations alike, so that they can be compared: without escapes
 * (`plainOf`), without upper case and with one kind of blank (`flatOf`). All work yields after each
 * slice: a body can have a mebibyte.
 */
import { isUtf8 } from 'node:buffer';

/**
 * Escapes of URLs, JSON and HTML, and digits of other scripts; `unescaped` names the groups. A run
 * of `%XX` ends before 1,000 bytes, but never within a UTF-8 character.
 */
const escapes = new RegExp(
  [
    String.raw`(?:%[0-9a-f]{2}){1,999}(?!%[89ab])|\\[ux]\{?([0-9a-f]{2,6})\}?`,
    String.raw`&#x([0-9a-f]{1,6});?|&#(\d{1,7});?`,
    String.raw`\\(["'\\/bfnrt])|&([a-z]{2,8});|<br ?\/?>|(?![0-9])\p{Nd}`,
  ].join('|'),
  'giu',
);
/** How often a text is unescaped. What is still escaped after that is searched as it is. */
const mostRounds = 5;
/** The characters with a name in HTML, or with a letter after a backslash in JSON. */
const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  plus: '+',
  equals: '=',
  szlig: 'ß',
  b: ' ',
  f: ' ',
  n: '\n',
  r: '\r',
  t: '\t',
  nbsp: ' ',
  hyphen: '-',
  lowbar: '_',
  sol: '/',
};
/** The accents at the end of names such as `eacute`. */
const accents: Readonly<Record<string, string>> = {
  grave: '\u0300',
  acute: '\u0301',
  circ: '\u0302',
  tilde: '\u0303',
  uml: '\u0308',
  ring: '\u030a',
  cedil: '\u0327',
  caron: '\u030c',
};
/** The pieces that are replaced between two yields. */
const piecesInSlice = 1_000;

/** The text without its escapes, even if it was escaped several times. */
export function* plainOf(text: string): Generator<undefined, string> {
  let plain = text;
  for (let round = 0; round < mostRounds; round++) {
    const before = plain;
    plain = yield* replacedIn(before, escapes, unescaped);
    if (plain === before) break;
  }
  return plain;
}

/** The characters that an escape stands for. */
function unescaped(match: RegExpExecArray): string {
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

/** The ASCII digit for a digit of another script: each script has its ten digits in a row. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  let value = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++;
  return String(value % 10);
}

/** The text in lower case, with one space for any blanks; forms write a space as `+`. */
export function flatOf(text: string): Generator<undefined, string> {
  return replacedIn(text.toLowerCase(), /[\s+]{2,}|[^\S ]|\+/g, () => ' ');
}

/** Replaces what matches, in slices. */
export function* replacedIn(
  text: string,
  pattern: RegExp,
  replace: (match: RegExpExecArray) => string,
): Generator<undefined, string> {
  yield;
  let result = '';
  let at = 0;
  let pieces: string[] = [];
  for (const match of text.matchAll(pattern)) {
    pieces.push(text.slice(at, match.index), replace(match));
    at = match.index + match[0].length;
    if (pieces.length < piecesInSlice) continue;
    result += pieces.join('');
    pieces = [];
    yield;
  }
  return at === 0 ? text : result + pieces.join('') + text.slice(at);
}
