/**
 * The operations as the page needs them, from their declarations: verb, path, and the fields of
 * input and output. Made when the page is built, so that the page holds no schemas.
 */
import { z } from 'zod';
import type { Operation } from '../operations/define.ts';
import { operations } from '../operations/table.ts';
import type { DeclaredOperation, Field } from './page/field.ts';

type Json = z.core.JSONSchema.JSONSchema;

/** `shown`: the operations whose fields the page shows. */
export function declaredOperations(
  shown: ReadonlySet<string>,
): Readonly<Record<string, DeclaredOperation>> {
  return Object.fromEntries(
    operations.map((operation) => [
      operation.name,
      {
        route: `${operation.verb} ${operation.path}`,
        ...(shown.has(operation.name) && fieldsOf(operation)),
      },
    ]),
  );
}

function fieldsOf({ input, output }: Operation): Omit<DeclaredOperation, 'route'> {
  return {
    ...(input !== undefined && { input: wholeOf(input, 'input') }),
    ...(output !== undefined && { output: rowOf(wholeOf(output, 'output')).map(asColumn) }),
  };
}

function wholeOf(schema: z.ZodType, io: 'input' | 'output'): readonly Field[] {
  const json = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json;
  const whole = fieldOf('', json, true, json.$defs ?? {});
  return whole.kind === 'object' ? (whole.fields ?? []) : [whole];
}

/** A column only shows values. */
function asColumn({ name, kind, title, hint }: Field): Field {
  return { name, kind, ...(title && { title }), ...(hint && { hint }) };
}

/** The fields of a row, if the output is a list. */
function rowOf(fields: readonly Field[]): readonly Field[] {
  const [first] = fields;
  return (fields.length === 1 && first?.item?.fields) || fields;
}

type Definitions = Readonly<Record<string, Json>>;

function fieldOf(name: string, given: Json, isRequired: boolean, all: Definitions): Field {
  const { json, isNullable } = withoutNull(resolved(given, all), all);
  const { title, description = given.description } = json;
  return {
    name,
    ...shapeOf(json, all),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { hint: description }),
    ...(isRequired && !('default' in given) && { isRequired }),
    ...(isNullable && { isNullable }),
  };
}

function resolved(json: Json, all: Definitions): Json {
  const name = json.$ref?.slice('#/$defs/'.length);
  return name === undefined ? json : { ...all[name], ...json };
}

/** The schema without the alternative null, and without a choice of one. */
function withoutNull(json: Json, all: Definitions): { json: Json; isNullable: boolean } {
  const isNull = (each: Json) => each.type === 'null';
  const { anyOf = [], ...rest } = json;
  const left = (anyOf as Json[]).map((each) => resolved(each, all)).filter((each) => !isNull(each));
  const isNullable = left.length < anyOf.length;
  if (left.length !== 1) return { json: isNullable ? { ...rest, anyOf: left } : json, isNullable };
  const inner = withoutNull({ ...(left[0] as Json), ...rest }, all);
  return { json: inner.json, isNullable: isNullable || inner.isNullable };
}

function shapeOf(json: Json, all: Definitions): Omit<Field, 'name'> {
  const alternatives = (json.anyOf ?? json.oneOf ?? []) as Json[];
  if (alternatives.length > 0) return alternativesOf(alternatives, all);
  if (json.const !== undefined) return { kind: 'text', only: json.const };
  if (json.enum !== undefined) return { kind: 'choice', words: json.enum.map(String) };
  switch (json.type) {
    case 'boolean':
      return { kind: 'truth' };
    case 'integer':
    case 'number':
      return numberOf(json);
    case 'array':
      return { kind: 'list', item: fieldOf('', (json.items ?? {}) as Json, true, all) };
    case 'object':
      return objectOf(json, all);
    case 'string':
      return { kind: textKind(json) };
    default:
      return { kind: json.type === undefined ? 'json' : 'text' };
  }
}

function numberOf({ type, minimum, maximum = Number.MAX_SAFE_INTEGER }: Json): Omit<Field, 'name'> {
  return {
    kind: 'number',
    isWhole: type === 'integer',
    ...(minimum !== undefined && { least: minimum }),
    ...(maximum < Number.MAX_SAFE_INTEGER && { most: maximum }),
  };
}

function objectOf(json: Json, all: Definitions): Omit<Field, 'name'> {
  const { properties, required = [] } = json;
  if (properties === undefined) return { kind: 'pairs' };
  return {
    kind: 'object',
    fields: Object.entries(properties).map(([name, each]) =>
      fieldOf(name, each as Json, required.includes(name), all),
    ),
  };
}

function textKind({ format, pattern = '' }: Json): Field['kind'] {
  if (format === 'uuid') return 'id';
  if (format === 'date-time') return 'time';
  return pattern.startsWith('^\\+') ? 'phone' : 'text';
}

/** Objects are variants; words beside a number or a list belong to its field. */
function alternativesOf(alternatives: readonly Json[], all: Definitions): Omit<Field, 'name'> {
  const fields = alternatives.map((each) => fieldOf('', each, true, all));
  if (fields.every(({ kind }) => kind === 'object')) {
    return {
      kind: 'variants',
      fields: fields.map((each) => ({ ...each, title: variantTitle(each) })),
    };
  }
  const words = fields.flatMap((each) => each.words ?? []);
  const main = fields.find(({ kind }) => kind !== 'choice');
  if (main === undefined) return { kind: 'choice', words };
  const { name: _, isRequired: __, ...own } = main;
  const shape = fields.length > 2 ? { kind: 'json' as const } : own;
  return words.length > 0 ? { ...shape, words } : shape;
}

/** A variant's title: its own, or the words that only it has. */
function variantTitle({ title, hint, fields = [] }: Field): string {
  const [first] = fields;
  const fixed = fields.find(({ only }) => only !== undefined)?.only;
  const own = title ?? String(fixed ?? first?.name);
  return hint === undefined ? own : `${own}: ${hint}`;
}
