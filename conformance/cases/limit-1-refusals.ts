/**
 * What was refused must not have happened, however many come at once. Rules: LIMIT-1, ERR-1.
 */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import type { Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/** As many messages exist as sends were answered 202. */
async function onlyTheAccepted(t: Trial, account: Subject, replies: readonly Reply[]) {
  const count = await t.control.messageCount(account.accountId ?? '');
  if (count === undefined) t.lack('a list of messages on the control port');
  verify.equal('messages of the account', count, howMany(replies, 202));
  t.count();
}

function howMany(replies: readonly Reply[], status: number): number {
  return replies.filter((reply) => reply.status === status).length;
}

export const moreRefusalCases: readonly Case[] = [
  {
    rule: 'LIMIT-1',
    name: 'throttled-is-not-queued',
    needs: ['fresh'],
    cost: { sends: 130, throttled: 10 },
    sends: '130 sends, then the list of messages',
    demands: 'as many messages as were answered 202',
    run: async (t) => {
      const account = await t.account();
      const replies = await flood(130, () => t.send(account));
      verify.given(() => verify.that(howMany(replies, 429) > 0, 'a 429', 'none in 130 sends'));
      await onlyTheAccepted(t, account, replies);
    },
  },
  {
    rule: 'ERR-1',
    name: 'exceeding-is-not-queued',
    needs: ['fresh'],
    cost: { sends: 4 },
    sends: 'four messages under a quota of two, then the list of messages',
    demands: 'two messages exist',
    run: async (t) => {
      const account = await t.account({ quota: 2 });
      const replies = await flood(4, () => t.send(account));
      verify.given(() => verify.equal('402s', howMany(replies, 402), 2));
      await onlyTheAccepted(t, account, replies);
    },
  },
  {
    rule: 'ERR-1',
    name: 'held-counts-once',
    needs: ['fresh'],
    cost: { sends: 3 },
    sends: 'a held message and two others under a quota of two',
    demands: '202, 202, then 402',
    run: async (t) => {
      const account = await t.account({ quota: 2 });
      const send_at = new Date((await t.now()) + 3_600_000).toISOString();
      verify.accepted(await t.send(account, { send_at }));
      verify.accepted(await t.send(account));
      verify.refused(await t.send(account), 402, 'quota_exceeded');
      t.count();
    },
  },
  {
    rule: 'ERR-1',
    name: 'many-at-once',
    needs: ['fresh'],
    cost: { sends: 30 },
    sends: '30 messages at once under a quota of five',
    demands: 'five times 202, 25 times 402',
    run: async (t) => {
      const account = await t.account({ quota: 5 });
      const replies = await Promise.all(Array.from({ length: 30 }, () => t.send(account)));
      verify.equal('messages that passed', howMany(replies, 202), 5);
      verify.equal('402s', howMany(replies, 402), 25);
      t.count();
    },
  },
];
