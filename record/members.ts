/**
 * Finds the named values (members) of bodies, queries and headers, and says by their names which
 * are keys, numbers or texts of messages. Reads broken texts too, so it parses no whole documents.
 */
import { endpointNames } from '#contract/limits.ts';
import { statuses } from '#contract/message-status.ts';
import { refusals } from '#contract/refusals.ts';

/** A name or value in a JSON text, a form, a query, a path or a header. */
export interface Member {
  /** Where its content is in the text, without quotation marks. */
  readonly start: number;
  readonly end: number;
  /** The name of a value: in a list, that of the list. */
  readonly name: string;
  readonly kind: 'name' | 'value' | 'number';
  readonly form: 'json' | 'field' | 'parameter' | 'segment';
  /** True if it follows its name directly; false for an item of a list. */
  readonly followsName: boolean;
}

/** The members of a text, also if it breaks off. `firstName`: the name of the values at its start. */
export function* membersOf(
  text: string,
  form: Member['form'],
  firstName = '',
): Generator<Member, void> {
  let name = firstName;
  let followsName = false;
  for (const match of text.matchAll(memberPatterns[form])) {
    const { 0: whole, 1: first, 2: nameSign, 3: other, index } = match;
    const content = first ?? other ?? '';
    const kindOfValue = form === 'json' && other !== undefined ? 'number' : 'value';
    const kind = nameSign === undefined ? kindOfValue : 'name';
    const start = index + (whole.startsWith('"') && form === 'json' ? 1 : 0);
    const isNamed = kind !== 'name' && (followsName || form === 'json' || form === 'segment');
    const member = { start, end: start + content.length, kind, form, followsName } as const;
    if (content !== '') yield { ...member, name: isNamed ? name : '' };
    followsName = kind === 'name';
    if (followsName) name = decodeContent(content, form);
  }
}

/**
 * The members of each form. The groups: a text; what shows that it is a name; a value that the
 * first group does not match, which is a number in JSON.
 */
const memberPatterns = {
  json: /"((?:[^"\\]|\\.?)*)(?:"(\s*:)?|$)|(-?\d[\d.eE+-]*)|\[/gs,
  field: /(?<=^|[&\n?#])([^&\n?#=]+)(=)|([^&\n?#]+)/g,
  parameter: /(?<=^|[;,\s])([^;,\s=]+)(=)|([^;,\s]+)/g,
  segment: /([^/]+)/g,
} as const;

/** The value that is written in this form; the content itself if it is malformed. */
export function decodeContent(content: string, form: Member['form']): string {
  if (!/[%+\\]/.test(content)) return content;
  try {
    if (form === 'json') return String(JSON.parse(`"${content}"`));
    return decodeURIComponent(form === 'segment' ? content : content.replaceAll('+', ' '));
  } catch {
    return content;
  }
}

/** Writes a value in the form of a member, to take the place of its content. */
export function encodeContent(value: string, { kind, form }: Member): string {
  // A replacement that is not a number is written as a string, and no number begins with a zero.
  if (kind === 'number')
    return /^-?\d+$/.test(value) ? value.replace(/^0(?=\d)/, '1') : JSON.stringify(value);
  if (form === 'json') return JSON.stringify(value).slice(1, -1);
  const field = new URLSearchParams({ '': value }).toString().slice(1);
  return form === 'segment' ? field.replaceAll('+', '%20') : field;
}

/** UUIDs, times and media types are never personal. */
export const plainToken =
  /(?<![\w-])(?:[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|\d{4}-(?:0\d|1[0-2])-[0-3]\d(?:[t ]\d\d:[\d:.]+(?:z|[+-]\d\d:?\d\d)?)?)(?![\w-])|\b(?:application|text|multipart)\/[\w.+-]+/gi;
/** A value of digits and their separators only. */
const numberAlone = /^[+\d][\d\s().-]*$/;
// Names that services give to keys, numbers and texts.
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

/** True if the name of a value says that it is a key or a password. */
export const isSecret = ({ name, kind, followsName }: Member) =>
  kind !== 'name' && followsName && secretName.test(name);
export const isNumberName = (name: string) => numberName.test(name);
/** True if a value may repeat a text of a message, or a piece of one. */
export const mayEcho = ({ name, kind }: Member) => kind !== 'number' && !idName.test(name);

/** Which values are texts of messages: by name, all, or none, as in errors of the service. */
export type Texts = 'named' | 'all' | 'none';

export function isText(member: Member, value: string, texts: Texts): boolean {
  const { name, kind } = member;
  if (kind !== 'value' || texts === 'none' || isPlain(value) || numberName.test(name)) return false;
  return textName.test(name) || (texts === 'all' && mayEcho(member) && !numberAlone.test(value));
}

/** Words of the service's interface: if a text is one by chance, replies keep it. */
const serviceWords = new Set<string>([
  ...statuses,
  ...endpointNames,
  ...Object.keys(refusals),
  ...Object.values(refusals).flatMap(({ code }) => code ?? []),
  // Parts of paths, literals of JSON, and fields.
  ...['devices', 'account', 'status', 'message'],
  ...['true', 'false', 'null'],
  ...['code', 'detail', 'request_id', 'message_id', 'device_id', 'from', 'from_number'],
  ...['created_at', 'send_at', 'retry_after'],
  'application/json',
]);

/** True if a value has nothing that could be personal. */
export function isPlain(value: string): boolean {
  return isServiceWord(value) || value.replace(plainToken, '') === '';
}

export function isServiceWord(text: string): boolean {
  return serviceWords.has(text.toLowerCase());
}
