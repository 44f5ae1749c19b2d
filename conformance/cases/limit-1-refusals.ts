/** A throttled send is not queued. Rule: LIMIT-1. */
import type { Case } from '../case.ts';
import type { Reply } from '../client.ts';
import { flood } from '../flood.ts';
import type { Subject, Trial } from '../trial.ts';
import * as verify from '../verify.ts';

/** As many messages exist as sends were answered 202. */
export async function onlyTheAccepted(t: Trial, account: Subject, replies: readonly Reply[]) {
  const count = await t.control.messageCount(account.accountId ?? '');
  if (count === undefined) t.lack('a list of messages on the control port');
  verify.equal('messages of the account', count, howMany(replies, 202));
  t.count();
}

export function howMany(replies: readonly Reply[], status: number): number {
  return replies.filter((reply) => reply.status === status).length;
}

export const limit1RefusalsCases: readonly Case[] = [
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
];
