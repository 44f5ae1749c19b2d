/**
 * Checks that each operation is declared once: its path is written in one source file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { servicePaths } from '#contract/service-paths.ts';
import { servedOperations } from '#src/control/documents.ts';
import { rooms } from './modules.ts';

const root = new URL('../../', import.meta.url);
const sources = [...rooms, 'bin', 'verify'].flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|tsx|js|mjs)$/.test(name) && !/\.test\.tsx?$/.test(name))
    .map((name) => ({
      name: `${folder}/${name}`,
      text: readFileSync(new URL(`${folder}/${name}`, root), 'utf8'),
    })),
);

test.each(Object.values(servicePaths))('%s is spelled in one file of src/', (path) => {
  // A comment may name it.
  const spelled = new RegExp(`['"\`}]${path.replace(/\{\w+\}/g, '[^/]+')}`);
  const inSource = sources.filter(
    ({ name, text }) => /^(src|contract|page|cli)\//.test(name) && spelled.test(text),
  );
  expect(inSource.map(({ name }) => name)).toEqual(['contract/service-paths.ts']);
});

/** Also known to the harness, which reads from this document where all else is. */
const entrance = '/control/openapi.json';

test.each([
  ...new Set(servedOperations.map(({ path }) => path).filter((path) => path !== entrance)),
])('%s stands in one source file', (path) => {
  // An id may be a parameter, or a value in a template.
  const pattern = path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '(?:\\{\\w+\\}|\\$\\{[^}]*\\})');
  const written = new RegExp(`(?<![\\w.])${pattern}(?![\\w/{-]|\\$)`);
  expect(sources.filter(({ text }) => written.test(text)).map(({ name }) => name)).toHaveLength(1);
});
