/** Converts zod schemas to the JSON Schemas of both OpenAPI documents. */
import { z } from 'zod';

export type Json = Readonly<Record<string, unknown>>;

/** `input`: a body that a caller sends, before defaults are filled in. `output`: a reply. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      removeSafeBounds(jsonSchema);
      replacePrefixItems(jsonSchema);
    },
  });
  return json;
}

/** The `components.schemas` of a document, by name. */
export type Schemas = Record<string, Json>;

/**
 * Adds the schema to the components as `name` and returns a reference to it. Inner schemas with an
 * `id` become components of that name, with the suffix `Input` for inputs: the same schema differs
 * there, because fields with defaults are optional.
 */
export function namedSchemaOf(
  name: string,
  schema: z.ZodType,
  io: 'input' | 'output',
  schemas: Schemas,
): Json {
  const componentName = (id: string) => (io === 'input' ? `${id}Input` : id);
  const text = JSON.stringify(schemaOf(schema, io)).replace(
    /"#\/\$defs\/(\w+)"/g,
    (_, id: string) => `"#/components/schemas/${componentName(id)}"`,
  );
  const { $defs = {}, ...root } = JSON.parse(text) as { $defs?: Schemas };
  for (const [id, definition] of Object.entries($defs)) schemas[componentName(id)] = definition;
  if ('$ref' in root) return root;
  schemas[name] = root;
  return componentRef(name);
}

/** The content of a body or reply; `more` adds members such as examples. */
export function jsonContent(schema: Json, more: Json = {}): Json {
  return { content: { 'application/json': { schema, ...more } } };
}

export function componentRef(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

/** Removes the safe-integer bounds, which zod states on every integer. */
function removeSafeBounds(schema: { minimum?: number; maximum?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}

/**
 * Turns a tuple into an array of the same length whose items have any of its types: common
 * generators of clients do not know `prefixItems`.
 */
function replacePrefixItems(schema: z.core.JSONSchema.BaseSchema): void {
  const { prefixItems } = schema;
  if (prefixItems === undefined) return;
  delete schema.prefixItems;
  const types = [...new Map(prefixItems.map((item) => [JSON.stringify(item), item])).values()];
  const [first] = types;
  schema.items =
    types.length === 1 && first !== undefined
      ? first
      : ({ anyOf: types } as z.core.JSONSchema.JSONSchema);
  schema.minItems = prefixItems.length;
  schema.maxItems = prefixItems.length;
}
