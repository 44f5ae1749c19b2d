/** Checks that each operation is declared once: its path is written in one source file. */
import { expect, test } from 'vitest';
import { servicePaths } from '#contract/routes.ts';
import { servedOperations } from '#src/control/documents.ts';
import { scans } from './modules.ts';

const sources = scans.everything.filter(({ isTest }) => !isTest);

test.each(Object.values(servicePaths))('%s is spelled in one file, the harness apart', (path) => {
  // A comment may name it.
  const spelled = new RegExp(`['"\`}]${path.replace(/\{\w+\}/g, '[^/]+')}`);
  const inSource = sources.filter(
    ({ path: name, text }) => !/^(?:bench|conformance|verify)\//.test(name) && spelled.test(text),
  );
  expect(inSource.map(({ path: name }) => name)).toEqual(['contract/routes.ts']);
});

/** The path that the harness knows too: this document says where all else is. */
const entrance = '/control/openapi.json';

test.each([
  ...new Set(servedOperations.map(({ path }) => path).filter((path) => path !== entrance)),
])('%s stands in one source file', (path) => {
  // An id may be a parameter, or a value in a template.
  const pattern = path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '(?:\\{\\w+\\}|\\$\\{[^}]*\\})');
  const written = new RegExp(`(?<![\\w.])${pattern}(?![\\w/{-]|\\$)`);
  expect(
    sources.filter(({ text }) => written.test(text)).map(({ path: name }) => name),
  ).toHaveLength(1);
});
