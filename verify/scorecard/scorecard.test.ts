/**
 * Compares `docs/scorecard.md` with the results of the last run, the sources of the clients, and
 * the pinned packages.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { libraries } from './catalogue.ts';
import { faults, shownRules } from './faults.ts';
import { page } from './page.ts';
import { readResults } from './results.ts';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const results = readResults();

test('the page is what its generator makes of the last results', () => {
  expect(read('../../docs/scorecard.md')).toBe(page(results));
});

test('every configuration was run under every fault', () => {
  const wanted = libraries.flatMap(({ name, configurations }) =>
    configurations.flatMap((each) => Object.keys(faults).map((fault) => [name, each, fault])),
  );
  expect(results.scores.map((one) => [one.library, one.configuration, one.fault])).toEqual(wanted);
});

test('each shown rule is kept by some client, and these five are broken by some', () => {
  const verdicts = results.scores.flatMap((score) => Object.entries(score.verdicts));
  const ids = [...shownRules.keys()];
  const withVerdict = (isWanted: (verdict: string) => boolean) =>
    ids.filter((id) => verdicts.some(([rule, verdict]) => rule === id && isWanted(verdict)));
  expect(withVerdict((verdict) => verdict === 'passed')).toEqual(ids);
  expect(withVerdict((verdict) => verdict !== 'passed')).toEqual([
    'CLIENT-1',
    'CLIENT-2',
    'CLIENT-4',
    'CLIENT-5',
    'CLIENT-10',
  ]);
});

test('the versions of npm packages are those that the lockfile pins', () => {
  const { packages } = JSON.parse(read('../../package-lock.json'));
  const npm = libraries
    .filter(({ language }) => language === 'Node')
    .flatMap((library) => library.packages);
  expect(npm).toContain('axios-retry');
  for (const name of npm) {
    expect(results.versions[name], name).toBe(packages[`node_modules/${name}`].version);
  }
});
