/**
 * The kill matrix passes only if each defect is caught, or survives for the reason that it states.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { allCases } from '#conformance/cases/all.ts';
import { defects } from '../defects/catalogue.ts';
import { type Kill, rowOf, type Tried, untestedCases, verdictOf } from './kill.ts';

const kill: Kill = {
  caughtBy: [],
  elsewhere: [],
  verdicts: [],
  tookMs: 1,
};
const plain = { name: 'one', rule: 'SEND-4', does: 'something' };
const unseen = { ...plain, unseen: 'it shows a day later' };
const dies = { ...kill, caughtBy: ['SEND-4/replay-is-identical'] };

test.each<[string, Tried, string, string]>([
  ['a defect that dies', { defect: plain, kill: dies }, 'caught', 'caught'],
  ['a survivor without a reason', { defect: plain, kill }, 'ALIVE', 'ALIVE'],
  ['a survivor with a reason', { defect: unseen, kill }, 'unseen', 'ALIVE'],
  ['a defect with a reason that dies', { defect: unseen, kill: dies }, 'SEEN', 'caught'],
  ['a run that failed', { defect: unseen, error: 'its process ended' }, 'ALIVE', 'ALIVE'],
  [
    'a defect that only other rules show',
    { defect: plain, kill: { ...kill, elsewhere: ['SEND-3/any-text'] } },
    'ELSEWHERE',
    'ELSEWHERE',
  ],
])('%s is shown as such, without a control port and with one', (_, tried, without, withControl) => {
  expect(verdictOf(tried, false)).toBe(without);
  expect(verdictOf(tried, true)).toBe(withControl);
});

test('a survivor is printed with the reason of its entry', () => {
  expect(rowOf({ defect: unseen, kill }, false)).toMatch(/unseen .*it shows a day later$/);
});

test('a case that no defect of its rule fails is named, if all of them were tried', () => {
  const ofRule = defects.filter(({ rule }) => rule === 'RES-2');
  const [one, ...others] = ofRule.map((defect): Tried => ({ defect, kill }));
  expect(untestedCases(one === undefined ? [] : [one, ...others])).toEqual(
    allCases.filter(({ subject }) => subject === 'RES-2').map(({ id }) => id),
  );
  const [first = ''] = untestedCases(ofRule.map((defect) => ({ defect, kill })));
  const failing = { ...kill, caughtBy: [first] };
  const found = untestedCases(ofRule.map((defect) => ({ defect, kill: failing })));
  expect([found.includes(first), untestedCases(others)]).toEqual([false, []]);
});

const page = readFileSync(new URL('../../docs/conformance.md', import.meta.url), 'utf8');
const unseenDefects = defects.filter((one) => one.unseen !== undefined);

test('docs/conformance.md states how many defects each matrix catches', () => {
  const [all, hidden] = [defects.length, unseenDefects.length];
  expect(page).toContain(`each of the ${all} defects`);
  expect(page).toMatch(new RegExp(`\\| with a control port \\|[^|]*\\| ${all} \\| 0 \\|`));
  expect(page).toMatch(
    new RegExp(`\\| without a control port \\|[^|]*\\| ${all - hidden} \\| ${hidden} \\|`),
  );
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
