/**
 * Reduces the declarations of the operations to what the page needs (`page/field.ts`). Runs when
 * the page is built, so that the page holds no schemas. It converts them to JSON Schema first, in
 * which the kind of a value is easier to read.
 */
import { z } from 'zod';
import type { Operation } from '#src/operations/define.ts';
import { operations } from '#src/operations/table.ts';
import type { DeclaredOperation, Field } from '../field.ts';

type Json = z.core.JSONSchema.JSONSchema;
type Shape = Omit<Field, 'name'>;

export function declaredOperations(): Readonly<Record<string, DeclaredOperation>> {
  return Object.fromEntries(operations.map((each) => [each.name, declaredOperation(each)]));
}

function declaredOperation(operation: Operation): DeclaredOperation {
  const { verb, path, recorded, input, output } = operation;
  return {
    route: `${verb} ${path}`,
    ...(recorded !== false && { isRecorded: true }),
    ...(input !== undefined && { input: fieldsOfSchema(input, 'input') }),
    ...(output !== undefined && {
      output: rowFields(fieldsOfSchema(output, 'output')).map(asColumn),
    }),
  };
}

/** The fields of an object; a schema of another kind is one field without a name. */
function fieldsOfSchema(schema: z.ZodType, io: 'input' | 'output'): readonly Field[] {
  const json = z.toJSONSchema(schema, { io, unrepresentable: 'any', metadata: new WithoutIds() });
  const root = namelessField(json as Json);
  return root.kind === 'object' ? (root.fields ?? []) : [root];
}

/** A column needs no ranges or choices, because it only shows values. */
function asColumn({ name, kind, title, hint }: Field): Field {
  return { name, kind, ...(title && { title }), ...(hint && { hint }) };
}

/** If the only field of the output is a list: the fields of its elements. Otherwise its own. */
function rowFields(fields: readonly Field[]): readonly Field[] {
  const [first] = fields;
  return (fields.length === 1 && first?.item?.fields) || fields;
}

/** The global registry without ids: JSON Schema then repeats a nested schema, without references. */
class WithoutIds extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  override get<S extends z.core.$ZodType>(schema: S) {
    const { id: _, ...texts } = z.globalRegistry.get(schema) ?? {};
    return texts as z.core.$replace<z.core.GlobalMeta, S>;
  }
}

/** The field of a root, an element or an alternative: it is required unless it has a default. */
function namelessField(schema: Json): Field {
  return fieldOf('', schema, true);
}

function fieldOf(name: string, schema: Json, isRequired: boolean): Field {
  const { json, isNullable } = withoutNull(schema);
  const { title, description = schema.description } = json;
  return {
    name,
    ...shapeOf(json),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { hint: description }),
    ...(isRequired && !('default' in schema) && { isRequired }),
    ...(isNullable && { isNullable }),
  };
}

/** Removes null from the alternatives of a schema. A single one left replaces the choice. */
function withoutNull(json: Json): { json: Json; isNullable: boolean } {
  const { anyOf = [], ...others } = json;
  const alternatives = (anyOf as Json[]).filter(({ type }) => type !== 'null');
  const isNullable = alternatives.length < anyOf.length;
  const [single] = alternatives;
  if (single === undefined || alternatives.length > 1)
    return { json: isNullable ? { ...others, anyOf: alternatives } : json, isNullable };
  const inner = withoutNull({ ...single, ...others });
  return { json: inner.json, isNullable: isNullable || inner.isNullable };
}

/** The kind of a field and what depends on it: choices, ranges, nested fields. */
function shapeOf(json: Json): Shape {
  const alternatives = (json.anyOf ?? json.oneOf ?? []) as Json[];
  if (alternatives.length > 0) return shapeOfAlternatives(alternatives);
  if (json.const !== undefined) return { kind: 'text', only: json.const };
  if (json.enum !== undefined) return { kind: 'choice', words: json.enum.map(String) };
  switch (json.type) {
    case 'boolean':
      return { kind: 'truth' };
    case 'integer':
    case 'number':
      return numberShape(json);
    case 'array':
      return { kind: 'list', item: namelessField((json.items || {}) as Json) };
    case 'object':
      return objectShape(json);
    case 'string':
      return { kind: textKind(json) };
    default:
      return { kind: json.type === undefined ? 'json' : 'text' };
  }
}

function numberShape({ type, minimum, maximum = Number.MAX_SAFE_INTEGER }: Json): Shape {
  return {
    kind: 'number',
    isWhole: type === 'integer',
    ...(minimum !== undefined && { least: minimum }),
    ...(maximum < Number.MAX_SAFE_INTEGER && { most: maximum }),
  };
}

function objectShape(json: Json): Shape {
  const { properties, required = [] } = json;
  if (properties === undefined) return { kind: 'pairs' };
  return {
    kind: 'object',
    fields: Object.entries(properties).map(([name, property]) =>
      fieldOf(name, property as Json, required.includes(name)),
    ),
  };
}

function textKind({ format, pattern = '' }: Json): Field['kind'] {
  if (format === 'uuid') return 'id';
  if (format === 'date-time') return 'time';
  return pattern.startsWith('^\\+') ? 'phone' : 'text';
}

/**
 * If all are objects, they become variants; if all are fixed texts, a choice. Otherwise, of two
 * alternatives the first that is not a fixed text gives the shape, and fixed texts become its
 * `words`. More than two are typed as JSON.
 */
function shapeOfAlternatives(alternatives: readonly Json[]): Shape {
  const fields = alternatives.map((json) => namelessField(json));
  if (fields.every(({ kind }) => kind === 'object')) {
    return {
      kind: 'variants',
      fields: fields.map((variant) => ({ ...variant, ...nameOfVariant(variant) })),
    };
  }
  const choices = fields.flatMap(
    (field) => field.words ?? (isFixedText(field) ? [field.only] : []),
  );
  const nonChoice = fields.find((field) => field.kind !== 'choice' && !isFixedText(field));
  if (nonChoice === undefined) return { kind: 'choice', words: choices };
  const withWords = choices.length > 0 && { words: choices };
  if (fields.length > 2) return { kind: 'json', ...withWords };
  // The field with the alternatives has a name and `isRequired` of its own.
  const { name: _, isRequired: __, ...shape } = nonChoice;
  return { ...shape, ...withWords };
}

/** True for an alternative that is one fixed text, such as `unlimited`. */
function isFixedText(field: Field): field is Field & { readonly only: string } {
  return typeof field.only === 'string';
}

/** Named by the title of its schema, or else its fixed value, or the name of its first field. */
function nameOfVariant({ title, hint, fields = [] }: Field): Pick<Field, 'name' | 'title'> {
  const fixedValue = fields.find(({ only }) => only !== undefined)?.only;
  const name = title ?? String(fixedValue ?? fields[0]?.name);
  return { name, title: hint === undefined ? name : `${name}: ${hint}` };
}
