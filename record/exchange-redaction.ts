/**
 * Redacts one exchange by value. First it reads all parts to learn which keys, numbers and texts
 * are in them; then it replaces each of these in all values that show it plainly. A value that
 * hides one in another encoding is replaced as a whole. All other bytes stay, so equal replies stay
 * equal. The methods are generators that yield often: the work of other exchanges runs in between.
 */
import { isUtf8 } from 'node:buffer';
import { matchRoute } from '#contract/routes.ts';
import { valueIn } from '#judging/evidence/reading.ts';
import { type Edit, KnownValues } from './known-values.ts';
import {
  decodeContent,
  encodeContent,
  isNumberName,
  isPlain,
  isSecret,
  isText,
  type Member,
  mayEcho,
  membersOf,
  plainToken,
  type Texts,
} from './members.ts';
import { KnownNumbers } from './phone-numbers.ts';
import { flatOf, plainOf } from './plain-text.ts';
import type { Redactor } from './redaction.ts';
import { addKey, type Secrets, shortestSoughtKey } from './secrets.ts';

/** A part of an exchange, and how it is read. */
export type Part = readonly [text: string, reading: Reading];

export interface Reading {
  /** A body may be JSON, or text of any other form. */
  readonly form: 'body' | 'field' | 'target' | 'parameter';
  readonly texts: Texts;
}

