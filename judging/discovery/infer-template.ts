/**
 * Infers a template from sample replies of one kind, for `--discover`. Values that the harness
 * knows become placeholders, also inside texts, and parts that are equal in all samples stay. Any
 * other part is left out and reported, never guessed.
 */
import { isObject, type Json, type ReplyTemplate } from '#contract/request-and-reply.ts';
import type { Reply } from '../evidence/reply.ts';

export interface Sample {
  readonly reply: Pick<Reply, 'status' | 'headers' | 'text' | 'json'>;
  /** The known values that a reply may contain, by placeholder. */
  readonly values: Readonly<Record<string, string | number>>;
}

export interface Inferred {
  readonly template: ReplyTemplate;
  /** The parts that the template cannot express, by path. */
  readonly undetermined: readonly string[];
}

/** The template of the body that all samples share, or the reason why they share none. */
export function inferBody(samples: readonly Sample[]): Inferred {
  const unfit = samples.map(({ reply }) => whyUnfit(reply.text)).find((why) => why !== undefined);
  if (unfit !== undefined) return { template: {}, undetermined: [unfit] };
  const [first, ...others] = samples.map(abstractBody);
  if (first === undefined) return { template: {}, undetermined: ['no reply was seen'] };
  if (typeof first === 'string') {
    const isSame = others.every((other) => other === first);
    const differences = isSame ? [] : ['the text differs between replies'];
    return { template: { text: first }, undetermined: differences };
  }
  const undetermined: string[] = [];
  let body: Json | undefined = first.json;
  for (const other of others) {
    if (typeof other === 'string') undetermined.push('some replies are JSON and some are not');
    else if (body !== undefined) body = merged(body, other.json, '', undetermined);
  }
  return { template: body === undefined ? {} : { body }, undetermined: [...new Set(undetermined)] };
}

const mostCharacters = 15_000;

function whyUnfit(text: string): string | undefined {
  if (text.length > mostCharacters) return `its body is longer than ${mostCharacters} characters`;
  const braces = /\{[a-z_]+\}/.exec(text)?.[0];
  return braces === undefined ? undefined : `its text ${braces} would be read as a placeholder`;
}

/** JSON with placeholders, or text if it is not JSON. */
function abstractBody({ reply, values }: Sample): { json: Json } | string {
  if (reply.json !== undefined) return { json: abstracted(reply.json as Json, values) };
  return withPlaceholders(reply.text, values);
}

/** JSON in which known values, ids and times are placeholders. */
export function abstracted(value: Json, values: Sample['values']): Json {
  if (typeof value === 'string' || typeof value === 'number') return abstractLeaf(value, values);
  if (isList(value)) return value.map((item) => abstracted(item, values));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const shown = values['field'] === name ? '{field}' : name;
      return [shown, abstracted(item as Json, values)];
    }),
  );
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function abstractLeaf(value: string | number, values: Sample['values']): string | number {
  for (const [name, known] of Object.entries(values)) if (value === known) return `{${name}}`;
  if (isUuid(value)) return '{uuid}';
  if (isTime(value)) return '{now}';
  return typeof value === 'number' ? value : withPlaceholders(value, values);
}

export function isUuid(value: Json): boolean {
  return typeof value === 'string' && uuid.test(value);
}

export function isTime(value: Json): boolean {
  return typeof value === 'string' && instant.test(value);
}

/** A shorter value can occur in a text by chance. */
const shortestValue = 6;

/** Replaces values inside a longer text. */
function withPlaceholders(text: string, values: Sample['values']): string {
  return Object.entries(values).reduce(withPlaceholder, text);
}

function withPlaceholder(text: string, [name, known]: [string, string | number]): string {
  if (typeof known === 'number') {
    // ERR-4: the text may state the wait more exactly than the header does.
    const isWait = (digits: string) =>
      name === 'retry_after' && Math.ceil(Number(digits)) === known;
    const stated = text.match(/\d+(?:\.\d+)?/g)?.find(isWait);
    return stated === undefined ? text : text.replace(stated, `{${name}}`);
  }
  // A pointer such as `/to` or `body.to`. In a sentence, `to` may be an ordinary word.
  if (name === 'field' && !text.includes(' '))
    return text.replace(new RegExp(`(?<![A-Za-z0-9_])${known}(?![A-Za-z0-9_])`), '{field}');
  if (name === 'method' || name === 'field')
    return text.replace(new RegExp(`(["'\`])${known}\\1`), `$1{${name}}$1`);
  return known.length < shortestValue ? text : text.replaceAll(known, `{${name}}`);
}

/** The parts that both share; undefined if they share none. Adds the others to `undetermined`. */
function merged(a: Json, b: Json, path: string, undetermined: string[]): Json | undefined {
  if (isList(a) && isList(b) && a.length === b.length) {
    const items = a.map((item, n) => merged(item, b[n] as Json, `${path}[${n}]`, undetermined));
    return items.includes(undefined) ? undefined : (items as readonly Json[]);
  }
  if (isObject(a) && isObject(b) && Object.keys(a).join() === Object.keys(b).join()) {
    const members: Record<string, Json> = {};
    for (const [name, value] of Object.entries(a)) {
      const shared = merged(value as Json, b[name] as Json, `${path}.${name}`, undetermined);
      if (shared !== undefined) members[name] = shared;
    }
    return members;
  }
  if (JSON.stringify(a) === JSON.stringify(b)) return a;
  const isForPeople = [a, b].every((text) => typeof text === 'string' && text.includes(' '));
  if (isForPeople) return '{detail}';
  undetermined.push(`${path || 'the body'} is ${brief(a)} or ${brief(b)}`);
  return undefined;
}

/**
 * True if a template that names one field also produces the reply with several fields: parts that
 * name a field are repeated for each.
 */
export function coversFields(template: Json, actual: Json, fields: readonly string[]): boolean {
  if (isList(template)) {
    const [only] = template;
    const isRepeated = template.length === 1 && JSON.stringify(only).includes('{field}');
    const wanted = isRepeated ? fields.map(() => only as Json) : template;
    return (
      isList(actual) &&
      wanted.length === actual.length &&
      wanted.every((item, n) => coversFields(item, actual[n] as Json, fields))
    );
  }
  if (!isObject(template)) return !isObject(actual) && !isList(actual);
  // A name with a field is repeated for each; its value then names that field alone.
  const wanted = Object.entries(template).flatMap(([name, item]) =>
    name.includes('{field}')
      ? fields.map((field) => ({ name: name.replace('{field}', field), item, named: [field] }))
      : [{ name, item, named: fields }],
  );
  const names = wanted.map(({ name }) => name);
  return (
    isObject(actual) &&
    names.toSorted().join() === Object.keys(actual).toSorted().join() &&
    wanted.every(({ name, item, named }) => coversFields(item as Json, actual[name] as Json, named))
  );
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function brief(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
