import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientRules } from '#contract/rules.ts';

test('the ledger of client rules is the table of docs/rules.md, word for word', () => {
  const page = readFileSync(new URL('../../docs/rules.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (CLIENT-\d+) \| (must|should) \| (.+) \|$/gm)];
  expect(rows.map(([, id, level, sentence]) => ({ id, level, sentence }))).toEqual(clientRules);
});
