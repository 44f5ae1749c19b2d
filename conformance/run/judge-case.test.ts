/** What is judged once more at the end of a run. */
import { expect, test } from 'vitest';
import { documentedLimits } from '#contract/limits.ts';
import type { Exchange } from '#judging/evidence/exchange.ts';
import type { Result } from '#judging/report/result.ts';
import { stateCases } from '../cases/state.ts';
import { RunFacts } from '../target/run-facts.ts';
import type { Target } from '../target/target.ts';
import type { Case } from './case.ts';
import { judgeAgain } from './judge-case.ts';
import { paths, Trial } from './trial.ts';

const limitCase: Case = {
  id: 'LIMIT-1/flood',
  subject: 'LIMIT-1',
  needs: [],
  sends: 'more than the limit',
  demands: 'the limit',
  spends: {},
};
const recordings = [{ fullBuckets: ['send'] }] as never;
const { signal } = new AbortController();
const trialOn = (parts: object) =>
  new Trial({
    startedAt: 0,
    underWay: new Set(),
    signal,
    timeoutMs: 120_000,
    ...parts,
  } as unknown as Target);
const caller = { account: 'own', key: 'valid', isNew: false };
const ahead = { least: 0, most: 0 };
const send = { caller, method: 'POST', endpoint: 'send', isRetried: false, ahead };

/** Sends of which so many pass, and one that is refused. */
function flood(start: number, passed: number): Exchange[] {
  return Array.from({ length: passed + 1 }, (_, i) => {
    const status = i < passed ? 202 : 429;
    const at = start + i * 20;
    const reply = { status, headers: { 'retry-after': '1' } };
    return { ...send, sentAt: at, answeredAt: at + 5, reply } as never;
  });
}

function reading(at: number, used: number): Exchange {
  const reply = { status: 200, json: { used } };
  const more = { caller, method: 'GET', endpoint: 'stats', isRetried: false, reply };
  return { ...more, sentAt: at, answeredAt: at + 5 } as never;
}

test.each([
  ['shows the messages of others only later', 40, limitCase, 'skipped'],
  // `--timeout` allows the flood, so the rule was asked for.
  ['shows them, with time for a flood', 40, { ...limitCase, recordings }, 'not_exercised'],
  ['shows no messages of others', 0, limitCase, 'failed'],
])('LIMIT-1 a token bucket that seemed too small: an account that %s', (_, ...given) => {
  const [others, ruleCase, verdict] = given;
  const floods = [...flood(120_000, documentedLimits.send + 1), ...flood(190_000, 30)];
  const sent = documentedLimits.send + 31;
  const log = [reading(119_000, 0), ...floods, reading(195_000, sent)];
  const client = { masks: { clean: String } };
  const trial = trialOn({ log, client });
  trial.exchanges.push(...floods);
  const first = judgeAgain(ruleCase, { result: { durationMs: 7 } as Result, trial });
  expect(first.verdict).toBe('failed');
  log.push(reading(250_000, sent + others));
  expect(judgeAgain(ruleCase, { result: first, trial })).toMatchObject({ verdict, durationMs: 7 });
});

const dashboard = { ...send, endpoint: 'dashboard_send' };

/** A dashboard send at this time after the start of a flood. */
function dashboardSend(at: number, tookMs: number, status: number): Exchange {
  const reply = { status, headers: { 'retry-after': '59' }, interruptions: 0 };
  return { ...dashboard, sentAt: 200_000 + at, answeredAt: 200_000 + at + tookMs, reply } as never;
}

/** The verdict of a case that sends one request to the dashboard while another floods it. */
function verdictAmid(flood: readonly Exchange[], own: Exchange, more: object = {}) {
  const client = { masks: { clean: String } };
  // The statistics show no other client.
  const readings = [270_000, 320_000].map((at) => reading(at, flood.length));
  const log = [reading(119_000, 0), ...flood, own, ...readings];
  const trial = trialOn({ log, client, ...more });
  trial.exchanges.push(own);
  const otherCase: Case = { ...limitCase, id: 'LIMIT-7/others', subject: 'LIMIT-7' };
  const judge = () => judgeAgain(otherCase, { result: { durationMs: 7 } as Result, trial }).verdict;
  return { trial, judge };
}

const manyPass = (times: number) =>
  Array.from({ length: times }, (_, i) => dashboardSend(i * 10, 5, 202));

test.each([
  [118, 'passed'],
  [117, 'failed'],
])(
  'LIMIT-7 a flood of another case that goes on after the own request, after %i',
  (passed, verdict) => {
    const slowRefusal = dashboardSend(1_190, 300, 429);
    const last = dashboardSend(1_210, 5, 202);
    const flood = [...manyPass(passed), last, slowRefusal];
    expect(verdictAmid(flood, dashboardSend(1_195, 5, 202)).judge()).toBe(verdict);
  },
);

test.each([
  [118, 'passed'],
  [117, 'failed'],
])('LIMIT-7 a request that is still open may have spent twice, after %i', (passed, verdict) => {
  const client = {
    baseUrl: 'http://localhost',
    masks: { clean: String, record: () => ({}) },
    request: () => new Promise<never>(() => {}),
  };
  const clock = { now: () => 201_150 };
  const more = { client, clock, facts: new RunFacts({ apiKey: 'key' }, true) };
  const { trial, judge } = verdictAmid(manyPass(passed), dashboardSend(1_200, 5, 429), more);
  void trial.post(paths.dashboard_send, 'key', {});
  expect(judge()).toBe(verdict);
});

/** A read of the message of `watchedSend`. */
function readAt(at: number, status: string): Exchange {
  const reply = { status: 200, json: { message_id: 'a', status }, text: '' };
  const read = { caller, method: 'GET', endpoint: 'read', id: 'a', isRetried: false, reply };
  return { ...read, sentAt: at, answeredAt: at + 5 } as never;
}

const watchedSend = {
  ...{ ...send, sentAt: 0, answeredAt: 5 },
  reply: { status: 202, json: { message_id: 'a', status: 'queued' }, text: '' },
} as never;

const lives: [string, Partial<Record<`${string}/${string}`, Result['verdict']>>][] = [
  ['sending sent', { 'STATE-3/in-order': 'passed', 'STATE-3/reaches-delivered': 'not_exercised' }],
  ['sending sent delivered', { 'STATE-3/reaches-delivered': 'passed' }],
  ['failed failed', { 'STATE-5/delivered-is-final': 'not_exercised' }],
  ['failed failed', { 'STATE-5/failed-is-final': 'passed' }],
  ['delivered delivered', { 'STATE-5/failed-is-final': 'not_exercised' }],
  ['delivered delivered', { 'STATE-5/delivered-is-final': 'passed' }],
];

test.each(lives)('a message that is read as %s: %o', (statuses, verdicts) => {
  const reads = statuses.split(' ').map((status, i) => readAt((i + 1) * 20_000, status));
  const exchanges = [watchedSend, ...reads];
  const client = { masks: { clean: String } };
  const trial = new Trial({
    log: exchanges,
    startedAt: 0,
    client,
    underWay: new Set(),
  } as unknown as Target);
  trial.exchanges.push(...exchanges);
  for (const [id, verdict] of Object.entries(verdicts)) {
    const ruleCase = stateCases.find((one) => one.id === id);
    const judged = judgeAgain(ruleCase as Case, { result: { durationMs: 7 } as Result, trial });
    expect(judged.verdict).toBe(verdict);
  }
});
