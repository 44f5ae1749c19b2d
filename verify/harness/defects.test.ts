/**
 * The harness against a few wrong servers; `npm run conform:defects` runs it against all of them.
 */
import { expect, test } from 'vitest';
import { rules } from '../../src/ledger/rules.ts';
import { defects, wrongSimulation } from '../defects/catalogue.ts';
import { sample } from '../testkit/runs.ts';
import { resultsOn, tryDefect } from './kill.ts';

test('every defect has a name of its own', () => {
  expect(new Set(defects.map(({ name }) => name)).size).toBe(defects.length);
});

test('every rule of the document has a defect that breaks it', () => {
  const broken = new Set<string>(defects.map(({ rule }) => rule));
  expect(rules.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([]);
});

test('a name that no defect has makes no simulation', () => {
  expect(wrongSimulation('toString')).toBeUndefined();
  expect(wrongSimulation('limit-118')).toBeUndefined();
});

const chosen = [
  'limit-tasks-per-device',
  'unauthenticated-locks-users',
  'retry-after-rounded-down',
  'throttle-detail-other-number',
  'replay-current-status',
  'replay-lost-under-concurrency',
  'replay-kept-25-hours',
  'read-foreign-404-header',
  'right-spelling-access-denied',
  'revoked-key-works',
  'pool-refused-when-disconnected',
  'quota-counts-refusals',
  'length-in-bytes',
  'send-at-now-accepted',
  'state-revisited',
  'created-at-local',
];
test.each(sample(chosen, 4))('%s is caught by a case of the rule that it breaks', async (name) => {
  const defect = defects.find((one) => one.name === name);
  expect(defect).toBeDefined();
  const kill = await tryDefect({ name, rule: defect?.rule ?? 'SVC-1' });
  expect(kill.caughtBy, kill.verdicts.join('\n')).not.toEqual([]);
});

test('the same cases pass on the sound simulator', async () => {
  const results = await resultsOn(undefined, ['READ-2', 'SEND-4', 'AUTH-3', 'LIMIT-5', 'STATE-3']);
  expect(results.filter(({ verdict }) => verdict !== 'passed')).toEqual([]);
});
