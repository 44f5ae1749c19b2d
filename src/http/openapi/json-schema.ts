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

/** What a document holds under `components.schemas`. */
export type Schemas = Record<string, Json>;

/**
 * A reference to a component, which is added. Schemas with an `id` of their own, at any depth, keep
 * it as their name; as an input, where defaults are not yet filled in, they are components of their
 * own.
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

/** zod states the safe-integer bounds on every integer; they are noise, so they are removed. */
function leaveOutSafeBounds(schema: { minimum?: number; maximum?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}

/**
 * Common generators do not know `prefixItems`: a tuple is an array of so many items of any of its
 * types.
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
