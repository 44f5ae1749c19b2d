/** Reads and statistics are never throttled. Rules: READ-3, LIMIT-6. */
import { limits, minuteMs } from '../buckets.ts';
import { about, type Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import { byFlood, refusalsOf } from '../judge-flood.ts';
import { emptied } from '../limited.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { unknownIds } from './read-2-unknown-ids.ts';

const needs = ['sender'] as const;

/** Within a minute, so that a limit like those of the other endpoints would show. */
const fewestInAMinute = limits.send + 1;

/** The most requests that were sent and answered within one minute. */
export function mostInAMinute(replies: readonly Pick<Reply, 'sentAt' | 'answeredAt'>[]): number {
  const within = (start: number) =>
    replies.filter(({ sentAt, answeredAt }) => sentAt >= start && answeredAt < start + minuteMs);
  return Math.max(0, ...replies.map(({ sentAt }) => within(sentAt).length));
}

/** Skips the case if the replies were too slow to show a limit per minute. */
function areFastEnough(t: Trial, replies: readonly Reply[]): void {
  const most = mostInAMinute(replies);
  verify.given(() =>
    verify.that(
      t.controlled || most >= fewestInAMinute,
      `${fewestInAMinute} replies within a minute`,
      `${most}: the target is too slow to show a limit`,
    ),
  );
}

async function readsPass(t: Trial, times: number): Promise<void> {
  const account = await t.account();
  const { messageId } = await t.queued(account);
  const first = await t.read(account, messageId);
  verify.given(() => verify.message(first, 200));
  const replies = await flood(times, () => t.read(account, messageId));
  for (const reply of replies) verify.message(reply, 200);
  areFastEnough(t, replies);
  t.count();
}

export const read3NotLimitedCases: readonly Case[] = [
  {
    ...about('READ-3/many-reads', needs, { sends: 1 }),
    sends: '300 reads of one message',
    demands: '200 each',
    run: (t) => readsPass(t, 300),
  },
  {
    ...about('READ-3/reads-while-sends-are-throttled', ['fresh'], { sends: 122, throttled: 1 }),
    sends: 'reads after the limit of the send endpoint was met',
    demands: '200 each',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      await emptied(limits.send, () => t.send(account));
      for (let i = 0; i < 5; i += 1) verify.message(await t.read(account, messageId), 200);
      t.count();
    },
    live: byFlood('send', (t, flood) => {
      refusalsOf(t, flood);
      for (const reply of flood.reads) verify.status(reply, 200);
      t.count();
    }),
  },
  {
    ...about('LIMIT-6/reads', needs, { sends: 1 }),
    sends: '150 reads of one message',
    demands: 'no 429',
    run: (t) => readsPass(t, 150),
  },
  {
    ...about('LIMIT-6/reads-of-unknown-ids', ['key']),
    sends: '150 reads of unknown ids',
    demands: '404 each, no 429',
    run: async (t) => {
      const account = await t.account();
      const alive = await t.get(paths.stats, account.key);
      verify.given(() => verify.status(alive, 200));
      const replies = await flood(150, () => t.read(account, unknownIds[0] ?? ''));
      for (const reply of replies) verify.status(reply, 404);
      areFastEnough(t, replies);
      t.count();
    },
  },
  {
    ...about('LIMIT-6/stats', ['key']),
    sends: '230 requests for the account statistics',
    demands: '200 with JSON each, no 429',
    run: async (t) => {
      const account = await t.account();
      const without = await t.get(paths.stats, undefined);
      verify.given(() => verify.status(without, 401));
      const replies = await flood(230, () => t.get(paths.stats, account.key));
      for (const reply of replies) {
        verify.status(reply, 200);
        verify.declaredJson(reply);
      }
      areFastEnough(t, replies);
      t.count();
    },
  },
];
