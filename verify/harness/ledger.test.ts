/** The harness's table of rules and assumptions agrees with docs/rules.md. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { allCases } from '#conformance/cases/all.ts';
import { select } from '#conformance/run/select.ts';
import { answersOf, assumptionNames, declarationOf } from '#contract/assumptions.ts';
import { rules } from '#contract/rules.ts';
import { defects } from '../defects/catalogue.ts';

/** The service's half of the shipped page; the other half is about its clients. */
const [aboutService = ''] = readFileSync(
  new URL('../../docs/rules.md', import.meta.url),
  'utf8',
).split('## Client rules');

/** The rows of its tables, cell by cell. */
const rows = aboutService
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) =>
    line
      .slice(1, line.lastIndexOf('|'))
      .split('|')
      .map((cell) => cell.trim()),
  );

const documentedRules = rows.filter(([id = '']) => /^[A-Z]+-\d+$/.test(id));
const documentedAssumptions = rows
  .filter(([name = '']) => name.startsWith('`'))
  .flatMap(([names = '', ...rest]) =>
    names.split(',').map((name) => [name.replaceAll('`', '').trim(), ...rest]),
  );

describe('the ledger says what docs/rules.md says', () => {
  test('same rules in the same order', () => {
    expect(rules.map(({ id }) => id)).toEqual(documentedRules.map(([id]) => id));
    expect(rules).toHaveLength(43);
  });

  test.each(documentedRules)('%s', (id, sentence) => {
    expect(rules.find((rule) => rule.id === id)?.sentence).toBe(sentence);
  });

  test('same assumptions in the same order', () => {
    expect(assumptionNames).toEqual(documentedAssumptions.map(([name]) => name));
  });

  test.each(documentedAssumptions)('%s', (given = '', open, answers = '') => {
    const name = assumptionNames.find((each) => each === given);
    if (name === undefined) throw new Error(`no assumption is called ${given}`);
    expect(declarationOf(name).open).toBe(open);
    for (const answer of answersOf(name)) expect(answers).toContain(`\`${answer}\``);
  });
});

describe('nothing is left out', () => {
  test.each(rules.map(({ id }) => id))('%s has a case', (id) => {
    expect(allCases.filter(({ subject }) => subject === id).length).toBeGreaterThan(0);
  });

  test.each(assumptionNames)('%s has an observation', (name) => {
    expect(allCases.some((one) => 'run' in one && one.subject === name)).toBe(true);
  });

  test.each(rules.map(({ id }) => id))('%s has a defect that breaks it', (id) => {
    expect(defects.some(({ rule }) => rule === id)).toBe(true);
  });

  test('ids are unique and kebab-case', () => {
    const ids = allCases.map(({ id }) => id);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
    for (const one of allCases) expect(one.id).toMatch(/^[A-Za-z0-9-]+\/[a-z0-9]+(-[a-z0-9]+)*$/);
    const names = defects.map(({ name }) => name);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
  });
});

describe('selection', () => {
  test.each([
    [['SEND-4'], (subject: string) => subject === 'SEND-4'],
    [['send-4'], (subject: string) => subject === 'SEND-4'],
    [['LIMIT-*'], (subject: string) => subject.startsWith('LIMIT-')],
    [['AUTH'], (subject: string) => subject.startsWith('AUTH-')],
    [['limiterRefill'], (subject: string) => subject === 'limiterRefill'],
    [['ERR-1', 'ERR-2'], (subject: string) => subject === 'ERR-1' || subject === 'ERR-2'],
  ])('%j', (patterns, wanted) => {
    expect(select(allCases, patterns)).toEqual(allCases.filter(({ subject }) => wanted(subject)));
  });

  test('a case by its id or a part of its name', () => {
    expect(select(allCases, ['SEND-4/fifty-at-once']).map(({ id }) => id)).toEqual([
      'SEND-4/fifty-at-once',
    ]);
    expect(select(allCases, ['fifty']).map(({ id }) => id)).toEqual(['SEND-4/fifty-at-once']);
  });

  test('nothing', () => {
    expect(select(allCases, ['nonsense'])).toEqual([]);
  });
});
