/**
 * Fills in a template: JSON whose texts contain placeholders such as `{code}`. It knows nothing of
 * worlds or errors; `templated-replies.ts` chooses the template and its values.
 */
import type { ApiReply, Json, ReplyTemplate } from '#contract/request-and-reply.ts';
import type { FieldFailure } from '../../sim/errors.ts';
import { mentions, placeholder } from '../../sim/reply-templates.ts';

/** The values of placeholders, by name. */
export type Values = Readonly<Record<string, unknown>>;

/** A value that is already JSON text, such as the list of `{items}`. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  /** For a placeholder within a longer text, or in a template that is not JSON. */
  toString(): string {
    return this.text;
  }
}

/** The failing fields within a repeated part: there, they are filled in already. */
const noFailures: readonly FieldFailure[] = [];

/** Fills in a template. Its body wins over its text; what it leaves out stays as in `reply`. */
export function fillTemplate(
  reply: ApiReply,
  template: ReplyTemplate,
  values: Values,
  failures = noFailures,
): ApiReply {
  const text = template.text === undefined ? reply.body : fillText(template.text, values);
  const body = template.body === undefined ? text : fillBody(template.body, values, failures);
  const headers = headersOf(reply, template, values);
  return {
    ...reply,
    status: template.status ?? reply.status,
    body,
    ...(headers !== undefined && { headers }),
  };
}

function headersOf(
  reply: ApiReply,
  template: ReplyTemplate,
  values: Values,
): ApiReply['headers'] | undefined {
  if (template.headers === undefined) return undefined;
  const headers: Record<string, string> = { ...reply.headers };
  for (const [name, value] of Object.entries(template.headers)) {
    if (value === null) delete headers[name];
    else headers[name] = fillText(value, values);
  }
  return headers;
}

/**
 * The filled template as JSON text. A text that is exactly one placeholder becomes its value, of
 * any type. Two parts are repeated for each failing field: a member of an object whose name has the
 * placeholder `{field}`, and the only entry of a list if it has that placeholder. `failures`: the
 * failing fields that are not filled in yet.
 */
export function fillBody(template: Json, values: Values, failures = noFailures): string {
  if (typeof template === 'string') return jsonOf(filledValue(template, values));
  if (Array.isArray(template)) return fillList(template, values, failures);
  if (typeof template !== 'object' || template === null) return JSON.stringify(template);
  // Built as text: an object literal would lose a field called __proto__.
  const members = Object.entries(template).flatMap(([name, value]) =>
    failures.length > 0 && mentions(name, 'field')
      ? failures.map((failure) => member(name, value, { ...values, ...failure }, noFailures))
      : [member(name, value, values, failures)],
  );
  return `{${members.join(',')}}`;
}

function fillList(
  template: readonly Json[],
  values: Values,
  failures: readonly FieldFailure[],
): string {
  const isRepeated = template.length === 1 && failures.length > 0 && mentions(template, 'field');
  const items = isRepeated
    ? failures.flatMap((failure) =>
        template.map((item) => fillBody(item, { ...values, ...failure }, noFailures)),
      )
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

/** Replaces the placeholders that have a value; others stay as they are. */
function fillText(template: string, values: Values): string {
  return template.replaceAll(placeholder, (unchanged, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : unchanged,
  );
}

/** Finds a text that is exactly one placeholder. */
const onePlaceholder = new RegExp(`^${placeholder.source}$`);

function filledValue(template: string, values: Values): unknown {
  const name = onePlaceholder.exec(template)?.[1];
  return name !== undefined && Object.hasOwn(values, name)
    ? values[name]
    : fillText(template, values);
}

function jsonOf(value: unknown): string {
  return value instanceof RawJson ? value.text : JSON.stringify(value ?? null);
}
