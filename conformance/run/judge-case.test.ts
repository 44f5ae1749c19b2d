/** What is judged once more at the end of a run. */
import { expect, test } from 'vitest';
import { documentedLimits } from '#contract/limits.ts';
import type { Exchange } from '#judging/evidence/exchange.ts';
import type { Result } from '#judging/report/result.ts';
import { stateCases } from '../cases/state.ts';
import type { Target } from '../target/target.ts';
import type { Case } from './case.ts';
import { judgeAgain } from './judge-case.ts';
import { Trial } from './trial.ts';

const limitCase: Case = {
  id: 'LIMIT-1/flood',
  subject: 'LIMIT-1',
  needs: [],
  sends: 'more than the limit',
  demands: 'the limit',
  spends: {},
};
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
  ['shows the messages of others only later', 40, 'skipped'],
  ['shows no messages of others', 0, 'failed'],
])('LIMIT-1 a token bucket that seemed too small: an account that %s', (_, others, verdict) => {
  const floods = [...flood(120_000, documentedLimits.send + 1), ...flood(190_000, 30)];
  const sent = documentedLimits.send + 31;
  const log = [reading(119_000, 0), ...floods, reading(195_000, sent)];
  const client = { masks: { clean: String } };
  const trial = new Trial({ log, startedAt: 0, client } as unknown as Target);
  trial.exchanges.push(...floods);
  const first = judgeAgain(limitCase, { result: { durationMs: 7 } as Result, trial });
  expect(first.verdict).toBe('failed');
  log.push(reading(250_000, sent + others));
  expect(judgeAgain(limitCase, { result: first, trial })).toMatchObject({ verdict, durationMs: 7 });
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
  const trial = new Trial({ log: exchanges, startedAt: 0, client } as unknown as Target);
  trial.exchanges.push(...exchanges);
  for (const [id, verdict] of Object.entries(verdicts)) {
    const ruleCase = stateCases.find((one) => one.id === id);
    const judged = judgeAgain(ruleCase as Case, { result: { durationMs: 7 } as Result, trial });
    expect(judged.verdict).toBe(verdict);
  }
});
