/**
 * A text without its escapes, which knows where in the source each of its characters is written.
 * Secrets are looked for in the plain text and replaced in the source, so one search finds them
 * under every encoding: percent, JSON, JavaScript and HTML escapes, also several on each other.
 */
import { isUtf8 } from 'node:buffer';

/** One character at a time; percent-encoded bytes are UTF-8, or else Latin-1. */
const escapes = new RegExp(
  [
    '%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}',
    '%f[0-7](?:%[89ab][0-9a-f]){3}|%[89a-f][0-9a-f]',
    String.raw`\\u[0-9a-f]{4}|\\u\{[0-9a-f]{1,6}\}|\\x[0-9a-f]{2}|\\["'\\/bfnrt]`,
    String.raw`&#x[0-9a-f]{1,6};?|&#\d{1,7};?|&[a-z]{2,8};|<br ?\/?>|[\r\n]{2,}`,
  ].join('|'),
  'gi',
);
/** A text that was escaped more often is looked at as it is after so many rounds. */
const mostRounds = 4;
const controls: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const named: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', plus: '+', equals: '=' },
  ...{ lpar: '(', rpar: ')', hyphen: '-', sol: '/', colon: ':', commat: '@', period: '.' },
  ...{ lowbar: '_', comma: ',', excl: '!', quest: '?', num: '#', newline: '\n', tab: '\t' },
  ...{ szlig: 'ß', aelig: 'æ', oslash: 'ø', AElig: 'Æ', Oslash: 'Ø', euro: '€', pound: '£' },
};
const accents: Readonly<Record<string, string>> = {
  ...{ grave: '\u0300', acute: '\u0301', circ: '\u0302', tilde: '\u0303' },
  ...{ uml: '\u0308', ring: '\u030a', cedil: '\u0327', caron: '\u030c' },
};
/** How many escapes are resolved, or units copied, before others may run. */
const sliceLength = 500;
const longSliceLength = 20_000;

export class PlainText {
  readonly text: string;
  readonly #source: string;
  /** Where each unit of the text begins in the source; undefined if they are the same. */
  readonly #bounds: Uint32Array | undefined;

  private constructor(source: string, text: string, bounds: Uint32Array | undefined) {
    this.#source = source;
    this.text = text;
    this.#bounds = bounds;
  }

  static *of(source: string): Generator<undefined, PlainText> {
    let plain = new PlainText(source, source, undefined);
    for (let round = 0; round < mostRounds; round++) {
      const next = yield* plain.#withoutEscapes();
      if (next === plain) break;
      plain = next;
    }
    return plain;
  }

  *#withoutEscapes(): Generator<undefined, PlainText> {
    const { text } = this;
    if (!/[%\\&<]|[\r\n]{2}/.test(text)) return this;
    const bounds = new Uint32Array(text.length + 1);
    const result = new LongString();
    let [length, at, matches] = [0, 0, 0];
    const start = (index: number) => this.#start(index);
    function* copyUntil(end: number): Generator<undefined, void> {
      result.add(text.slice(at, end));
      while (at < end) {
        bounds[length++] = start(at++);
        if (at % longSliceLength === 0) yield;
      }
    }
    for (const { 0: escaped, index } of text.matchAll(escapes)) {
      if (++matches % sliceLength === 0) yield;
      yield* copyUntil(index);
      const character = meaningOf(escaped);
      if (character === undefined) continue;
      result.add(character);
      bounds[length++] = start(at);
      at += escaped.length;
      // The second unit of a character has no source of its own.
      if (character.length > 1) bounds[length++] = start(at);
    }
    if (at === 0) return this;
    yield* copyUntil(text.length);
    bounds[length] = this.#source.length;
    const plain = result.toString();
    return plain === text ? this : new PlainText(this.#source, plain, bounds);
  }

