import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { assumptionLedger, assumptionNames } from '../sim/assumptions.ts';
import { worldJsonSchema, worldJsonSchemaFile } from './world-json-schema.ts';

test('world.schema.json equals the zod schema (npx tsx src/config/world-json-schema.ts)', () => {
  expect(readFileSync(worldJsonSchemaFile, 'utf8')).toBe(worldJsonSchema());
});

test('docs/assumptions.md has a section for each assumption that lists every answer', () => {
  const text = readFileSync(new URL('../../docs/assumptions.md', import.meta.url), 'utf8');
  const sections = new Map(
    text.split('\n### ').map((section) => [section.split('\n', 1)[0] ?? '', section] as const),
  );
  for (const name of assumptionNames) {
    const section = sections.get(name);
    expect(section, `a section for ${name}`).toBeDefined();
    for (const answer of assumptionLedger[name].answers) expect(section).toContain(`\`${answer}\``);
    expect(section).toContain('\nWhy');
  }
  expect(sections.size - 1).toBe(assumptionNames.length);
});
