/**
 * Redacts one exchange by value. First its parts are read for what is a key, a number or a text;
 * then each of these is replaced in all values that show it plainly. A value that hides one in
 * another encoding is replaced as a whole. All other bytes stay, so equal replies stay equal.
 */
import { isUtf8 } from 'node:buffer';
import { matchRoute } from '#contract/routes.ts';
import { valueIn } from '#judging/evidence/reading.ts';
import { type Edit, flatOf, KnownValues, plainOf } from './known-values.ts';
import {
  isEcho,
  isNumberName,
  isPlain,
  isSecret,
  isText,
  type Member,
  meaningOf,
  membersOf,
  plainToken,
  type Texts,
  written,
} from './members.ts';
import { KnownNumbers } from './phone-numbers.ts';
import type { Redactor } from './redaction.ts';
import { addKey, type Secrets, shortestSoughtKey } from './secrets.ts';

/** A part of an exchange, and how it is read. */
export type Part = readonly [text: string, reading: Reading];

export interface Reading {
  /** A body may be JSON, or text of any other form. */
  readonly form: 'body' | 'field' | 'target' | 'parameter';
  readonly texts: Texts;
}

const drawnKey = /\bsmst_([a-z0-9]{40})\b/gi;
const userInfo = /\/\/(([^\s/?#@"'<>\\:]+)(?::([^\s/?#@"'<>\\]*))?)@/g;
/** A long word is decoded in parts. */
const base64 = /[\w+/-]{10,20000}/g;
/** Bytes that are not text rarely have this many printable characters in a row. */
const printable = /[\x20-\x7e]{7}/;
const mostNested = 3;

export class ExchangeRedaction {
  readonly #secrets: Secrets;
  readonly #redactor: Redactor;
  readonly #keys = new KnownValues();
  readonly #texts = new KnownValues();
  readonly #numbers: KnownNumbers;

  constructor(secrets: Secrets, redactor: Redactor) {
    this.#secrets = secrets;
    this.#redactor = redactor;
    this.#numbers = new KnownNumbers(redactor);
  }

  /** Looks for this key in the exchange; for a long one, in all that follow, too. */
  learnKey(key: string): string {
    const digest = this.#secrets.learn(key);
    if (key.length < shortestSoughtKey) addKey(this.#keys, key, digest);
    return digest;
  }

  /** All parts with what was learned from any of them replaced. */
  *redacted(parts: readonly Part[]): Generator<undefined, readonly string[]> {
    for (const [text, reading] of parts) {
      for (const [, all = '', user = '', password] of text.matchAll(userInfo))
        for (const key of [all, password || user]) this.learnKey(key);
      yield* this.#rewritten(text, reading, 'learn');
    }
    const results: string[] = [];
    for (const [text, reading] of parts)
      results.push(yield* this.#rewritten(text, reading, 'replace'));
    return results;
  }

  *#rewritten(
    text: string,
    { form, texts }: Reading,
    step: 'learn' | 'replace',
    depth = 0,
  ): Generator<undefined, string> {
    const isJson = form === 'body' && /^\s*[[{"]/.test(text);
    const isRead = isJson ? valueIn(text) !== undefined : form !== 'body';
    yield;
    const edits: Edit[] = [];
    const otherForm = form === 'body' ? 'field' : form;
    for (const member of membersIn(text, isJson ? 'json' : otherForm)) {
      const content = text.slice(member.start, member.end);
      const value = member.kind === 'number' ? content : meaningOf(content, member.form);
      const isNested = depth < mostNested && /^\s*[[{]/.test(value) && valueIn(value) !== undefined;
      const nested: Reading = { form: 'body', texts };
      yield;
      const inner = isNested ? yield* this.#rewritten(value, nested, step, depth + 1) : value;
      if (step === 'learn') yield* this.#learn(member, value, texts);
      const result = step === 'learn' ? value : yield* this.#replaced(member, value, inner, texts);
      if (result !== value) edits.push({ ...member, text: written(result, member) });
    }
    if (text === '' || (isRead && form !== 'parameter')) return edited(text, edits);
    // The members of such a text only teach, as a secret can be written across them.
    const name = isRead ? '' : 'body';
    const whole: Member = { start: 0, end: 0, name, kind: 'value', form: 'json', isAlone: false };
    if (step === 'replace') return yield* this.#replaced(whole, text, text, texts);
    yield* this.#learn(whole, text, texts);
    return text;
  }

  *#learn(member: Member, value: string, texts: Texts): Generator<undefined, void> {
    if (isSecret(member)) this.learnKey(value.replace(/^"(.*)"$/, '$1'));
    const plain = yield* plainOf(value);
    // Keys of the service's own form may be those of other accounts.
    for (const [key, drawn] of plain.matchAll(drawnKey))
      this.#keys.add(key, this.#secrets.digest('key', `smst_${drawn}`));
    yield;
    if (this.#redactor.hidesNumbers) yield* this.#numbers.learn(plain, isNumberName(member.name));
    if (this.#redactor.hidesTexts && isText(member, value, texts))
      for (const text of new Set([value, plain]))
        this.#texts.add(text, yield* this.#redactor.textInSlices(text));
  }

  /** `inner`: the value, with what is nested in it replaced. */
  *#replaced(
    member: Member,
    value: string,
    inner: string,
    texts: Texts,
  ): Generator<undefined, string> {
    if (isSecret(member)) return this.learnKey(value);
    if (isPlain(value)) return value;
    const hidden = this.#redactor.textInSlices(value);
    if (this.#redactor.hidesTexts && isText(member, value, texts)) return yield* hidden;
    yield;
    const stores = [this.#keys, this.#secrets.keys, ...(isEcho(member) ? [this.#texts] : [])];
    if (!(yield* this.#hides(inner, stores))) return inner;
    const edits: Edit[] = [];
    let rest = inner;
    for (const store of [...stores, this.#numbers]) {
      const found = yield* store.in(rest);
      for (const edit of found) edits.push(edit);
      rest = edited(rest, found, ({ start, end }) => '\x01'.repeat(end - start));
    }
    if (!(yield* this.#hides(rest, stores))) return edited(inner, edits);
    const tokens = Array.from(value.matchAll(plainToken), ({ 0: text, index }) => {
      return { start: index, end: index + text.length, text };
    });
    return edited(yield* hidden, tokens);
  }

  /** True if something secret is in a text, under any encoding. */
  *#hides(text: string, stores: readonly KnownValues[]): Generator<undefined, boolean> {
    const plain = yield* plainOf(text);
    for (const reading of [plain, yield* plainOf(yield* fromBase64(plain))]) {
      const flat = yield* flatOf(reading);
      for (const store of [...stores, this.#numbers]) if (yield* store.areIn(flat)) return true;
    }
    return false;
  }
}

/** What the long words of a text are in base64, at any of the four alignments. */
function* fromBase64(text: string): Generator<undefined, string> {
  let all = '';
  for (const [token] of text.matchAll(base64))
    for (let at = 0; at < 4; at++) {
      yield;
      const bytes = Buffer.from(token.slice(at), 'base64');
      const decoded = bytes.toString('utf8');
      if (printable.test(decoded) || isUtf8(bytes)) all += `\n${decoded}`;
    }
  return all;
}

function* membersIn(text: string, form: Member['form'] | 'target'): Generator<Member, void> {
  if (form !== 'target') return yield* membersOf(text, form);
  const query = text.search(/[?#]|$/);
  const path = text.slice(0, query);
  // The path of an endpoint is not an echo of a text that contains it.
  yield* membersOf(path, 'segment', matchRoute(path) === undefined ? '' : 'id');
  for (const member of membersOf(text.slice(query), 'field'))
    yield { ...member, start: member.start + query, end: member.end + query };
}

/** Edits may come in any order. */
function edited(text: string, edits: readonly Edit[], textOf = (edit: Edit) => edit.text): string {
  const pieces: string[] = [];
  let at = 0;
  for (const edit of edits.toSorted((one, other) => one.start - other.start)) {
    pieces.push(text.slice(at, edit.start), textOf(edit));
    at = edit.end;
  }
  return pieces.join('') + text.slice(at);
}
