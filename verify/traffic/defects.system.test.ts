/**
 * What the traffic of a wrong server shows is failed by its rule, as by the run of the harness that
 * made the traffic: each planted defect is given away by the cases of its rule, or has a reason why
 * traffic cannot show it. `SMSTWIN_RUNS=100` tries all of them.
 */
import { expect, test } from 'vitest';
import { defects } from '../defects/catalogue.ts';
import { failures } from '../testkit/conform-run.ts';
import { sample } from '../testkit/runs.ts';
import { judge } from './judge.ts';
import { recordSimulator } from './recorded-run.ts';

/** Why traffic cannot show a defect, or shows it as the failure of another rule. */
const reasons: readonly (readonly [string, readonly string[]])[] = [
  [
    'traffic does not say which SIMs, numbers and keys an account has, nor when they change',
    [
      'unknown-number-accepted',
      'not-allowed-accepted',
      'foreign-number-accepted',
      'inactive-accepted',
      'inactive-for-good',
      'inactive-whole-account',
      'revoked-key-works',
      'key-prefix-enough',
      'key-any-case-for-tasks',
      'wrong-key-404',
      'pool-refused',
      'pool-refused-when-disconnected',
      'foreign-sim-without-own',
      'pool-sender-rewritten',
      'from-number-other-sim',
      'device-id-of-first-sim',
      'device-id-same-for-all',
      'from-last-digits',
      'new-key-revokes-others',
      'key-name-lost',
      'limit-pool-shared',
      'replay-refused-when-not-allowed',
      'replay-shared-across-accounts',
      'read-foreign-404-header',
    ],
  ],
  [
    'traffic does not say how large a quota is, nor what was spent before',
    [
      'quota-plus-one',
      'quota-minus-one',
      'quota-counts-refusals',
      'quota-never-resets',
      'quota-lost-under-concurrency',
      'quota-counts-held-twice',
      'quota-per-key',
      'replay-counts-quota',
      'replay-refused-when-quota-spent',
    ],
  ],
  [
    'a second message, or one that should not exist, shows on no reply',
    ['throttled-send-queues', 'quota-refused-queues', 'replay-creates-second-message'],
  ],
  [
    'a SIM may be disconnected, or report late',
    [
      'send-at-late',
      'send-at-absent-held',
      'read-stale-status',
      'never-delivered',
      'pickup-after-60-seconds',
      'status-every-5-seconds',
      'status-advances-per-read',
    ],
  ],
  ['clocks may be wrong by seconds', ['send-at-now-accepted']],
  [
    'an assumption permits it',
    [
      'read-forgotten-after-a-day',
      'replay-refused-after-send-at',
      'external-forgets-hold',
      'replay-window-from-send-at',
    ],
  ],
  ['all calls without a key come from one address', ['unauthenticated-spends-user']],
  ['a 500 may be a gateway’s', ['emoji-500']],
  ['it fails another rule that says the same', ['alias-only', 'alias-not-checked']],
];

const reasonOf = new Map(reasons.flatMap(([reason, of]) => of.map((name) => [name, reason])));

test('each reason is one of a defect', () => {
  const names = new Set(defects.map(({ name }) => name));
  expect([...reasonOf.keys()].filter((name) => !names.has(name))).toEqual([]);
});

test.each(sample(defects, 3))('$rule $name', async ({ name, rule }) => {
  const { exchanges, joined, report } = await recordSimulator([rule], {}, name);
  expect(failures(report.results).map(({ subject }) => subject)).toContain(rule);
  const { failed } = judge(exchanges, { isComplete: true, joined });
  const reason = reasonOf.get(name);
  expect(failed.includes(rule), reason ?? `failed: ${failed}`).toBe(reason === undefined);
});