/** A key in the form that the service gives its keys. */
const serviceKey = /\bsmst_([a-z0-9]{40})\b/gi;
/** The user and the password in a URL. */
const userInfo = /\/\/(([^\s/?#@"'<>\\:]+)(?::([^\s/?#@"'<>\\]*))?)@/g;
/** A word that may be base64. A longer one is decoded in parts. */
const base64 = /[\w+/-]{10,20000}/g;
/** Bytes that are not text rarely have this many printable characters in a row. */
const printable = /[\x20-\x7e]{7}/;
/** How deep JSON texts within JSON texts are read. */
const mostNested = 3;

interface Reached {
  readonly member: Member;
  readonly value: string;
  /** The value with the JSON in it rewritten. */
  readonly inner: string;
  readonly texts: Texts;
}

/** Returns the value that takes the place of the member's. */
type Step = (reached: Reached) => Generator<undefined, string>;

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

  /** Learns a key, to replace it here and, if it is long, in later exchanges; returns its digest. */
  learnKey(key: string): string {
    const digest = this.#secrets.learn(key);
    if (key.length < shortestSoughtKey) addKey(this.#keys, key, digest);
    return digest;
  }

  /** Learns from all parts, and returns them with all that was learned replaced. */
  *redacted(parts: readonly Part[]): Generator<undefined, readonly string[]> {
    const learn: Step = (reached) => this.#learned(reached);
    for (const [text, reading] of parts) {
      for (const [, all = '', user = '', password] of text.matchAll(userInfo))
        for (const key of [all, password || user]) this.learnKey(key);
      yield* rewritten(text, reading, learn);
    }
    const replace: Step = (reached) => this.#replaced(reached);
    const results: string[] = [];
    for (const [text, reading] of parts) results.push(yield* rewritten(text, reading, replace));
    return results;
  }

  /** Learns what the value says, and returns it as it is. */
  *#learned({ member, value, texts }: Reached): Generator<undefined, string> {
    if (isSecret(member)) this.learnKey(value.replace(/^"(.*)"$/, '$1'));
    const plain = yield* plainOf(value);
    // A key of the service may be anywhere, such as that of another account in a message.
    for (const [key, random] of plain.matchAll(serviceKey))
      this.#keys.add(key, this.#secrets.digest('key', `smst_${random}`));
    yield;
    if (this.#redactor.hidesNumbers) yield* this.#numbers.learn(plain, isNumberName(member.name));
    if (this.#redactor.hidesTexts && isText(member, value, texts)) {
      for (const text of new Set([value, plain]))
        this.#texts.add(text, yield* this.#redactor.textInSlices(text));
    }
    return value;
  }

  /** The value with all that was learned replaced. */
  *#replaced({ member, value, inner, texts }: Reached): Generator<undefined, string> {
    if (isSecret(member)) return this.learnKey(value);
    if (isPlain(value)) return value;
    const hidden = this.#redactor.textInSlices(value);
    if (this.#redactor.hidesTexts && isText(member, value, texts)) return yield* hidden;
    yield;
    // The long keys first: a short one may begin a long one.
    const stores = [this.#secrets.keys, this.#keys, ...(mayEcho(member) ? [this.#texts] : [])];
    if (!(yield* this.#hides(inner, stores))) return inner;
    const edits: Edit[] = [];
    // What is found is blanked out, at its length, so that the places of later edits stay right.
    let rest = inner;
    for (const store of [...stores, this.#numbers]) {
      const found = yield* store.editsIn(rest);
      for (const edit of found) edits.push(edit);
      rest = edited(rest, found, ({ start, end }) => '\x01'.repeat(end - start));
    }
    if (!(yield* this.#hides(rest, stores))) return edited(inner, edits);
    // Something is still hidden in another encoding: only tokens that are never personal stay.
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
      for (const store of [...stores, this.#numbers]) if (yield* store.isAnyIn(flat)) return true;
    }
    return false;
  }
}

/** The text with each member rewritten by `step`, also those of JSON within JSON. */
function* rewritten(
  text: string,
  { form, texts }: Reading,
  step: Step,
  depth = 0,
): Generator<undefined, string> {
  const isJson = form === 'body' && /^\s*[[{"]/.test(text);
  // The members of broken JSON, and of a body in any other form, may not be all that it says.
  const areMembersAll = isJson ? valueIn(text) !== undefined : form !== 'body';
  yield;
  const edits: Edit[] = [];
  const otherForm = form === 'body' ? 'field' : form;
  for (const member of membersIn(text, isJson ? 'json' : otherForm)) {
    const content = text.slice(member.start, member.end);
    const value = member.kind === 'number' ? content : decodeContent(content, member.form);
    const isNested = depth < mostNested && /^\s*[[{]/.test(value) && valueIn(value) !== undefined;
    const nested: Reading = { form: 'body', texts };
    yield;
    const inner = isNested ? yield* rewritten(value, nested, step, depth + 1) : value;
    const result = yield* step({ member, value, inner, texts });
    if (result !== value) edits.push({ ...member, text: encodeContent(result, member) });
  }
  if (text === '' || (areMembersAll && form !== 'parameter')) return edited(text, edits);
  // A secret can be written across members of other texts: these are also read as a whole.
  const name = areMembersAll ? '' : 'body';
  const whole: Member = { start: 0, end: 0, name, kind: 'value', form: 'json', followsName: false };
  return yield* step({ member: whole, value: text, inner: text, texts });
}

/** The long words of a text, decoded as base64 from each of the four alignments. */
function* fromBase64(text: string): Generator<undefined, string> {
  let all = '';
  for (const [token] of text.matchAll(base64)) {
    for (let at = 0; at < 4; at++) {
      yield;
      const bytes = Buffer.from(token.slice(at), 'base64');
      const decoded = bytes.toString('utf8');
      if (printable.test(decoded) || isUtf8(bytes)) all += `\n${decoded}`;
    }
  }
  return all;
}

/** The members of a text; of a request's target, those of its path and of its query. */
function* membersIn(text: string, form: Member['form'] | 'target'): Generator<Member, void> {
  if (form !== 'target') return yield* membersOf(text, form);
  const query = text.search(/[?#]|$/);
  const path = text.slice(0, query);
  // The name `id` keeps the path of an endpoint: a text that contains it does not make it an echo.
  yield* membersOf(path, 'segment', matchRoute(path) === undefined ? '' : 'id');
  for (const member of membersOf(text.slice(query), 'field'))
    yield { ...member, start: member.start + query, end: member.end + query };
}

/** The text with these edits, which may come in any order. */
function edited(text: string, edits: readonly Edit[], textOf = (edit: Edit) => edit.text): string {
  const pieces: string[] = [];
  let at = 0;
  for (const edit of edits.toSorted((one, other) => one.start - other.start)) {
    pieces.push(text.slice(at, edit.start), textOf(edit));
    at = edit.end;
  }
  return pieces.join('') + text.slice(at);
}
