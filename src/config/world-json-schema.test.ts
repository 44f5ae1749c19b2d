import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { worldJsonSchema, worldJsonSchemaFile } from './world-json-schema.ts';

test('world.schema.json equals the zod schema (npx tsx src/config/world-json-schema.ts)', () => {
  expect(readFileSync(worldJsonSchemaFile, 'utf8')).toBe(worldJsonSchema());
});
