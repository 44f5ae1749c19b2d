/**
 * Fills in a template: JSON whose texts hold placeholders becomes the text of a reply.
 * A text that is exactly one placeholder takes the type of its value. A part that names a field is
 * repeated for each failing field: a member of an object, or a list of one entry.
 * Assumes: replyTemplates.
 */

import type { Json } from '../../ledger/reply-template.ts';
import type { FieldFailure } from '../../sim/errors.ts';
import { mentions } from '../../sim/reply-templates.ts';

export type Values = Readonly<Record<string, unknown>>;

/** A value that is already JSON text, such as the list of `{items}`. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export function fillBody(
  template: Json,
  values: Values,
  failures: readonly FieldFailure[] = [],
): string {
  if (typeof template === 'string') return jsonOf(filled(template, values));
  if (isList(template)) {
    const [only] = template;
    const isRepeated = template.length === 1 && failures.length > 0 && mentions(only, 'field');
    const items = isRepeated
      ? failures.map((failure) => fillBody(only as Json, { ...values, ...failure }))
      : template.map((item) => fillBody(item, values, failures));
    return `[${items.join(',')}]`;
  }
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

function member(
  name: string,
  value: Json,
  values: Values,
  failures: readonly FieldFailure[],
): string {
  return `${JSON.stringify(fillText(name, values))}:${fillBody(value, values, failures)}`;
}

const placeholder = /\{([a-z_]+)\}/g;

export function fillText(template: string, values: Values): string {
  return template.replaceAll(placeholder, (whole, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : whole,
  );
}

function filled(template: string, values: Values): unknown {
  const name = /^\{([a-z_]+)\}$/.exec(template)?.[1];
  return name !== undefined && Object.hasOwn(values, name)
    ? values[name]
    : fillText(template, values);
}

function jsonOf(value: unknown): string {
  return value instanceof RawJson ? value.text : JSON.stringify(value);
}
