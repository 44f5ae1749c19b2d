/**
 * The kill matrix passes only if each defect is caught, or survives for the reason that it states.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { allCases } from '#conformance/cases/all.ts';
import { defects } from '../defects/catalogue.ts';
import { complaintOf, type Kill, rowOf, untestedCases } from './kill.ts';

const kill: Kill = { caughtBy: [], elsewhere: [], verdicts: [], tookMs: 1 };
const plain = { name: 'one', rule: 'SEND-4', does: 'something' } as const;
const unseen = { ...plain, unseen: 'it shows a day later' };
const dies = { ...kill, caughtBy: ['SEND-4/replay-is-identical'] };
const alive = 'no case of SEND-4 fails';

test.each([
  ['a defect that is caught', plain, dies, undefined, undefined],
  ['a survivor without a reason', plain, kill, alive, alive],
  ['a survivor with a reason', unseen, kill, undefined, alive],
  ['a caught defect with a reason', unseen, dies, 'seen, though "it shows a day later"', undefined],
  [
    'a defect that only other rules show',
    plain,
    { ...kill, elsewhere: ['SEND-3/any-text'] },
    `${alive}\n  SEND-3/any-text`,
    `${alive}\n  SEND-3/any-text`,
  ],
] as const)(
  '%s is judged without a control port and with one',
  (_, defect, outcome, ...expected) => {
    const complaints = [false, true].map((hasControl) => complaintOf(defect, outcome, hasControl));
    expect(complaints).toEqual(expected);
  },
);

test('a survivor is printed with the reason of its entry', () => {
  expect(rowOf(unseen, kill)).toMatch(/SEND-4 .*it shows a day later$/);
  expect(rowOf(unseen, dies)).toMatch(/SEND-4 .*replay-is-identical$/);
});

test('a case that no defect of its rule fails is named, if all of them were tried', () => {
  const ofRule = defects.filter(({ rule }) => rule === 'RES-2');
  const killsOf = (some: typeof ofRule, outcome = kill) =>
    new Map(some.map((defect) => [defect, outcome]));
  const all = allCases.filter(({ subject }) => subject === 'RES-2').map(({ id }) => id);
  expect(untestedCases(killsOf(ofRule))).toEqual(all);
  const failing = { ...kill, caughtBy: all.slice(0, 1) };
  expect(untestedCases(killsOf(ofRule, failing))).toEqual(all.slice(1));
  expect(untestedCases(killsOf(ofRule.slice(1)))).toEqual([]);
});

const page = readFileSync(new URL('../../docs/conformance.md', import.meta.url), 'utf8');
const unseenDefects = defects.filter((one) => one.unseen !== undefined);

test('docs/conformance.md states how many defects each matrix catches', () => {
  const [all, hidden] = [defects.length, unseenDefects.length];
  const stated = [
    /each of the (\d+) defects/,
    /\| with a control port \|[^|]*\| (\d+) \| (\d+) \|/,
    /\| without a control port \|[^|]*\| (\d+) \| (\d+) \|/,
  ].map((pattern) => pattern.exec(page)?.slice(1).map(Number));
  expect(stated, 'the numbers of defects in docs/conformance.md').toEqual([
    [all],
    [all, 0],
    [all - hidden, hidden],
  ]);
});

test('docs/conformance.md lists every defect that cannot be seen, by its reason', () => {
  const reasons = [...new Set(unseenDefects.map(({ unseen }) => unseen))];
  const rows = reasons.map((reason) => {
    const names = unseenDefects.filter(({ unseen }) => unseen === reason).map(({ name }) => name);
    return `| ${reason} | ${names.map((name) => `\`${name}\``).join(', ')} |`;
  });
  const table =
    page.split('| why it cannot be seen from outside | defects |\n|---|---|\n')[1] ?? '';
  expect(table.split('\n\n')[0]).toBe(rows.join('\n'));
});

test('at least 150 of the defects can be seen from outside', () => {
  expect(defects.length - unseenDefects.length).toBeGreaterThanOrEqual(150);
});