  /** Where a unit begins in the source. */
  #start(index: number): number {
    return this.#bounds?.[index] ?? index;
  }

  /** The part of the source that these units of the text are written in. */
  range(start: number, end: number): readonly [number, number] {
    return [this.#start(start), end >= this.text.length ? this.#source.length : this.#start(end)];
  }

  /** The source of the units from `start`, with `replacement` for them in the same encoding. */
  *rewritten(start: number, replacement: string): Generator<undefined, string> {
    if (this.#bounds === undefined) return replacement;
    const result = new LongString();
    for (let index = 0; index < replacement.length; index++) {
      if (index % sliceLength === sliceLength - 1) yield;
      const source = this.#pieceAt(start + index);
      let [before, after] = [this.text[start + index] ?? '', replacement[index] ?? ''];
      const isPair = this.#pieceAt(start + index + 1) === '' && /[\ud800-\udbff]/.test(before);
      if (isPair) {
        before += this.text[start + ++index] ?? '';
        after += replacement[index] ?? '';
      }
      result.add(before === after ? source : written(source, after));
    }
    return result.toString();
  }

  #pieceAt(index: number): string {
    return this.#source.slice(...this.range(index, index + 1));
  }
}

/** The character that an escape means; undefined if it is none. */
function meaningOf(escaped: string): string | undefined {
  if (escaped.startsWith('%')) {
    const bytes = Buffer.from(escaped.replaceAll('%', ''), 'hex');
    return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
  }
  // Frameworks write one line break in several ways, so any number of them is one.
  if (/^[<\r\n]/.test(escaped)) return '\n';
  const hex = /^(?:\\[ux]\{?|&#x)([0-9a-f]+)/i.exec(escaped)?.[1];
  const code = hex === undefined ? /^&#(\d+)/.exec(escaped)?.[1] : Number.parseInt(hex, 16);
  if (code !== undefined)
    return Number(code) > 0x10ffff ? '\ufffd' : String.fromCodePoint(Number(code));
  if (escaped.startsWith('\\')) return controls[escaped.charAt(1)] ?? escaped.charAt(1);
  const name = escaped.slice(1, -1);
  const accent = accents[name.slice(1)];
  if (accent === undefined) return named[name] ?? named[name.toLowerCase()];
  const accented = (name.charAt(0) + accent).normalize('NFC');
  return accented.length === 1 ? accented : undefined;
}

/** A character, written in the way of the source that it replaces. */
function written(source: string, character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const cased = (hex: string) => (/[A-F]/.test(source) ? hex.toUpperCase() : hex);
  const [, percents = ''] = /^(%(?:25)*)[0-9a-f]{2}/i.exec(source) ?? [];
  if (percents !== '' && source.length % (percents.length + 2) === 0)
    return Buffer.from(character).reduce(
      (all, byte) => all + percents + cased(byte.toString(16).padStart(2, '0')),
      '',
    );
  const [, opening, digits = '', end] =
    /^(.*(?:u\{?|(?:#|%23)x))([0-9a-f]{2,6})(\}?(?:;|%3b)?)$/i.exec(source) ?? [];
  if (opening !== undefined)
    return opening + cased(code.toString(16)).padStart(digits.length, '0') + end;
  const decimal = /^(.*(?:#|%23))\d+((?:;|%3b)?)$/i.exec(source);
  return decimal === null ? character : `${decimal[1]}${code}${decimal[2]}`;
}

/** Replaces all matches; a long text is cut at blanks, so that others may run in between. */
export function* replacedIn(
  text: string,
  pattern: RegExp,
  replace: (match: string) => string,
): Generator<undefined, string> {
  if (text.length <= longSliceLength) return text.replace(pattern, replace);
  let [result, at] = ['', 0];
  while (at < text.length) {
    const blank = text.slice(at + longSliceLength, at + longSliceLength + 100).search(/[\s"]/);
    const end = at + longSliceLength + Math.max(0, blank);
    result += text.slice(at, end).replace(pattern, replace);
    at = end;
    yield;
  }
  return result;
}

/**
 * A string that is made of many pieces. V8 would join them all at the first look at the string,
 * which stops everything else for long.
 */
export class LongString {
  readonly #joined: Buffer[] = [];
  #last = '';

  add(piece: string): void {
    this.#last += piece;
    if (this.#last.length >= longSliceLength) this.#join();
  }

  #join(): void {
    this.#joined.push(Buffer.from(this.#last, 'utf16le'));
    this.#last = '';
  }

  toString(): string {
    if (this.#joined.length === 0) return this.#last;
    this.#join();
    return Buffer.concat(this.#joined).toString('utf16le');
  }
}
