/**
 * Redacts one exchange by value. First its parts are read for what is a key, a number or a text;
 * then each of these is replaced in all parts, however it is written. All other bytes stay, so
 * equal replies stay equal and different ones stay different.
 */
import { isUtf8 } from 'node:buffer';
import { matchRoute } from '#contract/routes.ts';
import { valueIn } from '#judging/evidence/reading.ts';
import {
  fieldsIn,
  isIdName,
  isNumberName,
  isSecretName,
  isServiceWord,
  isTextName,
  type Member,
  meaningIn,
  membersOfJson,
  written,
} from './members.ts';
import { digitLike, KnownNumbers, numbersIn } from './phone-numbers.ts';
import { type Found, Pieces, shortestValue } from './pieces.ts';
import { LongString, PlainText, replacedIn } from './plain-text.ts';
import type { Redactor } from './redaction.ts';
import { Keys, type Secrets, shortestSoughtKey } from './secrets.ts';

/** How a part of an exchange is read. */
export interface Reading {
  readonly form: 'json or other' | 'form' | 'target' | 'header';
  /**
   * Which of its values are texts of messages: those with a name that says so, all, or none, as in
   * errors, whose texts are the service's.
   */
  readonly texts: 'named' | 'all' | 'none';
}

interface Part {
  readonly text: string;
  readonly edits: Edit[];
  /** What is searched: values, or the whole text. Only the whole text can contain edits. */
  readonly segments: readonly Member[];
  readonly isWhole: boolean;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** UUIDs, times and media types are never personal. */
const plainToken =
  /(?<![\w-])(?:[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|\d{4}-(?:0\d|1[0-2])-[0-3]\d(?:[t ]\d\d:[\d:.]+(?:z|[+-]\d\d:?\d\d)?)?)(?![\w-])|\b(?:application|text|multipart)\/[\w.+-]+/gi;
const drawnKey = /\bsmst_([a-z0-9]{40})\b/gi;
const numberAlone = /^[+\d][\d\s().-]*$/;
const userInfo = /\/\/([^\s/?#@"'<>\\]+)@/g;
const base64 = /[\w+/-]{10,}={0,2}/g;
/** Bytes that are no text rarely have so many printable characters in a row. */
const printable = /[\x20-\x7e]{7}/;
const anyDigit = /\p{Nd}/u;
const mostNested = 3;
const sliceLength = 5_000;
const tokenWindow = 4_096;
const tokenOverlap = 256;
/** Stands for characters in which nothing is looked for. */
const taken = '\0';

export class ExchangeRedaction {
  readonly #secrets: Secrets;
  readonly #redactor: Redactor;
  readonly #parts: Part[] = [];
  readonly #keys = new Keys();
  readonly #numbers = new KnownNumbers();
  /** Knows none, and counts how many numbers were checked while they were learned. */
  readonly #unknown = new KnownNumbers();
  readonly #texts = new Pieces(false);
  /** Of each text: what is looked for, and its replacement. */
  readonly #replaced: (readonly [plain: string, replacement: string])[] = [];

  constructor(secrets: Secrets, redactor: Redactor) {
    this.#secrets = secrets;
    this.#redactor = redactor;
  }

  /** Looks for this key in the exchange; for a long one, in all that follow, too. */
  learnKey(key: string): string {
    const digest = this.#secrets.learn(key);
    if (key.length < shortestSoughtKey) this.#keys.add(key, digest);
    return digest;
  }

  /** Reads a part. `redacted` returns the parts in the order in which they were added. */
  *add(text: string, reading: Reading): Generator<undefined, void> {
    const isJson = reading.form === 'json or other' && /^\s*[[{"]/.test(text);
    const isRead = isJson ? valueIn(text) !== undefined : reading.form !== 'json or other';
    yield;
    const isWhole = !isRead || reading.form === 'header';
    const everything: Member = {
      ...{ start: 0, end: text.length, name: 'body', kind: 'string', isAlone: false },
    };
    const segments: Member[] = isWhole ? [everything] : [];
    const part: Part = { text, edits: [], segments, isWhole };
    this.#parts.push(part);
    if (text === '') return;
    for (const [, user = ''] of text.matchAll(userInfo)) this.#learnUser(user);
    if (reading.form === 'target') {
      const end = queryOf(text);
      // The path of an endpoint is no echo of a text that contains it.
      const name = matchRoute(text.slice(0, end)) === undefined ? 'path' : 'id';
      segments.push({ ...everything, end, name });
    }
    for (const member of membersOf(text, reading.form, isJson)) {
      yield;
      const replacement = yield* this.#learn(text, member, reading.texts, 0);
      if (replacement !== undefined) part.edits.push({ ...member, text: replacement });
      else if (!isWhole && member.end - member.start >= shortestValue) segments.push(member);
    }
    if (isRead || !this.#redactor.hidesTexts || reading.texts === 'none') return;
    // No names say what is a text here, so all of it is.
    const replacement = yield* this.#textOf(text);
    part.edits.splice(0, part.edits.length, { ...everything, text: replacement });
  }

  #learnUser(user: string): void {
    const [, name = user, password = ''] = /^([^:]*):(.*)$/.exec(user) ?? [];
    for (const key of [user, password || name]) this.learnKey(key);
  }

  /** What a member teaches. Returns its replacement if it is a key or a text itself. */
  *#learn(
    text: string,
    member: Member,
    texts: Reading['texts'],
    depth: number,
  ): Generator<undefined, string | undefined> {
    const { name, kind, isAlone } = member;
    if (kind === 'name' || member.start === member.end) return undefined;
    const value = meaningIn(text, member);
    yield;
    if (isSecretName(name) && isAlone) {
      const digest = this.learnKey(value.replace(/^"(.*)"$/, '$1'));
      return kind === 'number' ? `"${digest}"` : digest;
    }
    const isText = texts === 'all' ? !isIdName(name) : texts === 'named' && isTextName(name);
    const fewest = isNumberName(name) ? 5 : 7;
    if (this.#redactor.hidesNumbers && (fewest === 5 || isText))
      yield* this.#learnNumbers(yield* PlainText.of(value), fewest);
    if (depth < mostNested && /^\s*[[{]/.test(value) && valueIn(value) !== undefined)
      for (const nested of membersOfJson(value))
        yield* this.#learn(value, nested, texts, depth + 1);
    const isPlain = value.replace(plainToken, '') === '' || isServiceWord(value);
    const isNumber = isNumberName(name) || (!isTextName(name) && numberAlone.test(value));
    if (!isText || isPlain || isNumber || kind === 'number') return undefined;
    return this.#redactor.hidesTexts ? written(yield* this.#textOf(value), member) : undefined;
  }

  *#textOf(value: string): Generator<undefined, string> {
    const replacement = yield* this.#redactor.textInSlices(value);
    const plain = (yield* PlainText.of(value)).text;
    if (plain.length >= shortestValue) {
      yield* this.#texts.add(plain);
      const isSame = plain === value;
      this.#replaced.push([
        plain,
        isSame ? replacement : yield* this.#redactor.textInSlices(plain),
      ]);
    }
    return replacement;
  }

  *#learnNumbers(plain: PlainText, fewest?: number): Generator<undefined, void> {
    if (!anyDigit.test(plain.text)) return;
    const text = yield* replacedIn(plain.text, plainToken, (token) => masked(token));
    for (const { digits } of yield* numbersIn(text, this.#unknown, fewest)) {
      this.#numbers.add(digits, this.#redactor.number(digits));
      yield;
    }
  }

  /** All parts with what was learned replaced. */
  *redacted(): Generator<undefined, readonly string[]> {
    const segments: { readonly part: Part; readonly member: Member; readonly plain: PlainText }[] =
      [];
    for (const part of this.#parts) {
      part.edits.sort((one, other) => one.start - other.start);
      for (const member of part.segments) {
        for (const { start, end } of part.isWhole ? gapsIn(member, part.edits) : [member]) {
          const plain = yield* PlainText.of(part.text.slice(start, end));
          segments.push({ part, member: { ...member, start, end }, plain });
          if (this.#redactor.hidesNumbers) yield* this.#learnNumbers(plain);
        }
      }
    }
    for (const { part, member, plain } of segments) {
      const isNumber = member.kind === 'number';
      const isEcho = !isNumber && !isIdName(member.name);
      for (const edit of yield* this.#editsOf(plain, isEcho)) {
        const [start, end] = plain.range(edit.start, edit.end);
        const text = isNumber ? asJsonNumber(edit.text) : edit.text;
        part.edits.push({ start: member.start + start, end: member.start + end, text });
      }
    }
    const results: string[] = [];
    for (const { text, edits } of this.#parts) {
      yield;
      results.push(edited(text, edits));
    }
    return results;
  }

  /** What is replaced in a plain text, in its units. What is found first may not be found again. */
  *#editsOf(plain: PlainText, isEcho: boolean): Generator<undefined, readonly Edit[]> {
    const edits: Edit[] = [];
    let text = yield* replacedIn(plain.text, plainToken, (token) => masked(token));
    const take = (start: number, end: number, replacement: string) => {
      edits.push({ start, end, text: replacement });
    };
    let masks = 0;
    const maskTaken = () => {
      if (edits.length === masks) return;
      masks = edits.length;
      text = edited(
        text,
        edits.map((edit) => ({ ...edit, text: masked(edit.text, edit.end - edit.start) })),
      );
    };
    const mayTake = ({ start, end }: Found) =>
      !isServiceWord(plain.text.slice(start, end)) && /[^\0]/.test(text.slice(start, end));
    if (isEcho)
      for (const found of yield* this.#texts.in(plain.text, mayTake)) {
        const piece = plain.text.slice(found.start, found.end);
        const echo = yield* this.#echo(piece, found);
        take(found.start, found.end, yield* plain.rewritten(found.start, echo));
        yield;
      }
    maskTaken();
    for (const { pieces, digests } of [this.#keys, this.#secrets.keys]) {
      for (const { start, end, value } of yield* pieces.in(text, () => true))
        take(start, end, digests[value] ?? '');
      maskTaken();
    }
    for (const { index, 0: key, 1: drawn = '' } of text.matchAll(drawnKey))
      take(index, index + key.length, this.#secrets.digest('key', `smst_${drawn}`));
    maskTaken();
    if (this.#redactor.hidesNumbers && anyDigit.test(text))
      for (const { digits, at } of yield* numbersIn(text, this.#numbers)) {
        const [start, end] = [at[0] ?? 0, (at.at(-1) ?? 0) + 1];
        const known = this.#numbers.replacementOf(digits) ?? this.#redactor.number(digits);
        const units = plain.text.slice(start, end).split('');
        for (const [order, index] of at.entries())
          units[index - start] = digitLike(plain.text[index] ?? '', known[order] ?? '');
        take(start, end, yield* plain.rewritten(start, units.join('')));
        yield;
      }
    maskTaken();
    for (const { index, 0: token } of text.matchAll(base64)) {
      yield;
      if (!(yield* this.#hidesSecret(token))) continue;
      const other = yield* this.#redactor.textInSlices(token);
      take(index, index + token.length, yield* plain.rewritten(index, other));
    }
    return edits;
  }

  /** The replacement of a text, for a piece of it that may differ in case and blanks. */
  *#echo(piece: string, { value, offset }: Found): Generator<undefined, string> {
    const [plain = '', replacement = ''] = this.#replaced[value] ?? [];
    if (plain.startsWith(piece, offset)) return replacement.slice(offset, offset + piece.length);
    const result = new LongString();
    for (let index = 0; index < piece.length; index++) {
      if (index % sliceLength === sliceLength - 1) yield;
      const [unit = '', own = ''] = [piece[index], plain[offset + index]];
      const other = replacement[offset + index] ?? '';
      const cased = unit === own.toUpperCase() ? other.toUpperCase() : other.toLowerCase();
      if (own === other) result.add(unit);
      else result.add(unit === own || cased.length > 1 ? other : cased);
    }
    return result.toString();
  }

  /** True if a token is base64 of something secret, at any of the four alignments. */
  *#hidesSecret(token: string): Generator<undefined, boolean> {
    for (let at = 0; at < token.length; at++) {
      // A long token is read in windows that overlap, each at its four alignments.
      if (at % tokenWindow === 4) at += tokenWindow - 4;
      yield;
      const bytes = Buffer.from(token.slice(at, at + tokenWindow + tokenOverlap), 'base64');
      const decoded = bytes.toString('utf8');
      if (!isUtf8(bytes) && !printable.test(decoded)) continue;
      const { text } = yield* PlainText.of(decoded);
      for (const pieces of [this.#texts, this.#keys.pieces, this.#secrets.keys.pieces])
        if ((yield* pieces.in(text, () => true)).length > 0) return true;
      if (text.search(drawnKey) >= 0) return true;
      const hasNumber =
        this.#redactor.hidesNumbers && (yield* numbersIn(text, this.#numbers)).length > 0;
      if (hasNumber) return true;
    }
    return false;
  }
}

const masked = (token: string, length = token.length) => taken.repeat(length);

function edited(text: string, edits: readonly Edit[]): string {
  const result = new LongString();
  let at = 0;
  for (const edit of edits.toSorted((one, other) => one.start - other.start)) {
    result.add(text.slice(at, edit.start));
    result.add(edit.text);
    at = edit.end;
  }
  result.add(text.slice(at));
  return result.toString();
}

/** A replacement that is no number is written as a string, and no number begins with a zero. */
function asJsonNumber(text: string): string {
  return /^\d+$/.test(text) ? text.replace(/^0(?=\d)/, '1') : `"${text}"`;
}

function queryOf(text: string): number {
  const query = text.indexOf('?');
  return query < 0 ? text.length : query;
}

function membersOf(text: string, form: Reading['form'], isJson: boolean): Iterable<Member, void> {
  if (isJson) return membersOfJson(text);
  if (form === 'target') return fieldsIn(text, Math.min(text.length, queryOf(text) + 1), /[&#]/);
  return fieldsIn(text, 0, form === 'header' ? /[;,\s]/ : /[&\n]/);
}

/** The parts of a member that no edit has changed. */
function* gapsIn(
  { start, end }: Member,
  edits: readonly Edit[],
): Generator<Pick<Edit, 'start' | 'end'>, void> {
  let at = start;
  for (const edit of edits) {
    if (edit.start >= end) break;
    if (edit.end <= at) continue;
    if (edit.start > at) yield { start: at, end: edit.start };
    at = edit.end;
  }
  if (at < end) yield { start: at, end };
}
