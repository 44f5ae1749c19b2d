/**
 * Runs two of the scorecard's clients, one in each language, and compares the results with the
 * page.
 */
import { expect, test } from 'vitest';
import { libraries } from './catalogue.ts';
import { readResults } from './results.ts';
import { runAll } from './run.ts';

test('a run finds of p-retry and of urllib3 what the page says', { timeout: 600_000 }, async () => {
  const chosen = libraries.filter(({ name }) => ['p-retry', 'urllib3 Retry'].includes(name));
  const expected = readResults().scores.filter(({ library }) =>
    chosen.some(({ name }) => name === library),
  );
  expect(expected).toHaveLength(2 * 2 * 7);
  expect(await runAll(chosen)).toEqual(expected);
});
