/**
 * Converts zod schemas to OpenAPI schemas, for the documents of the service and the control port.
 */
import { z } from 'zod';

export type Json = Readonly<Record<string, unknown>>;

/** `input`: what a caller may send, before defaults. `output`: the content of a reply. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      leaveOutSafeBounds(jsonSchema);
      withoutPrefixItems(jsonSchema);
    },
  });
  return json;
}

/** The content of `components.schemas`. */
export type Schemas = Record<string, Json>;

/**
 * A reference to a component, which this adds. Schemas with an `id`, at any depth, are named by it.
 * Input schemas become components of their own, because their defaults are not filled in yet.
 */
export function namedSchemaOf(
  name: string,
  schema: z.ZodType,
  io: 'input' | 'output',
  schemas: Schemas,
): Json {
  const nameOf = (id: string) => (io === 'input' ? `${id}Input` : id);
  const text = JSON.stringify(schemaOf(schema, io)).replace(
    /"#\/\$defs\/(\w+)"/g,
    (_, id: string) => `"#/components/schemas/${nameOf(id)}"`,
  );
  const { $defs = {}, ...root } = JSON.parse(text) as { $defs?: Schemas };
  for (const [id, definition] of Object.entries($defs)) schemas[nameOf(id)] = definition;
  if ('$ref' in root) return root;
  schemas[name] = root;
  return componentRef(name);
}

export function jsonContent(schema: Json, more: Json = {}): Json {
  return { content: { 'application/json': { schema, ...more } } };
}

export function componentRef(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

/** Removes the safe-integer bounds, which zod states on every integer. */
function leaveOutSafeBounds(schema: { minimum?: number; maximum?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}

/**
 * Common generators do not know `prefixItems`: a tuple becomes an array of fixed length with items
 * of any of its types.
 */
function withoutPrefixItems(schema: z.core.JSONSchema.BaseSchema): void {
  const { prefixItems } = schema;
  if (prefixItems === undefined) return;
  delete schema.prefixItems;
  const kinds = [...new Map(prefixItems.map((item) => [JSON.stringify(item), item])).values()];
  const [only] = kinds;
  schema.items =
    kinds.length === 1 && only !== undefined
      ? only
      : ({ anyOf: kinds } as z.core.JSONSchema.JSONSchema);
  schema.minItems = prefixItems.length;
  schema.maxItems = prefixItems.length;
}
