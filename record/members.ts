/**
 * The named values of a body, a query or a header, and what their names say about them: a key, a
 * phone number, or a text.
 */
import { endpointNames } from '#contract/limits.ts';
import { statuses } from '#contract/message-status.ts';
import { refusals } from '#contract/refusals.ts';

/** A string or number of a JSON text, or a field of a form. */
export interface Member {
  /** Where its content is in the text, without quotation marks. */
  readonly start: number;
  readonly end: number;
  /** The name of a value: in a list, that of the list. */
  readonly name: string;
  readonly kind: 'name' | 'string' | 'number' | 'field';
  /** False in a list. */
  readonly isAlone: boolean;
}

const secretName = /^(?:api[_-]?key|key|token|access_token|auth|authorization|password|secret)$/i;
const numberName =
  /^(?:to|from|(?:from|to|phone|mobile)_?number|phones?|numbers|mobile|msisdn|sender|recipients?|destination|caller|callee)$/i;
const textName =
  /^(?:messages?|texts?|body|content|msg|sms|subject|caption|preview|snippet|excerpt)$/i;
/** Headers of a request or reply that carry keys. */
export const secretHeader =
  /^(?!idempotency-|sec-|www-|proxy-authenticate).*(?:api-?key|access-?key|subscription-key|token|secret|auth|password|credential|cookie|session)/i;
/** Identifiers link exchanges, so they may not change with the text of a message. */
const idName = /(?:^(?:id|ID)|_(?:id|ID)|[a-z]Id)s?$/;

export const isSecretName = (name: string) => secretName.test(name);
export const isNumberName = (name: string) => numberName.test(name);
export const isTextName = (name: string) => textName.test(name);
export const isIdName = (name: string) => idName.test(name);

/** Words of the service's interface: if a text is one by chance, replies keep it. */
const serviceWords = new Set<string>([
  ...[...statuses, ...endpointNames, ...Object.keys(refusals), 'devices', 'account', 'status'],
  ...Object.values(refusals).flatMap(({ code }) => code ?? []),
  ...['message', 'from', 'true', 'false', 'null', 'code', 'detail', 'request_id', 'message_id'],
  ...['device_id', 'from_number', 'created_at', 'send_at', 'retry_after', 'application/json'],
]);

export function isServiceWord(text: string): boolean {
  return serviceWords.has(text.toLowerCase());
}

/** The members of a JSON text; a text that breaks off gives those before. */
export function* membersOfJson(text: string): Generator<Member, void> {
  let [name, isAlone] = ['', false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '"') {
      const start = at + 1;
      at = endOfString(text, start);
      const isName = nextAfterBlanks(text, at + 1) === ':';
      yield { start, end: at, name: isName ? '' : name, kind: isName ? 'name' : 'string', isAlone };
      if (isName) name = String(meaningIn(text, { start, end: at, kind: 'name' }));
      isAlone = isName;
    } else if (/[\d-]/.test(character)) {
      const start = at;
      while (/[\d.eE+-]/.test(text[at + 1] ?? '')) at++;
      yield { start, end: at + 1, name, kind: 'number', isAlone };
      isAlone = false;
    } else if (!/[\s:]/.test(character)) isAlone = false;
  }
}

function endOfString(text: string, start: number): number {
  for (let at = start; ; ) {
    const end = text.indexOf('"', at);
    if (end < 0) return text.length;
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\' && end - backslashes > start) backslashes++;
    if (backslashes % 2 === 0) return end;
    at = end + 1;
  }
}

function nextAfterBlanks(text: string, start: number): string | undefined {
  let at = start;
  while (/\s/.test(text[at] ?? '')) at++;
  return text[at];
}

/** The fields of a query or form, or the parameters of a header, from an index on. */
export function* fieldsIn(text: string, from: number, separator: RegExp): Generator<Member, void> {
  let start = from;
  for (const field of text.slice(from).split(separator)) {
    const equals = field.indexOf('=');
    const nameEnd = start + Math.max(0, equals);
    const name = unescaped(text.slice(start, nameEnd));
    if (equals > 0) yield { start, end: nameEnd, name: '', kind: 'field', isAlone: true };
    const valueStart = equals < 0 ? start : nameEnd + 1;
    const end = start + field.length;
    yield { start: valueStart, end, name, kind: 'field', isAlone: true };
    start = end + 1;
  }
}

/** What a member means. */
export function meaningIn(
  text: string,
  { start, end, kind }: Pick<Member, 'start' | 'end' | 'kind'>,
): string {
  const content = text.slice(start, end);
  if (kind === 'field') return unescaped(content);
  if (!content.includes('\\')) return content;
  try {
    return String(JSON.parse(`"${content}"`));
  } catch {
    return content;
  }
}

/** Writes a value in place of a member's. */
export function written(value: string, { kind }: Member): string {
  if (kind === 'field') return encodeURIComponent(value).replaceAll('%20', '+');
  return JSON.stringify(value).slice(1, -1);
}

function unescaped(text: string): string {
  const plain = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}
