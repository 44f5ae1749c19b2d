/**
 * Generates `world.schema.json`, the JSON Schema of a world file for editors and generators.
 * `npx tsx src/config/world-json-schema.ts` writes it; a test compares it with the zod schema.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { worldSchema } from './world-schema.ts';

export const worldJsonSchemaFile = new URL('../../world.schema.json', import.meta.url);

export function worldJsonSchema(): string {
  const schema = z.toJSONSchema(worldSchema, { io: 'input' });
  const titled = { $schema: schema.$schema, title: 'A world file of smstwin', ...schema };
  return `${JSON.stringify(titled, null, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(worldJsonSchemaFile, worldJsonSchema());
}
