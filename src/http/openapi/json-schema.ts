/**
 * From zod to what an OpenAPI document holds: the one place that both documents, the service's and the
 * control port's, take their schemas from.
 */
import { z } from 'zod';

export type Json = Readonly<Record<string, unknown>>;

/** `input`: what a caller may send, before defaults; `output`: what a reply holds. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => leaveOutSafeBounds(jsonSchema),
  });
  return json;
}

export function jsonContent(schema: Json, more: Json = {}): Json {
  return { content: { 'application/json': { schema, ...more } } };
}

export function componentRef(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

/** Every integer of zod's is a safe one; saying so is noise. */
function leaveOutSafeBounds(schema: { minimum?: number; maximum?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
