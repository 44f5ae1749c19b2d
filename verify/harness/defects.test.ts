/** The harness against a wrong server; `defects.system.test.ts` runs it against all of them. */
import { expect, test } from 'vitest';
import { rules } from '#contract/rules.ts';
import { defects, wrongSimulation } from '../defects/catalogue.ts';
import { tryDefect } from './kill.ts';

test('every defect has a name of its own', () => {
  const names = defects.map(({ name }) => name);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});

test('every rule of the document has a defect that breaks it', () => {
  const broken = new Set<string>(defects.map(({ rule }) => rule));
  expect(rules.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([]);
});

test('a name that no defect has makes no simulation', () => {
  expect(wrongSimulation('toString')).toBeUndefined();
  expect(wrongSimulation('limit-118')).toBeUndefined();
});

test('a defect is caught by a case of the rule that it breaks', async () => {
  const defect = defects.find(({ name }) => name === 'length-in-bytes') ?? expect.fail();
  const kill = await tryDefect(defect);
  expect(kill.caughtBy, kill.verdicts.join('\n')).not.toEqual([]);
});
