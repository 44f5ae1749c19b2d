/**
 * Fills in a template of a reply: JSON whose texts contain placeholders such as `{code}`.
 * A text that is exactly one placeholder becomes its value, whatever its type. A part that contains
 * the placeholder `{field}`, a member of an object or the entry of a list of one, is repeated for
 * each field of the request that failed. Assumes: replyTemplates.
 */
import type { Json } from '#contract/reply-template.ts';
import type { FieldFailure } from '../../sim/errors.ts';
import { mentions } from '../../sim/reply-templates.ts';

/** The values of placeholders, by name. */
export type Values = Readonly<Record<string, unknown>>;

/** A value that is already JSON text, such as the list of `{items}`. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** The template as JSON text. `failures`: the failing fields that are not filled in yet. */
export function fillBody(
  template: Json,
  values: Values,
  failures: readonly FieldFailure[] = [],
): string {
  if (typeof template === 'string') return jsonOf(filledValue(template, values));
  if (isList(template)) return fillList(template, values, failures);
  if (typeof template !== 'object' || template === null) return JSON.stringify(template);
  // Built as text: an object literal would lose a field called __proto__.
  const members = Object.entries(template).flatMap(([name, value]) =>
    failures.length > 0 && mentions(name, 'field')
      ? failures.map((failure) => member(name, value, { ...values, ...failure }, []))
      : [member(name, value, values, failures)],
  );
  return `{${members.join(',')}}`;
}

function isList(template: Json): template is readonly Json[] {
  return Array.isArray(template);
}

function fillList(
  template: readonly Json[],
  values: Values,
  failures: readonly FieldFailure[],
): string {
  const [onlyItem] = template;
  const isRepeated = template.length === 1 && failures.length > 0 && mentions(onlyItem, 'field');
  const items = isRepeated
    ? failures.map((failure) => fillBody(onlyItem as Json, { ...values, ...failure }))
    : template.map((item) => fillBody(item, values, failures));
  return `[${items.join(',')}]`;
}

function member(
  name: string,
  value: Json,
  values: Values,
  failures: readonly FieldFailure[],
): string {
  return `${JSON.stringify(fillText(name, values))}:${fillBody(value, values, failures)}`;
}

const placeholder = /\{([a-z_]+)\}/g;

/** Replaces the placeholders that have a value; others stay as they are. */
export function fillText(template: string, values: Values): string {
  return template.replaceAll(placeholder, (unchanged, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : unchanged,
  );
}

function filledValue(template: string, values: Values): unknown {
  const name = /^\{([a-z_]+)\}$/.exec(template)?.[1];
  return name !== undefined && Object.hasOwn(values, name)
    ? values[name]
    : fillText(template, values);
}

function jsonOf(value: unknown): string {
  return value instanceof RawJson ? value.text : JSON.stringify(value);
}
