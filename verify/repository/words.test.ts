/** Compares the words of the code with the glossary of `docs/architecture.md`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { code, root } from './modules.ts';

const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
const [, glossary = ''] = page.split('## Words');
const rows = [...(glossary.split('## ')[0] ?? '').matchAll(/^\| (.+) \| (.+) \| ?(.*) \|$/gm)]
  .map(([, word = '', means = '', not = '']) => ({ word, means, not }))
  .filter(({ word }) => word !== 'word');

test('the glossary has at most 40 rows, each with a meaning', () => {
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.length).toBeLessThanOrEqual(40);
});

/** The names that a module exports. */
function exportsOf(text: string): string[] {
  const declared = text.matchAll(
    /^export (?:abstract )?(?:async )?(?:function\*?|class|const|interface|type) (\w+)/gm,
  );
  return [...declared].map(([, name = '']) => name);
}

/** The single words that the glossary refuses; a phrase needs its context. */
const refused = rows.flatMap(({ not }) => not.split(', ')).filter((word) => /^\w+$/.test(word));

test('no exported name uses a word that the glossary refuses', () => {
  const wordsOf = (name: string) => name.split(/(?=[A-Z])/).map((word) => word.toLowerCase());
  const found = code.flatMap(({ path, text }) =>
    exportsOf(text)
      .filter((name) => wordsOf(name).some((word) => refused.includes(word)))
      .map((name) => `${path}: ${name}`),
  );
  expect(refused).toContain('tenant');
  expect(found).toEqual([]);
});
