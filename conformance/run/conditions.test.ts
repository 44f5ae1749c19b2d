/** What a run makes of 429s that it has waited out. */
import { expect, test } from 'vitest';
import type { Exchange } from '#judging/evidence/exchange.ts';
import type { Target } from '../target/target.ts';
import { otherTraffic } from './conditions.ts';

const caller = { account: 'own', key: 'valid', isNew: false };

function exchange(at: number, tookMs: number, status: number, json?: object): Exchange {
  const endpoint = json === undefined ? 'send' : 'stats';
  const method = json === undefined ? 'POST' : 'GET';
  const reply = { status, json, interruptions: 0, exchange: {} };
  return { caller, endpoint, method, sentAt: at, answeredAt: at + tookMs, reply } as never;
}

/**
 * A run with so many quick sends, a slow one, and one that is answered 429 while the slow one is in
 * flight. The statistics count the messages of the run alone.
 */
function targetAfter(quickSends: number): Target {
  const stats = (at: number, used: number) => exchange(at, 5, 200, { used });
  const quick = Array.from({ length: quickSends }, (_, n) => exchange(300_000 + n * 10, 5, 202));
  const slow = exchange(302_000, 2_000, 202);
  const refused = exchange(303_000, 5, 429);
  const used = quickSends + 1;
  const readings = [310_000, 340_000, 370_000].map((at) => stats(at, used));
  const log = [stats(290_000, 0), ...quick, refused, slow, ...readings];
  const client = { lag: { times: 0 } };
  return { log, waitedOut: new Set([refused]), startedAt: 0, client } as never;
}

test('LIMIT-1 a send that was in flight when a 429 came may have taken the last token', () => {
  expect(otherTraffic(targetAfter(119))).toBeUndefined();
  expect(otherTraffic(targetAfter(118))?.id).toBe('LIMIT-1/room-in-the-minute');
});
