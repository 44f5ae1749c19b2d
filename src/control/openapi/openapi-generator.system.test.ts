/**
 * orval, a common generator, makes zod schemas and a client from both documents without a warning;
 * the result compiles and accepts the examples.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import type { z } from 'zod';
import { DescribedService } from '#verify/testkit/openapi-fixture.ts';
import { takesQuery } from '../../operations/define.ts';
import { servedOperations } from '../documents.ts';
import { controlDocument } from './control-document.ts';

/**
 * What this file uses of orval, which is imported without its types: through them the compiler
 * would read 500 files more.
 */
interface Orval {
  generate(options: {
    input: { target: string };
    output: { target: string; client: 'zod' | 'fetch'; mode: 'single' };
  }): Promise<unknown>;
}
const orval = 'orval';
const { generate } = (await import(orval)) as Orval;

const root = fileURLToPath(new URL('../../../', import.meta.url));
// In the project, where the generated imports are found.
const folder = mkdtempSync(join(root, 'node_modules', '.generated-'));
afterAll(() => rmSync(folder, { recursive: true }));

const documents = {
  service: new DescribedService().document,
  control: controlDocument(servedOperations),
};

test.each(['service', 'control'] as const)(
  'orval makes zod schemas and a client of the document of the %s that compile',
  async (name) => {
    const said: unknown[] = [];
    for (const method of ['warn', 'error'] as const)
      vi.spyOn(console, method).mockImplementation((...words) => void said.push(words));
    const document = join(folder, `${name}.json`);
    writeFileSync(document, JSON.stringify(documents[name]));
    const files = ['zod', 'fetch'].map((client) => join(folder, `${name}-${client}.ts`));
    for (const [at, client] of (['zod', 'fetch'] as const).entries()) {
      const target = files[at] ?? '';
      await generate({ input: { target: document }, output: { target, client, mode: 'single' } });
    }
    vi.restoreAllMocks();
    expect(said).toEqual([]);
    const flags = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
    ];
    const tsc = join(root, 'node_modules/.bin/tsc');
    execFileSync(tsc, [...flags, '--target', 'es2022', '--lib', 'es2023,dom', ...files]);
    expect(readFileSync(files[0] ?? '', 'utf8')).toContain('zod.object(');
  },
);

test('what orval makes of an input accepts its examples', async () => {
  const made = (await import(join(folder, 'control-zod.ts'))) as Record<string, z.ZodType>;
  for (const operation of servedOperations.filter((each) => !takesQuery(each))) {
    const camel = operation.name.replace(/\.(\w)/g, (_, letter: string) => letter.toUpperCase());
    for (const example of operation.examples)
      expect(made[`${camel}Body`]?.safeParse(example).error?.issues).toBeUndefined();
  }
});
