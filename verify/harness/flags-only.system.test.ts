/**
 * The harness with flags alone: what it spends, that it alarms falsely on no sound service, and
 * what it catches.
 */
import { expect, test } from 'vitest';
import { wrongSimulation } from '../../src/defects/all.ts';
import { runWithFlags } from './flags-only.ts';

const estimates = /Sends: about (\d+)[\s\S]*Minutes: about ([\d.]+)/;

test('a sound service ends with exit 0, within 700 sends and four minutes, as the dry run said', async () => {
  const dry = await runWithFlags(['--dry-run']);
  const [, sends, minutes] = (estimates.exec(dry.out) ?? []).map(Number);
  const full = await runWithFlags([]);
  expect(full.code, full.out).toBe(0);
  expect(full.report.sends).toBeLessThanOrEqual(700);
  expect(full.seconds).toBeLessThanOrEqual(240);
  const within = (actual: number, expected = 0) => Math.abs(actual - expected) / actual;
  expect(within(full.report.sends, sends)).toBeLessThan(0.1);
  expect(within(full.seconds / 60, minutes)).toBeLessThan(0.15);
}, 240_000);

test('--profile budget sends less than 60, and names every case that it leaves out', async () => {
  const { code, report, out } = await runWithFlags(['--profile', 'budget']);
  expect(code, out).toBe(0);
  expect(report.sends).toBeLessThan(60);
  expect(out).toContain('LIMIT-1/120-pass: costs 127 sends, more than --profile budget allows');
}, 240_000);

test.each([
  { limiterRefill: 'continuous' },
  { limiterRefill: 'interval' },
  { limiterRefill: 'interval_aligned' },
  { refusedSpendsToken: 'yes' },
  { errorsSpendToken: 'no', unauthenticatedThrottle: 'always_401' },
  { replaySpends: 'nothing', gateOrder: 'validate_first' },
])(
  'no rule of limits fails or stays unexercised under %j',
  async (assumptions) => {
    const { report, out } = await runWithFlags(['LIMIT', 'ERR', 'AUTH-6'], {}, assumptions);
    const troubled = report.results.filter(
      ({ verdict, kind }) =>
        ['failed', 'spelling', 'error'].includes(verdict) ||
        (kind === 'rule' && verdict === 'not_exercised'),
    );
    expect(troubled, out).toEqual([]);
  },
  240_000,
);

test.each([
  ['stats-limited', 'LIMIT-6', 'LIMIT-6/stats'],
  ['limit-sends-share-a-bucket', 'LIMIT-7', 'LIMIT-7/send-leaves-the-others'],
  ['limit-shared-across-endpoints', 'LIMIT-7', 'LIMIT-7/send-leaves-the-others'],
  ['retry-after-plus-one', 'ERR-3', 'ERR-3/sufficient-and-tight-send'],
  ['retry-after-rounded-down', 'ERR-3', 'ERR-3/sufficient-and-tight-send'],
  ['read-counts-as-send', 'READ-3', 'READ-3/reads-while-sends-are-throttled'],
  ['limit-121', 'LIMIT-1', 'LIMIT-1/120-pass'],
  ['limit-tasks-per-key', 'AUTH-6', 'AUTH-6/keys-of-a-user-share-tasks'],
  ['replay-shared-across-accounts', 'SEND-4', 'SEND-4/accounts-do-not-share'],
])(
  '%s breaks %s, which fails',
  async (name, rule, id) => {
    const simulation = wrongSimulation(name);
    expect(simulation).toBeDefined();
    const { verdicts, out } = await runWithFlags([rule], { simulation });
    expect(verdicts.get(id), out).toBe('failed');
  },
  240_000,
);
